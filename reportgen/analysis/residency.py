"""How full an SM can be: whether the arithmetic and a second reading of a kernel's occupancy agree."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod

from ..hardware.arch_limits import DEFAULT_SHARED_MEMORY
from ..hardware.occupancy import agree
from .model import ActivityFacts, RunFacts


class Source(Enum):
    """Where a second reading comes from. Both work it out from the launch, as the arithmetic here does."""

    COUNTERS = "the counter tool's theoretical occupancy"
    PROFILER = "the profiler's field, a whole number"


@dataclass(frozen=True)
class Check:
    """A second reading beside the arithmetic, in percent as it stands there."""

    source: Source
    reading: float
    agrees: bool


def check(kernel: ActivityFacts, facts: RunFacts) -> Check | None:
    """Compares the arithmetic with the counter tool's own, or without it with the profiler's field.

    `None` where there is nothing to compare with: no arithmetic, no field, or a field that means something
    else (a false zero above 48 KiB, an unknown device, a grid too small to fill the SMs).
    """
    if kernel.occupancy is None:
        return None
    if kernel.counters and kernel.counters.theoretical_pct is not None:
        source, reading = Source.COUNTERS, kernel.counters.theoretical_pct
    elif comparable(kernel, facts) and kernel.profiler_occupancy is not None:
        source, reading = Source.PROFILER, kernel.profiler_occupancy
    else:
        return None
    return Check(source, reading, agree(reading, kernel.occupancy.theoretical))


def comparable(kernel: ActivityFacts, facts: RunFacts) -> bool:
    """Whether the profiler's field means the same thing as the arithmetic for this kernel."""
    field = kernel.profiler_occupancy
    if field is None or field < 0 or kernel.occupancy is None or opted_in(kernel):
        return False
    return fills(kernel.grid, facts.device.sm_count, kernel.occupancy.resident_blocks)


def opted_in(kernel: ActivityFacts) -> bool:
    """Whether a block uses more shared memory than CUDA allows without opting in.

    The profiler computes its field with that limit, so it writes 0 for such a kernel (Kineto, `DeviceProperties.cpp`).
    """
    return (kernel.shared_memory or 0) > DEFAULT_SHARED_MEMORY


def false_zero(kernel: ActivityFacts) -> bool:
    """Whether the profiler shows 0 for a kernel that opted in: the field says nothing then."""
    return kernel.profiler_occupancy == 0 and opted_in(kernel)


def fills(grid: tuple[int, ...] | None, sm_count: int | None, blocks_per_sm: int = 1) -> bool:
    """Whether a grid has at least `blocks_per_sm` blocks for every SM; `False` where it is not known."""
    return bool(grid and sm_count) and prod(grid or ()) >= (sm_count or 0) * blocks_per_sm


def occupancy_disagrees(activity: ActivityFacts) -> bool:
    """Whether the counters' theoretical occupancy contradicts the one that the launch works out at."""
    counted = activity.counters.theoretical_pct if activity.counters else None
    return counted is not None and activity.occupancy is not None and not agree(counted, activity.occupancy.theoretical)


def field_disagrees(kernel: ActivityFacts) -> bool:
    """Whether the profiler's field differs from the arithmetic by more than its rounding; `False` where either is missing."""
    return kernel.occupancy is not None and kernel.profiler_occupancy is not None and not agree(kernel.profiler_occupancy, kernel.occupancy.theoretical)
