"""Kernels for which the profiler writes an occupancy of 0 although they ran, and why it does.

Two causes, never to be mixed: more shared memory than the 48 KiB that the profiler reckons with,
or a grid so small that blocks ÷ SMs rounds to nothing. Which host call launched the kernel is no cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Generic, Iterable, TypeVar

from ...hardware.arch_limits import DEFAULT_SHARED_MEMORY
from ...hardware.occupancy import Cause, occupancy, profiler_cause
from .shapes import Shown

A = TypeVar("A", bound=Shown)


@dataclass(frozen=True)
class FalseZero(Generic[A]):
    """theoretical: percent, by the arithmetic; cause: why the profiler shows 0 instead."""

    activity: A
    cause: Cause
    theoretical: float


def find(activities: Iterable[A], compute_capability: str | None, sm_count: int | None) -> tuple[FalseZero[A], ...]:
    """Every kernel that reads 0 and could be resident; empty where the architecture's limits are not known."""
    found = []
    for activity in activities:
        if activity.kind != "kernel" or activity.profiler_occupancy != 0 or not activity.block:
            continue
        threads, registers, shared = prod(activity.block), activity.registers or 0, activity.shared_memory or 0
        resident = occupancy(compute_capability, threads, registers, shared)
        if resident is None:
            continue
        cause = profiler_cause(resident, grid=activity.grid, threads=threads, registers=registers, shared_memory=shared, sm_count=sm_count,
                               compute_capability=compute_capability, reported=0)
        if cause is not None:
            found.append(FalseZero(activity, cause, resident.theoretical))
    return tuple(found)


@dataclass(frozen=True)
class LaunchEvidence(Generic[A]):
    """Kernels that tell whether the launch call or the shared memory makes the zero.

    runtime_zero: over 48 KiB, launched by the runtime's `cudaLaunchKernel`, read as 0
    runtime_nonzero: the same, but read above 0: these would speak against the 48 KiB rule
    driver_nonzero: at most 48 KiB, a grid that fills the device, launched by a driver call, read above 0
    driver_zero: the same, but read as 0: these would speak for the launch call as the cause
    """

    runtime_zero: tuple[A, ...]
    runtime_nonzero: tuple[A, ...]
    driver_nonzero: tuple[A, ...]
    driver_zero: tuple[A, ...]


def launch_evidence(activities: Iterable[A], sm_count: int | None) -> LaunchEvidence[A]:
    """Sorts kernels by launch call, shared memory and the profiler's field. A fill of less than one block per SM proves nothing."""
    sorted_out: dict[tuple[str, bool], list[A]] = {(call, zero): [] for call in ("runtime", "driver") for zero in (True, False)}
    for activity in activities:
        reads = activity.profiler_occupancy
        if activity.kind != "kernel" or reads is None or reads < 0 or activity.shared_memory is None:
            continue
        over = activity.shared_memory > DEFAULT_SHARED_MEMORY
        fills = bool(sm_count and activity.grid and prod(activity.grid) >= sm_count)
        if over and activity.launch_api == "cudaLaunchKernel":
            sorted_out["runtime", reads == 0].append(activity)
        elif not over and fills and is_driver_call(activity.launch_api):
            sorted_out["driver", reads == 0].append(activity)
    return LaunchEvidence(*(tuple(sorted_out[key]) for key in (("runtime", True), ("runtime", False), ("driver", False), ("driver", True))))


def is_driver_call(launch_api: str) -> bool:
    """`cuLaunchKernelEx` is the driver's, `cudaLaunchKernelExC` the runtime's."""
    return launch_api.startswith("cu") and not launch_api.startswith("cuda")
