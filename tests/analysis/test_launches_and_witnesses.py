"""Who launched what, and which kernels tell the driver call from the 48 KiB rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import activity, facts, probes, variant
from turned import counted, resident

from reportgen.analysis.launches import is_driver_call, is_runtime_call, library_launches
from reportgen.analysis.masking import mask_ops
from reportgen.analysis.residency import Check, Source, check, comparable, false_zero, occupancy_disagrees
from reportgen.analysis.witnesses import Fit, fit, hearing, pairs, telling, witnesses
from reportgen.run import OccupancyProbe, Probes

H200_SMS = 132
FULL = (H200_SMS * 10, 1, 1)


def with_kernels(*kernels):
    """An H200 run whose only variant with kernels is naive, which runs these; no probe was recorded."""
    run = facts("h200")
    bare = {name: replace(v, activities=()) for name, v in run.variants.items()}
    bare["naive"] = replace(bare["naive"], activities=tuple(kernels))
    return replace(run, variants=bare, probes=Probes())


def kernel(name, api="cudaLaunchKernel", shared=0, field=50.0, grid=FULL):
    return activity(name=name, launch_api=api, shared_memory=shared, profiler_occupancy=field, grid=grid, block=(128, 1, 1))


SEVEN = (
    kernel("runtime, over, zero", shared=65536, field=0),
    kernel("runtime, over, above", shared=65536, field=25),
    kernel("driver, under, small grid", "cuLaunchKernelEx", grid=(1, 1, 1), field=0),
    kernel("driver, under, above", "cuLaunchKernel", shared=16384, field=50),
    kernel("driver, under, zero", "cuLaunchKernelEx", shared=16384, field=0),
    kernel("driver, over", "cuLaunchKernelEx", shared=65536, field=0),
    kernel("exactly 48 KiB", shared=49152, field=13),
)


@pytest.mark.parametrize("api, driver, runtime", [
    ("cuLaunchKernelEx", True, False), ("cuLaunchKernel", True, False), ("cudaLaunchKernel", False, True), ("cudaLaunchKernelExC", False, True),
    ("cudaMemcpyAsync", False, False), ("hipLaunchKernel", False, False), ("hipModuleLaunchKernel", False, False)])
def test_the_drivers_calls_are_not_the_runtimes_and_hips_are_neither(api, driver, runtime):
    assert (is_driver_call(api), is_runtime_call(api)) == (driver, runtime)


def test_each_kind_of_witness_is_the_first_kernel_that_can_decide():
    """On both sides of 48 KiB from both kinds of call; a grid smaller than the device proves nothing."""
    said = hearing(with_kernels(*SEVEN))
    assert [one.who for one in (said.large_zero, said.small_above, said.small_zero, said.large_above)] == [
        "runtime, over, zero", "driver, under, above", "driver, under, zero", "runtime, over, above"]


def test_what_was_not_seen_is_none():
    said = hearing(with_kernels(kernel("plain")))
    assert (said.large_zero, said.small_above, said.small_zero, said.large_above) == (None, None, None, None)


def test_each_reading_fits_the_explanations_that_foretell_it():
    assert [fit(one) for one in witnesses(with_kernels(*SEVEN))] == [
        Fit.SHARED_MEMORY, Fit.DRIVER_CALL, Fit.TOO_SMALL, Fit.SHARED_MEMORY, Fit.DRIVER_CALL, Fit.BOTH, Fit.BOTH]
    (odd,) = witnesses(with_kernels(kernel("small, runtime, zero", field=0)))
    assert fit(odd) is Fit.NEITHER


def test_a_field_that_the_profiler_could_not_work_out_is_no_witness():
    assert witnesses(with_kernels(kernel("unknown to the profiler", "cuLaunchKernel", field=-99), kernel("no field", field=None))) == ()


def test_only_kernels_that_could_tell_the_two_apart_are_telling():
    assert [one.who for one in telling(with_kernels(*SEVEN, kernel("plain")))] == [
        "runtime, over, zero", "runtime, over, above", "driver, under, small grid", "driver, under, above", "driver, under, zero", "driver, over"]


def test_the_probes_are_a_pair_where_shared_memory_alone_turns_the_reading_to_zero():
    """16 KiB read 38 %, 52 KiB read 0, both launched by the driver."""
    (pair,) = pairs(facts("h200"))
    assert (pair.api, pair.small.field, pair.large.field, pair.small.shared_memory, pair.large.shared_memory) == ("cuLaunchKernel", 38.0, 0.0, 16384, 53248)
    run = facts("h200")
    risen = OccupancyProbe(tuple(replace(launch, profiler_occupancy=5.0) for launch in run.probes.occupancy_probe.launches))
    assert pairs(probes(run, occupancy_probe=risen)) == ()


def test_kernels_are_grouped_by_library_and_call_and_nameless_ones_by_their_own_name():
    run = with_kernels(kernel("a"), kernel("b"), kernel("a"), kernel("a", "cuLaunchKernel"))
    found = library_launches(run, ("naive", "sdpa_cudnn", "not_there"))
    assert [(group.family, group.api, [k.name for k in group.kernels], group.variant_is_cudnn) for group in found] == [
        (None, "cudaLaunchKernel", ["a", "a"], False), (None, "cudaLaunchKernel", ["b"], False), (None, "cuLaunchKernel", ["a"], False)]


def test_the_masking_step_dispatches_twelve_ops_out_of_place_and_three_in_place():
    run = facts("h200")
    assert [len(mask_ops(run.variants[name])) for name in ("naive", "naive_inplace", "sdpa_flash")] == [12, 3, 0]


def flash(run):
    return run.variants["sdpa_flash"].activities[0]


def test_a_second_reading_is_the_counters_where_there_are_some_else_the_profilers():
    """256 registers × 128 threads: 2 blocks of 4 warps of 64, 12.5 %."""
    run = resident(facts("h200"), "sdpa_flash", 128, 255, 16384, 13.0)
    assert flash(run).occupancy.theoretical == 12.5
    assert check(flash(run), run) == Check(Source.PROFILER, 13.0, True)
    told = counted(run, "sdpa_flash", theoretical_pct=13.1)
    found = check(flash(told), told)
    assert (found.source, found.reading, found.agrees) == (Source.COUNTERS, 13.1, False)
    assert occupancy_disagrees(flash(told))


def test_a_zero_above_48_kib_is_a_false_one_and_compares_with_nothing():
    run = resident(facts("h200"), "sdpa_flash", 128, 255, 49153, 0.0)
    assert false_zero(flash(run)) and not comparable(flash(run), run) and check(flash(run), run) is None
    edge = resident(facts("h200"), "sdpa_flash", 128, 255, 49152, 0.0)
    assert not false_zero(flash(edge)) and comparable(flash(edge), edge)


def test_a_grid_too_small_to_fill_the_device_compares_with_nothing():
    """2 blocks fit on each of 132 SMs: 264 blocks fill it, 263 do not."""
    run = resident(facts("h200"), "sdpa_flash", 128, 255, 16384, 12.0)
    full, short = (variant(run, "sdpa_flash", activities=(replace(flash(run), grid=(blocks, 1, 1)),)) for blocks in (264, 263))
    assert comparable(flash(full), full) and not comparable(flash(short), short)
