"""Flash and HBM: every case, every device, and the rule about what limits an activity at its edges."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activity, facts, variant
from turned import counted, renamed, with_extra_kernel

from reportgen.analysis import CounterFacts
from reportgen.analysis.bounds import Limit, bound, shares
from reportgen.findings.flash_hbm import FINDING
from reportgen.questions.evaluate import evaluate
from reportgen.run import Ceilings

CLAIMS = {claim.id: claim for claim in FINDING.claims}
CEILINGS = Ceilings(4e12, 800e12, 50e12)
MIB = 2**20


def stepwise(run, **hbm):
    """`run` where the given share of a variant's time runs near copy speed and the rest far below it."""
    for name, share in hbm.items():
        quick = activity(role="scale", us=100 * share, requested_bytes=4.3e12 * 100e-6 * share)
        idle = activity(role="mask", us=100 * (1 - share), requested_bytes=4.3e12 * 10e-6 * (1 - share))
        run = variant(run, name, activities=(quick, idle), kernels=2, memsets=0)
    return run


def smaller_cache(run, size):
    return replace(run, device=replace(run.device, l2_cache_bytes=size))


CASES_REACHED = {
    ("flash-one-kernel", "one-kernel"): (
        lambda: facts(),
        "SDPA flash is one kernel per forward: `flash_fwd D=64 128x128`, torch's build of FlashAttention-2."),
    ("flash-one-kernel", "other-count"): (
        lambda: with_extra_kernel(facts(), "sdpa_flash", name="flash_fwd_splitkv_combine_kernel"),
        "SDPA flash launches 2 kernels per forward, not one: `flash_fwd D=64 128x128` and `flash_fwd_splitkv_combine_kernel`."),
    ("flash-one-kernel", "other-implementation"): (
        lambda: facts("mi300x"),
        "SDPA flash is one kernel per forward, but its name is that of AOTriton attention, not of torch's FlashAttention-2 "
        "build: `attn_fwd`."),
    ("flash-one-kernel", "unknown-name"): (
        lambda: renamed(facts(), "sdpa_flash", "mystery_kernel"),
        "Not measurable in full: SDPA flash is one kernel per forward, but its name, `mystery_kernel`, does not say which "
        "implementation it is."),
    ("flash-never-writes-scores", "never-allocated"): (
        lambda: facts(),
        "Flash keeps no score matrix in memory: a forward needs at most 16.5 MiB beyond its inputs; the score matrix alone would "
        "be 256 MiB."),
    ("flash-never-writes-scores", "never-written"): (
        lambda: counted(facts(), "sdpa_flash", dram_read_bytes=50 * MIB, dram_write_bytes=20 * MIB),
        "Flash never writes the score matrix (256 MiB): a forward needs at most 16.5 MiB beyond its inputs and moves 50 MiB from "
        "and 20 MiB to DRAM, 6 MiB more than its operands (64 MiB)."),
    ("flash-never-writes-scores", "within-operands"): (
        lambda: counted(facts(), "sdpa_flash", dram_read_bytes=42 * MIB, dram_write_bytes=11 * MIB),
        "Flash never writes the score matrix (256 MiB): a forward needs at most 16.5 MiB beyond its inputs and moves 42 MiB from "
        "and 11 MiB to DRAM, no more than its operands (64 MiB)."),
    ("flash-never-writes-scores", "allocates-scores"): (
        lambda: variant(facts(), "sdpa_flash", peak_memory_bytes=256 * MIB),
        "Flash keeps as much as the score matrix in memory: a forward needs 256 MiB beyond its inputs; the score matrix is 256 "
        "MiB."),
    ("flash-never-writes-scores", "extra-traffic"): (
        lambda: counted(facts(), "sdpa_flash", dram_read_bytes=64 * MIB, dram_write_bytes=26 * MIB),
        "Flash allocates no score matrix (16.5 MiB beyond its inputs), but moves 26 MiB through DRAM beyond its operands (64 "
        "MiB), more than 10 % of the score matrix (256 MiB)."),
    ("flash-never-writes-scores", "no-peak-memory"): (
        lambda: smaller_cache(facts("cpu"), 1024),
        "Not measurable: this run did not record the peak memory of SDPA flash (memory is measured on a GPU only)."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "flash-one-kernel": {
        "h200": ("holds", "one-kernel"),
        "a100": ("holds", "one-kernel"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("holds", "one-kernel"),
        "b200": ("holds", "one-kernel"),
        "mi300x": ("differs", "other-implementation"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
    "flash-never-writes-scores": {
        "h200": ("holds", "never-allocated"),
        "a100": ("holds", "never-allocated"),
        "t4": ("not measurable", "unavailable"),
        "rtx4090": ("holds", "never-allocated"),
        "b200": ("holds", "never-allocated"),
        "mi300x": ("not measurable", "fits-in-cache"),
        "cpu": ("not measurable", "fits-in-cache"),
    },
}


def limit(**changes):
    return bound(activity(us=100.0, **changes), CEILINGS).limit


def test_sixty_percent_of_the_copy_ceiling_is_near_copy_speed_and_less_is_not():
    """100 µs at 4 TB/s are 400 MB; the edge lies at 240 MB."""
    assert limit(requested_bytes=240e6) is Limit.HBM
    assert limit(requested_bytes=239e6) is Limit.NEITHER


def test_the_matmul_ceiling_is_that_of_the_kernels_own_unit():
    """4 GFLOP in 100 µs are 40 TFLOP/s: 80 % of the FP32 ceiling, 5 % of the Tensor Cores'."""
    from reportgen.hardware.kernel_names import decode

    on_cuda_cores, on_tensor_cores = decode("ampere_sgemm_128x128_tn"), decode("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn")
    assert limit(role="matmul", requested_bytes=1e6, flop=4e9, decoded=on_cuda_cores) is Limit.ARITHMETIC
    assert limit(role="matmul", requested_bytes=1e6, flop=4e9, decoded=on_tensor_cores) is Limit.NEITHER
    assert limit(role="matmul", requested_bytes=1e6, flop=4e9) is Limit.UNKNOWN
    assert limit(role="matmul", requested_bytes=1e6, flop=2e9) is Limit.NEITHER


def test_hbm_is_asked_first():
    """An activity that reaches both shares counts as HBM-bound."""
    from reportgen.hardware.kernel_names import decode

    assert limit(role="matmul", requested_bytes=300e6, flop=4e9, decoded=decode("ampere_sgemm_128x128_tn")) is Limit.HBM


def test_what_nobody_modelled_is_unknown_and_not_neither():
    assert limit(requested_bytes=None) is Limit.UNKNOWN
    assert limit(role="matmul", requested_bytes=1e6, flop=None) is Limit.UNKNOWN


def test_a_copy_without_a_model_moves_its_bytes_twice():
    """The trace says 120 MB: read and written they are 240 MB, just enough."""
    assert limit(kind="memcpy", bytes=120_000_000, requested_bytes=None) is Limit.HBM
    assert limit(kind="memset", bytes=120_000_000, requested_bytes=None) is Limit.NEITHER


def test_shares_add_up_to_one():
    found = tuple(bound(one, CEILINGS) for one in facts().variants["sdpa_math"].activities)
    assert sum(shares(found).values()) == pytest.approx(1)


def test_the_score_matrix_must_be_twice_the_cache():
    """256 MiB of scores: a cache of 128 MiB is just small enough."""
    assert evaluate(CLAIMS["flash-never-writes-scores"], smaller_cache(facts(), 128 * MIB)).verdict == "holds"
    assert evaluate(CLAIMS["flash-never-writes-scores"], smaller_cache(facts(), 128 * MIB + 1)).case == "fits-in-cache"


def test_a_tenth_of_the_score_bytes_is_the_most_that_may_cross_beside_the_operands():
    """64 MiB of operands; a tenth of 256 MiB of scores is 25.6 MiB."""
    below = counted(facts(), "sdpa_flash", dram_read_bytes=64 * MIB, dram_write_bytes=25.5 * MIB)
    above = counted(facts(), "sdpa_flash", dram_read_bytes=64 * MIB, dram_write_bytes=25.7 * MIB)
    assert [evaluate(CLAIMS["flash-never-writes-scores"], run).case for run in (below, above)] == ["never-written", "extra-traffic"]


def test_the_chart_says_how_much_comes_near_copy_speed():
    """75 and 25 of 100 µs, as the facts were made."""
    chart = FINDING.evidence(stepwise(facts(), naive_inplace=0.75, sdpa_math=0.25)).charts[0]
    assert chart.alt == "GPU time by the speed that each activity comes near. Near copy speed: Naive in place 75 % of 100 µs; SDPA math 25 % of 100 µs."
    assert dict(chart.data["series"])["near copy speed"] == pytest.approx([75.0, 25.0])


def test_the_memory_table_sets_peaks_beside_the_score_matrix():
    """16.5 of 256 MiB are 0.0645 of it."""
    table = next(table for table in FINDING.evidence(facts()).tables if table.caption.startswith("Memory"))
    rows = {row[0]: row for row in table.rows}
    assert str(rows["SDPA flash"][1]) == "16.5 MiB" and str(rows["SDPA flash"][2]) == "0.0645×"
    assert table.notes[0] == "The score matrix is 256 MiB; Q, K, V and the output together (the operands) are 64 MiB; the last-level cache is 60 MiB."


def test_a_count_within_a_tenth_confirms_the_model_and_one_beyond_replaces_it():
    """100 µs at 4 TB/s: 240 MB are the line. 230 MB counted confirm 250 MB requested; 220 MB do not."""
    def seen(count):
        return bound(activity(us=100.0, requested_bytes=250e6, counters=CounterFacts(count, 0.0)), CEILINGS)

    assert (seen(230e6).limit, seen(220e6).limit) == (Limit.HBM, Limit.NEITHER)
    assert limit(counters=CounterFacts(250e6, 0.0)) is Limit.HBM


def test_a_cache_cannot_hide_a_whole_score_matrix():
    """256 MiB of scores, 60 MiB of cache: at least 196 MiB of it would have been counted."""
    said = evaluate(CLAIMS["flash-never-writes-scores"], counted(facts(), "sdpa_flash", dram_read_bytes=42 * MIB, dram_write_bytes=11 * MIB))
    assert "at least 196 MiB of it would have been counted" in said.because[0]
    assert said.caveats[0].startswith("The operands are smaller than four times the last-level cache")
    small = counted(smaller_cache(facts(), 16 * MIB), "sdpa_flash", dram_read_bytes=50 * MIB, dram_write_bytes=15 * MIB)
    assert evaluate(CLAIMS["flash-never-writes-scores"], small).caveats == ()


def test_operands_are_divided_by_only_where_they_do_not_fit_in_the_cache():
    """64 MiB of operands: on a cache of 60 MiB the table says so, on one of 16 MiB it gives the ratio."""
    def cell(run):
        (table,) = (table for table in FINDING.evidence(run).tables if table.caption.startswith("Memory that one forward"))
        return next(str(row[4]) for row in table.rows if row[0] == "SDPA flash")

    run = counted(facts(), "sdpa_flash", dram_read_bytes=64 * MIB, dram_write_bytes=64 * MIB)
    assert cell(run) == "cache too large"
    assert cell(smaller_cache(run, 16 * MIB)) == "2.00×"


def test_a_matmul_in_tf32_is_measured_against_no_ceiling_of_another_type():
    """At 500 FLOP per byte nothing but arithmetic can limit it, but no run measures how fast TF32 is."""
    kernel = renamed(facts(), "sdpa_math", "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize64x256x32_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas").variants["sdpa_math"]
    matmul = next(a for a in kernel.activities if a.role == "matmul")
    found = bound(replace(matmul, requested_bytes=1.0), facts().ceilings)
    assert (found.flop_share, found.limit) == (None, Limit.UNKNOWN)


def test_another_build_of_torch_is_not_told_of_cudas_switch():
    said = evaluate(CLAIMS["flash-one-kernel"], facts("mi300x"))
    assert said.case == "other-implementation" and "activate_flash_attention_impl" not in said.advice and "AOTriton" in said.advice


def test_no_limit_is_told_where_the_cache_may_hold_the_scores():
    """MI300X: 256 MiB of scores behind 256 MiB of Infinity Cache, and nothing counted."""
    shown = FINDING.evidence(facts("mi300x"))
    table = shown.tables[0]
    assert {row[-1] for row in table.rows} == {"not told"} and table.notes[-1].startswith("Nothing is told here")
    assert not any(chart.name == "flash-hbm-limits" for chart in shown.charts)


def test_the_answer_tells_what_takes_the_time_and_what_flash_keeps_out_of_memory():
    assert evaluate(FINDING.answer, facts()).headline == (
        "Step by step, passes over the score matrix take 82 % of naive in place's GPU time and the matmuls 17.9 %. Flash makes none of these passes: it holds at most 16.5 MiB beyond its "
        "inputs, where the score matrix alone would be 256 MiB.")


@pytest.mark.parametrize("turn", [lambda run: variant(run, "sdpa_flash", peak_memory_bytes=256 * MIB), lambda run: variant(run, "naive_inplace", activities=()), lambda run: replace(run, ceilings=None)])
def test_without_one_of_its_facts_the_answer_is_flashs_kernel(turn):
    run = turn(facts())
    assert evaluate(FINDING.answer, run).headline == evaluate(CLAIMS["flash-one-kernel"], run).headline
