"""Traffic, work and what may be concluded from them; and every way in which counters can be missing from a run.

The numbers were added up by hand from the rows of `data/ncu_h200_raw.csv`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import counted
import pytest
from builders import activities, activity, facts, variant

from reportgen import analysis as facts_room
from reportgen.analysis import CounterFacts, residency, traffic
from reportgen.analysis import counters as counters_room
from reportgen.analysis.patterns.tiles import tiled_flop
from reportgen.commands import facts_json
from reportgen.findings import outcomes
from reportgen.hardware.kernel_names import Tile
from reportgen.questions.caveats import all_said
from reportgen.run import KernelCounters
from reportgen.run.workload import ARTICLE, PRESETS

MIB = 2**20


def cached(run, size):
    return replace(run, device=replace(run.device, l2_cache_bytes=size))


class TestTraffic:
    def test_flash_is_what_the_counters_read(self):
        assert traffic.forward_traffic(counted.h200().variants["sdpa_flash"]) == traffic.Traffic(50439168, 27310080)

    def test_a_copy_reads_and_writes_its_bytes_and_a_memset_writes_them(self):
        assert traffic.activity_traffic(activity(kind="memcpy", bytes=100)) == traffic.Traffic(100, 100, 200)
        assert traffic.activity_traffic(activity(kind="memset", bytes=4)) == traffic.Traffic(0, 4, 4)
        assert traffic.activity_traffic(activity(kind="memcpy", bytes=None)) is None

    def test_naives_copy_of_the_scores_is_marked_as_the_traces(self):
        """Five kernels by the counters; the copy of 256 MiB and the memset of 4 B by the trace."""
        found = traffic.forward_traffic(counted.h200().variants["naive"])
        assert found.from_trace == 2 * 256 * MIB + 4
        kernels = [a for a in counted.h200().variants["naive"].activities if a.kind == "kernel"]
        assert found.read == 256 * MIB + sum(a.counters.dram_read_bytes for a in kernels)

    def test_one_kernel_without_a_count_leaves_the_forward_without_a_sum(self):
        run = activities(counted.h200(), "sdpa_math", lambda a: replace(a, counters=None) if a.role == "softmax" else a)
        assert traffic.forward_traffic(run.variants["sdpa_math"]) is None
        half = activities(counted.h200(), "sdpa_flash", lambda a: replace(a, counters=replace(a.counters, dram_write_bytes=None)))
        assert traffic.forward_traffic(half.variants["sdpa_flash"]) is None

    def test_copies_alone_are_no_count(self):
        """Without counters a forward of copies only says nothing that was counted."""
        run = variant(facts(), "naive", activities=(activity(kind="memcpy", bytes=8),))
        assert traffic.forward_traffic(run.variants["naive"]) is None

    def test_the_ratio_to_the_operands_needs_operands_of_four_times_the_cache(self):
        """64 MiB of operands: a cache of 16 MiB is just small enough; 77,749,248 B ÷ 67,108,864 B = 1.1585."""
        run = cached(counted.h200(), 16 * MIB)
        assert traffic.why_no_ratio(run) is None
        assert traffic.operand_ratio(run, run.variants["sdpa_flash"]) == pytest.approx(1.1585, abs=1e-4)
        assert traffic.why_no_ratio(cached(run, 16 * MIB + 1)) is traffic.CacheDoubt.MAY_HOLD
        assert traffic.operand_ratio(counted.h200(), counted.h200().variants["sdpa_flash"]) is None
        assert traffic.why_no_ratio(cached(run, None)) is traffic.CacheDoubt.SIZE_UNKNOWN


class TestWork:
    def test_tensor_cores_do_the_whole_square_in_naive_about_half_in_flash_and_nothing_in_math(self):
        run = counted.h200()
        done = {name: traffic.tensor_core_flop(run.variants[name]) for name in ("naive", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")}
        assert done == {"naive": 34359738368, "sdpa_math": 0, "sdpa_efficient": 18253611008, "sdpa_flash": 19327352832, "sdpa_cudnn": 19327352832}

    def test_maths_matmuls_count_by_the_model_and_are_not_called_counted(self):
        assert traffic.forward_work(counted.h200().variants["sdpa_math"]) == traffic.Work(34359738368, False)
        assert traffic.forward_work(counted.h200().variants["sdpa_flash"]) == traffic.Work(19327352832, True)

    def test_a_matmul_that_nobody_modelled_leaves_the_work_open(self):
        run = activities(facts(), "naive", lambda a: replace(a, flop=None))
        assert traffic.forward_work(run.variants["naive"]) is None
        assert traffic.forward_work(replace(facts().variants["naive"], activities=())) is None

    def test_intensity_is_flop_done_over_bytes_counted(self):
        """19,327,352,832 FLOP ÷ 77,749,248 B = 248.6; without counters there is none."""
        assert traffic.intensity(counted.h200().variants["sdpa_flash"]) == pytest.approx(248.6, abs=0.05)
        assert traffic.intensity(facts().variants["sdpa_flash"]) is None

    def test_the_best_time_is_the_larger_of_both_floors(self):
        """67,108,864 B ÷ 4.3 TB/s = 15.6 µs; 17,196,646,400 FLOP ÷ 788 TFLOP/s = 21.8 µs."""
        found = traffic.best(facts())
        assert (found.by_bytes, found.by_flop) == (pytest.approx(15.607e-6, abs=1e-9), pytest.approx(21.823e-6, abs=1e-9))
        assert found.time == found.by_flop
        assert traffic.best(facts(ceilings=None)) is None
        whole = facts(workload=replace(ARTICLE, causal=False))
        assert traffic.best(whole).by_flop == pytest.approx(2 * 17179869184 / 788e12)


class TestTiles:
    """A fused kernel computes each tile that holds a visible pair: with 8 × 8 tiles 36 of 64, with 16 × 16 tiles 136 of 256."""

    def test_the_count_is_that_of_the_tiles_to_the_last_operation(self):
        for name, size, square in (("sdpa_efficient", (64, 64), 136 / 256), ("sdpa_flash", (128, 128), 36 / 64), ("sdpa_cudnn", (64, 128), 72 / 128)):
            kernel = next(a for a in counted.h200().variants[name].activities if a.kind == "kernel")
            assert kernel.decoded.tile == size
            assert tiled_flop(ARTICLE, Tile(*size)) == ARTICLE.full_flop * square == kernel.counters.tensor_core_flop

    def test_one_tile_over_all_is_the_whole_square_and_single_pairs_are_the_causal_count(self):
        assert tiled_flop(ARTICLE, Tile(1024, 1024)) == ARTICLE.full_flop
        assert tiled_flop(ARTICLE, Tile(1, 1)) == ARTICLE.causal_flop

    def test_without_a_mask_nothing_is_skipped(self):
        assert tiled_flop(replace(ARTICLE, causal=False), Tile(128, 128)) == ARTICLE.full_flop

class TestAttaching:
    """From `run.json` to facts: what cannot be matched is left out, and the run says so."""

    def test_counters_of_a_run_on_disk_reach_its_kernels(self, tmp_path: Path):
        built = facts_room.build(counted.run(tmp_path))
        assert built.counters_tool == "Nsight Compute 2025.3.1.0"
        assert [v.counters_reason for v in built.variants.values()] == [None] * 6
        assert all_said(built) == ()
        assert traffic.dram_bytes(built.variants["sdpa_flash"]) == 50439168 + 27310080

    def test_a_mismatch_is_a_caveat_and_costs_one_variant(self, tmp_path: Path):
        def other_kernel(content):
            content["counters"]["variants"]["sdpa_flash"][0]["kernel"] = "another_kernel"

        built = facts_room.build(counted.run(tmp_path, other_kernel))
        assert all_said(built) == ("SDPA flash: its hardware counters are left out, because kernel 1 is pytorch_flash::flash_fwd_kernel in the trace and "
                                 "another_kernel for the counter tool.",)
        assert traffic.dram_bytes(built.variants["sdpa_flash"]) is None
        assert traffic.dram_bytes(built.variants["sdpa_cudnn"]) is not None

    def test_a_variant_that_the_tool_did_not_see_is_a_caveat(self, tmp_path: Path):
        built = facts_room.build(counted.run(tmp_path, lambda content: content["counters"]["variants"].pop("sdpa_math")))
        assert all_said(built) == ("SDPA math: its hardware counters are left out, because the counter tool saw no kernel of it.",)

    def test_one_that_is_not_of_the_six_is_only_noted(self, tmp_path: Path):
        def seventh(content):
            content["counters"]["variants"].pop("sdpa_math")
            content["variants"]["sdpa_math"]["named"] = False

        built = facts_room.build(counted.run(tmp_path, seventh))
        assert all_said(built) == () and built.variants["sdpa_math"].counters_reason == "the counter tool saw no kernel of it"

    def test_an_occupancy_that_the_counters_contradict_is_a_caveat(self, tmp_path: Path):
        def other_occupancy(content):
            content["counters"]["variants"]["sdpa_flash"][0]["metrics"]["sm__maximum_warps_per_active_cycle_pct"] = 6.25

        built = facts_room.build(counted.run(tmp_path, other_occupancy))
        assert all_said(built) == ("The occupancy of `flash_fwd D=64 128x128` works out at 12.5 % from its launch here, and at 6.25 % in Nsight Compute (SDPA flash): "
                                 "trust Nsight Compute, and mistrust the arithmetic here for this kernel.",)

    def test_half_a_point_of_occupancy_is_agreement(self):
        kernel = next(a for a in counted.h200().variants["sdpa_flash"].activities if a.kind == "kernel")
        assert not residency.occupancy_disagrees(replace(kernel, counters=CounterFacts(theoretical_pct=13.0)))
        assert residency.occupancy_disagrees(replace(kernel, counters=CounterFacts(theoretical_pct=13.1)))
        assert not residency.occupancy_disagrees(replace(kernel, counters=None))

    def test_a_refusal_leaves_facts_without_counters_and_with_the_reason(self, tmp_path: Path):
        def refused(content):
            content["counters"], content["counters_reason"] = None, "the driver keeps hardware counters to administrators; run as root"

        built = facts_room.build(counted.run(tmp_path, refused))
        assert built.counters_tool is None and built.counters_reason.endswith("run as root")
        assert all_said(built) == ()

    @pytest.mark.parametrize(("metrics", "flop"), [
        ({"bf16_dst_fp32": 5.0, "fp16": None, "tf32_dst_fp32": 0.0}, 5.0),
        ({"bf16_dst_fp32": None, "fp16": 0.0, "tf32_dst_fp32": 0.0}, None),
        ({"bf16_dst_fp32": 0.0, "fp16": 0.0, "tf32_dst_fp32": None}, None),
        ({"bf16_dst_fp32": 5.0}, 5.0),
        ({"tf32_dst_fp32": 5.0}, None),
        ({}, None),
    ])  # fmt: skip
    def test_a_zero_needs_the_types_that_the_kernel_could_have_used(self, metrics, flop):
        """Without a count for bf16, or for a TF32 that was asked for, 0 elsewhere does not mean no Tensor Cores."""
        row = KernelCounters("k", metrics={f"sm__ops_path_tensor_src_{name}.sum": value for name, value in metrics.items()})
        (found,) = counters_room.attach((activity(name="k"),), [row], "bfloat16")
        assert found.counters.tensor_core_flop == flop


class TestJson:
    def test_counted_values_are_in_the_json(self):
        """Flash: 50,439,168 + 27,310,080 B, 19.3 GFLOP, 12.5 % theoretical and 11.98 % achieved."""
        run = counted.h200()
        out = facts_json.to_json(run, outcomes(run))
        flash = out["variants"]["sdpa_flash"]
        assert (flash["dram_bytes"], flash["dram_read_bytes"], flash["dram_written_bytes"], flash["dram_bytes_from_trace"]) == (77749248, 50439168, 27310080, 0)
        assert flash["tensor_core_flop"] == 19327352832
        assert flash["flop_per_dram_byte"] == pytest.approx(248.586, abs=1e-3)
        assert (flash["dram_per_operand_byte"], flash["dram_per_operand_byte_reason"]) == (None, "fits-in-cache")
        (kernel,) = flash["activities"]
        assert (kernel["dram_bytes"], kernel["dram_bytes_from"], kernel["tensor_core_flop"]) == (77749248, "counters", 19327352832)
        assert kernel["occupancy"]["counted_theoretical_pct"] == 12.5
        assert 0 < kernel["occupancy"]["achieved_pct"] < 12.5
        assert (out["operand_bytes"], out["needed_flop"], out["full_flop"], out["best_time_us"]) == (67108864, 17196646400, 34359738368, pytest.approx(21.823, abs=1e-3))

    def test_a_copys_bytes_say_that_they_are_the_traces(self):
        naive = facts_json.to_json(counted.h200(), {})["variants"]["naive"]
        copy = next(a for a in naive["activities"] if a["kind"] == "memcpy")
        assert (copy["dram_bytes"], copy["dram_bytes_from"]) == (2 * 256 * MIB, "trace")
        assert naive["dram_bytes_from_trace"] == 2 * 256 * MIB + 4

    def test_without_counters_everything_counted_is_null_and_the_reason_is_there(self):
        out = facts_json.to_json(facts(), {})
        assert out["counters_tool"] is None and out["counters_reason"] == "synthetic"
        flash = out["variants"]["sdpa_flash"]
        assert all(flash[name] is None for name in ("dram_bytes", "tensor_core_flop", "flop_per_dram_byte", "dram_per_operand_byte", "dram_per_operand_byte_reason"))
        assert flash["activities"][0]["dram_bytes_from"] is None

    def test_the_workload_decides_what_is_needed(self):
        out = facts_json.to_json(facts(workload=PRESETS["small"]), {})
        assert out["needed_flop"] == 2 * 4 * 256 * 257 * 64
