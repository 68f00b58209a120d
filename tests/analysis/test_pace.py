"""Which limit a forward is at: each test at its border, and in its order."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activity, estimate, facts, variant

from reportgen.analysis import CounterFacts
from reportgen.analysis.pace import Limit, pace, paces
from reportgen.hardware.kernel_names import decode
from reportgen.questions.evaluate import evaluate
from reportgen.questions.limit_words import at_limits_said
from reportgen.readings.limits import READING as LIMITS
from reportgen.readings.roofline import READING as ROOFLINE

COPY, MATMUL = 4.3e12, 788e12
"""Ceilings of the made-up H200."""

FLASH = decode(
    "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, "
    "cutlass::bfloat16_t>>, false, true, false, false, true, true, false, false>(pytorch_flash::Flash_fwd_params)")


def spent(by_bytes, by_flop, host=50, wall=1010, name="sdpa_flash"):
    """`name` with one kernel of 1,000 µs whose bytes and FLOP need so many microseconds at the ceilings."""
    kernel = activity(role="fused attention", us=1000, requested_bytes=by_bytes * 1e-6 * COPY, flop=by_flop * 1e-6 * MATMUL, decoded=FLASH)
    run = variant(facts(), name, activities=(kernel,), kernels=1, memsets=0, gpu_time=estimate(1000, spread=0), wall_time=estimate(wall, spread=0), host_time=estimate(host, spread=0))
    return pace(run, run.variants[name]).limit


@pytest.mark.parametrize("by_bytes, by_flop, limit", [(501, 100, Limit.MEMORY), (499, 100, Limit.INSTRUCTIONS), (100, 501, Limit.ARITHMETIC), (100, 499, Limit.INSTRUCTIONS),
                                                      (600, 700, Limit.ARITHMETIC), (700, 600, Limit.MEMORY)])
def test_half_of_the_gpu_time_is_the_border_and_the_larger_part_names_the_limit(by_bytes, by_flop, limit):
    assert spent(by_bytes, by_flop) is limit


@pytest.mark.parametrize("host, wall, limit", [(1620, 2000, Limit.OVERHEAD), (1580, 2000, Limit.MEMORY), (990, 1000, Limit.MEMORY)])
def test_overhead_is_asked_first_and_needs_a_gpu_that_waits(host, wall, limit):
    """Four fifths of the wall time; where wall time is GPU time, the GPU does not wait however long the call."""
    assert spent(700, 100, host, wall) is limit


@pytest.mark.parametrize("by_bytes, held, roof", [(550, "memory: SDPA flash", "No fused kernel"), (450, "instructions or latency: SDPA flash", "Every fused kernel")])
def test_the_roofline_and_the_limits_say_the_limit_that_the_guide_says(by_bytes, held, roof):
    """One border for all three: bytes for 550 of 1,000 µs are memory and reach a ceiling, for 450 they do neither."""
    kernel = activity(role="fused attention", us=1000, requested_bytes=by_bytes * 1e-6 * COPY, flop=0.1e-3 * MATMUL, decoded=FLASH,
                      counters=CounterFacts(by_bytes * 1e-6 * COPY, 0.0, tensor_core_flop=0.1e-3 * MATMUL))
    run = variant(facts(), "sdpa_flash", activities=(kernel,), kernels=1, memsets=0, gpu_time=estimate(1000, spread=0), wall_time=estimate(1010, spread=0), host_time=estimate(50, spread=0))
    run = replace(run, variants={"sdpa_flash": run.variants["sdpa_flash"]})
    answers = {question.id: evaluate(question, run).headline for reading in (ROOFLINE, LIMITS) for question in reading.questions}
    assert at_limits_said(paces(run)) == held
    assert answers["roofline-ridge"].endswith(f"By that test: {held}.") and "limited by" not in answers["roofline-ridge"]
    assert not answers["limits-fused"].startswith(roof) and "reaches 50 % of a ceiling" in answers["limits-fused"]


def test_host_time_of_a_disturbed_run_tells_no_overhead():
    run = facts(launches_wait=("CUDA_LAUNCH_BLOCKING",))
    held = variant(run, "sdpa_flash", host_time=estimate(900), wall_time=estimate(1000))
    assert pace(held, held.variants["sdpa_flash"]).host is None


def test_bytes_that_nobody_knows_leave_the_limit_open():
    run = facts()
    held = run.variants["sdpa_flash"]
    bare = variant(run, "sdpa_flash", activities=tuple(replace(a, requested_bytes=None) for a in held.activities))
    assert pace(bare, bare.variants["sdpa_flash"]).limit is Limit.UNKNOWN


def test_the_steps_below_copy_speed_are_named_where_there_are_several():
    found = {one.variant.id: one for one in paces(facts())}
    assert [step.role for step in found["naive_inplace"].below] == ["mask", "softmax"]
    assert found["sdpa_flash"].below == ()
    assert {name: one.limit for name, one in found.items()} == {
        "naive": Limit.MEMORY, "naive_inplace": Limit.MEMORY, "sdpa_math": Limit.MEMORY, "sdpa_efficient": Limit.INSTRUCTIONS, "sdpa_flash": Limit.INSTRUCTIONS, "sdpa_cudnn": Limit.INSTRUCTIONS}


def test_there_is_no_limit_of_memory_where_the_cache_may_hold_the_scores():
    assert {one.bytes for one in paces(facts("mi300x"))} == {None}
