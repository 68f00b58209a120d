"""Occupancy arithmetic against hardware's own answer, and why the profiler's field differs."""

from __future__ import annotations

import csv
from math import prod
from pathlib import Path

import pytest

from reportgen import trace
from reportgen.hardware.arch_limits import LIMITS, limits
from reportgen.hardware.occupancy import Cause, Launch, difference, occupancy, profiler_estimate

DATA = Path(__file__).resolve().parents[1] / "data"
# Nsight Compute on one H200, every kernel of the six variants: launch parameters and its `sm__maximum_warps_per_active_cycle_pct`.
COUNTED = list(csv.DictReader((DATA / "ncu_h200.csv").open()))


def test_every_kernel_that_nsight_compute_saw_is_here():
    assert len(COUNTED) == 33


@pytest.mark.parametrize("row", COUNTED, ids=lambda row: f"{row['variant']}-{row['kernel'][:30]}")
def test_arithmetic_equals_the_hardwares_answer(row):
    shared = int(row["shared_dynamic"]) + int(row["shared_static"])
    worked_out = occupancy("9.0", int(row["threads"]), int(row["registers"]), shared)
    assert worked_out.theoretical == float(row["theoretical_pct"])


# (capability, threads, registers, shared bytes) → blocks, warps, of, percent, limiters. By hand from the rules.
LITERAL = [
    (("8.0", 128, 255, 49152), (2, 8, 64, 12.5, ("registers",))),
    (("8.0", 256, 240, 49152), (1, 8, 64, 12.5, ("registers",))),
    (("8.6", 128, 255, 49152), (2, 8, 48, 100 / 6, ("registers", "shared memory"))),
    (("8.9", 128, 255, 49152), (2, 8, 48, 100 / 6, ("registers", "shared memory"))),
    (("12.0", 128, 255, 49152), (2, 8, 48, 100 / 6, ("registers", "shared memory"))),
    (("7.5", 128, 255, 49152), (1, 4, 32, 12.5, ("shared memory",))),
    (("9.0", 384, 168, 213188), (1, 12, 64, 18.75, ("registers", "shared memory"))),
    (("9.0", 128, 32, 0), (16, 64, 64, 100.0, ("warps", "registers"))),
    (("7.0", 32, 16, 0), (32, 32, 64, 50.0, ("blocks",))),
    (("9.0", 33, 16, 0), (32, 64, 64, 100.0, ("warps", "blocks"))),
    (("10.7", 1024, 32, 0), (1, 32, 32, 100.0, ("warps",))),
]


@pytest.mark.parametrize("launch, expected", LITERAL)
def test_known_launches(launch, expected):
    found = occupancy(*launch)
    blocks, warps, of, percent, limiters = expected
    assert (found.resident_blocks, found.resident_warps, found.max_warps, found.limiters) == (blocks, warps, of, limiters)
    assert found.theoretical == pytest.approx(percent)


def test_each_step_shows_its_numbers():
    """The article's flash kernel on its A100, line by line."""
    steps = occupancy("8.0", 128, 255, 49152).steps
    assert [(step.what, step.expression, step.result) for step in steps] == [
        ("warps per block", "128 threads ÷ 32 lanes", 4),
        ("blocks by warp slots", "64 warp slots ÷ 4 warps per block", 16),
        ("registers per warp", "255 registers × 32 lanes = 8,160 → rounded up to a multiple of 256: 8,192", 8192),
        ("warps by registers", "4 sub-partitions × (16,384 registers ÷ 8,192 → 2 warps)", 8),
        ("blocks by registers", "8 warps ÷ 4 warps per block", 2),
        ("shared memory per block (bytes)", "49,152 B + 1,024 B that the driver reserves = 50,176 B", 50176),
        ("blocks by shared memory", "167,936 B per SM ÷ 50,176 B", 3),
        ("blocks by the SM's block slots", "at most 32 blocks per SM", 32),
        ("resident blocks", "the least of 16 (warps), 2 (registers), 3 (shared memory), 32 (blocks)", 2),
        ("resident warps", "2 blocks × 4 warps", 8),
        ("theoretical occupancy (%)", "8 of 64 warp slots", 12.5),
    ]


def test_shared_memory_rounds_up_to_its_unit():
    """213,188 + 1,024 = 214,212, and the next multiple of 128 is 214,272."""
    step = next(s for s in occupancy("9.0", 384, 168, 213188).steps if s.what.startswith("shared memory per block"))
    assert step.result == 214272 and step.expression.endswith("rounded up to a multiple of 128: 214,272 B")


@pytest.mark.parametrize("launch, limiter", [
    (("9.0", 1056, 16, 0), "warps"),                # more threads than a block may have
    (("9.0", 1024, 72, 0), "registers"),            # 32 warps × 2,304 registers > 65,536
    (("9.0", 128, 32, 232449), "shared memory"),    # one byte over 227 KiB
    (("7.5", 128, 32, 65537), "shared memory"),
])
def test_a_launch_that_cannot_be_has_no_resident_block(launch, limiter):
    found = occupancy(*launch)
    assert (found.resident_blocks, found.theoretical, found.limiters) == (0, 0.0, (limiter,))


def test_the_opt_in_limit_is_inclusive():
    assert occupancy("9.0", 128, 32, 232448).resident_blocks == 1


def test_what_is_not_used_does_not_limit():
    found = occupancy("7.0", 64, 0, 0)
    assert (found.limits["registers"], found.limits["shared memory"]) == (None, None)
    assert found.resident_blocks == 32


@pytest.mark.parametrize("capability", [None, "", "6.1", "9.9", "gfx942"])
def test_an_unknown_architecture_gives_nothing(capability):
    assert occupancy(capability, 128, 32, 0) is None and limits(capability) is None


def test_the_table_holds_the_values_of_the_header():
    """Spot checks against CCCL's arch_traits.h, in its own words: KiB per SM, opt-in, warps, blocks."""
    seen = {c: (row.shared_memory // 1024, row.shared_memory_optin // 1024, row.warps, row.blocks) for c, row in LIMITS.items()}
    assert seen["7.5"] == (64, 64, 32, 16) and seen["8.0"] == (164, 163, 64, 32) and seen["8.6"] == (100, 99, 48, 16)
    assert seen["8.9"] == (100, 99, 48, 24) and seen["9.0"] == (228, 227, 64, 32) and seen["12.0"] == (100, 99, 48, 24)
    assert seen["10.0"] == seen["10.3"] == (228, 227, 64, 32)


# The profiler's field.


@pytest.mark.parametrize("variant", ["naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn"])
def test_the_profilers_field_is_reproduced_for_every_recorded_kernel(variant):
    """Its formula explains each value that a real profiler wrote on an H200."""
    kernels = [a for a in trace.read(DATA / "h200-probe" / f"{variant}.trace.json.gz").forwards[0].activities if a.kind == "kernel"]
    assert kernels
    assert [profiler_estimate("9.0", a.grid, prod(a.block), a.registers, a.shared_memory, 132) for a in kernels] == [a.profiler_occupancy for a in kernels]


def test_the_profiler_rounds_a_32_bit_float():
    """288 blocks of 128 threads over 80 SMs are exactly 22.5 %; in 32 bits that is a hair less, and 22 is written."""
    assert profiler_estimate("7.0", (288, 1, 1), 128, 32, 0, 80) == 22


def found(reported, *, capability="9.0", grid=(4096, 1, 1), threads=128, registers=32, shared=0, sms=132):
    resident = occupancy(capability, threads, registers, shared)
    return difference(resident, Launch(grid, threads, registers, shared), reported, sm_count=sms, compute_capability=capability)


def test_rounding_alone_is_no_disagreement():
    """Flash's 12.5 % and the profiler's 13 say the same."""
    assert found(13, registers=255, shared=49152) is None
    assert found(100) is None


def test_over_48_kib_reads_zero():
    assert found(0, registers=168, threads=384, shared=134144, grid=(132, 1, 1)).cause is Cause.OVER_DEFAULT


def test_exactly_48_kib_is_not_over():
    """At the limit a zero needs another reason."""
    assert found(0, registers=255, shared=49152).cause is Cause.UNEXPLAINED
    assert found(0, registers=255, shared=49152, grid=(1, 1, 1)).cause is Cause.SMALL_GRID


def test_a_small_grid_rounds_to_zero_and_carries_its_numbers():
    """One block over 132 SMs, where 16 would fit on each."""
    small = found(0, grid=(1, 1, 1), registers=16)
    assert (small.cause, small.reported, small.launch.blocks, small.resident_blocks, small.sm_count) == (Cause.SMALL_GRID, 0, 1, 16, 132)
    assert small.cause.small_grid


def test_a_grid_that_does_not_fill_the_device_reads_low():
    """512 blocks on 132 SMs, where each could hold 16: 24 %, as recorded on an H200."""
    low = found(24, grid=(512, 1, 1), registers=16)
    assert low.cause is Cause.NOT_FILLED and low.cause.small_grid


@pytest.mark.parametrize("reported", [-99, -100])
def test_an_architecture_that_the_profiler_does_not_know(reported):
    unknown = found(reported, capability="12.0")
    assert (unknown.cause, unknown.reported, unknown.compute_capability) == (Cause.UNKNOWN_ARCHITECTURE, reported, "12.0")


def test_a_block_of_partial_warps_counts_threads():
    """48 threads are two warps to the hardware and one and a half to the profiler."""
    reported = profiler_estimate("9.0", (9999, 1, 1), 48, 16, 0, 132)
    assert found(reported, threads=48, registers=16, grid=(9999, 1, 1)).cause is Cause.PARTIAL_WARP


def test_what_no_rule_explains_is_said_to_be_unexplained():
    assert found(42).cause is Cause.UNEXPLAINED
    assert found(42, grid=None).cause is Cause.UNEXPLAINED
    assert not found(42).cause.small_grid
