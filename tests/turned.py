"""Evidence turned round: facts whose kernels, times or ops differ from those of a synthetic device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from builders import activities, activity, estimate, variant

from reportgen.analysis import CounterFacts, RunFacts
from reportgen.hardware import kernel_names, occupancy
from reportgen.run.workload import PRESETS

WIDE = PRESETS["wide"]


def kernels(run: RunFacts, name: str, /, **changes: Any) -> RunFacts:
    """`run` with fields of every kernel of a variant changed."""
    return activities(run, name, lambda a: replace(a, **changes) if a.kind == "kernel" else a)


def renamed(run: RunFacts, name: str, kernel_name: str) -> RunFacts:
    """`run` where a variant's kernels carry another name, decoded."""
    return kernels(run, name, name=kernel_name, decoded=kernel_names.decode(kernel_name))


def counted(run: RunFacts, name: str, /, **counters: Any) -> RunFacts:
    """`run` with hardware counters on every kernel of a variant."""
    return kernels(run, name, counters=CounterFacts(**counters))


def resident(run: RunFacts, name: str, threads: int, registers: int, shared: int, field: float | None) -> RunFacts:
    """`run` where a variant's kernel has another launch, with its arithmetic and the profiler's field."""
    return kernels(run, name, block=(threads, 1, 1), registers=registers, shared_memory=shared, profiler_occupancy=field,
                   occupancy=occupancy.occupancy(run.device.compute_capability, threads, registers, shared))


def with_extra_kernel(run: RunFacts, name: str, /, **changes: Any) -> RunFacts:
    """`run` where a variant launches one kernel more than it does."""
    extra = activity(**{"name": "combine", **changes})
    held = run.variants[name]
    return variant(run, name, kernels=(held.kernels or 0) + 1, activities=(*held.activities, extra))


def without_kernels(run: RunFacts, name: str) -> RunFacts:
    return activities(run, name, lambda a: None if a.kind == "kernel" else a)


def timed(run: RunFacts, quantity: str, **microseconds: float) -> RunFacts:
    """`run` with other medians of one quantity: `timed(run, "gpu_time", sdpa_flash=100)`."""
    for name, us in microseconds.items():
        run = variant(run, name, **{quantity: estimate(us)})
    return run


def without_ops(run: RunFacts, name: str) -> RunFacts:
    """`run` recorded before CPU ops were kept for a variant."""
    return variant(run, name, ops=(), op_count=None, transposes=None)
