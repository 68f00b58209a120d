"""Occupancy on the pages: whether arithmetic and a second source agree, and the tables that show both."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..analysis import published
from ..hardware.arch_limits import DEFAULT_SHARED_MEMORY
from ..analysis import ActivityFacts, RunFacts, VariantFacts
from ..analysis.counters import OCCUPANCY_POINTS, occupancy_disagrees
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, Count, Percent, listed
from ..questions.model import Case, not_measurable
from ..analysis.kernels import kernels

DEFAULT_LIMIT = DEFAULT_SHARED_MEMORY
"""Bytes of shared memory per block that CUDA allows without opting in. The profiler computes its occupancy
field with this limit, so it writes 0 for any kernel above it (Kineto, `DeviceProperties.cpp`)."""
OVER = "More than 48 KiB of shared memory"
CONTRADICTED = "⚠ Nsight Compute contradicts the arithmetic"
CONTRADICTED_NOTE = ("⚠ Nsight Compute, which works the theoretical occupancy out from the launch as well, comes to another value, by more than half a point: trust it, and look for a limit "
                     "that the trace does not record.")
ABOUT = OCCUPANCY_POINTS
"""Points of a percentage that "about" allows (the claims' rule)."""

NO_ARITHMETIC: dict[str, Case] = {
    "no-arithmetic": not_measurable(
        "Not measurable: the occupancy of {what} cannot be worked out, because the trace or our tables lack the limits of this device ({device})."),
}


@dataclass(frozen=True)
class Check:
    """A second source beside the arithmetic. reading: percent, as it stands there."""

    source: str
    reading: float
    agrees: bool


def check(kernel: ActivityFacts, facts: RunFacts) -> Check | None:
    """Compares the arithmetic with Nsight Compute's own (which also works it out from the launch), or without it with the profiler's field.

    `None` where there is nothing to compare with: no arithmetic, no field, or a field that means something
    else (a false zero above 48 KiB, an unknown device, a grid too small to fill the SMs).
    """
    if kernel.occupancy is None:
        return None
    if kernel.counters and kernel.counters.theoretical_pct is not None:
        source, reading = "Nsight Compute, which works it out from the launch as well,", kernel.counters.theoretical_pct
    elif comparable(kernel, facts) and kernel.profiler_occupancy is not None:
        source, reading = "the profiler's field, a whole number,", kernel.profiler_occupancy
    else:
        return None
    # the field is rounded to a whole percent, so half a point is no difference
    return Check(source, reading, abs(reading - kernel.occupancy.theoretical) <= ABOUT + 1e-6)


def achieved(kernel: ActivityFacts | None) -> Percent | None:
    """Occupancy on average while the kernel ran, counted; `None` without counters."""
    value = kernel.counters.achieved_pct if kernel and kernel.counters else None
    return None if value is None else Percent(value)


def comparable(kernel: ActivityFacts, facts: RunFacts) -> bool:
    """Whether the profiler's field means the same thing as the arithmetic for this kernel."""
    field = kernel.profiler_occupancy
    if field is None or field < 0 or kernel.occupancy is None or (kernel.shared_memory or 0) > DEFAULT_LIMIT:
        return False
    return fills(kernel.grid, facts.device.sm_count, kernel.occupancy.resident_blocks)


def fills(grid: tuple[int, ...] | None, sm_count: int | None, blocks_per_sm: int = 1) -> bool:
    """Whether a grid has at least `blocks_per_sm` blocks for every SM; `False` where it is not known."""
    return bool(grid and sm_count) and prod(grid or ()) >= (sm_count or 0) * blocks_per_sm



def steps_table(variant: VariantFacts, kernel: ActivityFacts) -> tuple[Table, ...]:
    """The occupancy arithmetic of one kernel, every step with its numbers."""
    if kernel.occupancy is None:
        return ()
    rows = tuple((step.what, step.expression, "no limit" if step.result is None else _number(step.result)) for step in kernel.occupancy.steps)
    return (Table(columns("Step", "With this kernel's numbers", "#Result"), rows, caption=f"The occupancy of {variant.title}'s kernel, step by step."),)


def _number(value: int | float) -> object:
    return Count(value) if isinstance(value, int) else str(Percent(value)).removesuffix(" %")


def kernels_table(facts: RunFacts) -> tuple[Table, ...]:
    """Every distinct kernel of the run: arithmetic, profiler and counters side by side, and why they differ."""
    groups: dict[tuple[object, ...], tuple[ActivityFacts, list[str]]] = {}
    for variant in facts.variants.values():
        for kernel in kernels(variant):
            key = (kernel.name, kernel.grid, kernel.block, kernel.registers, kernel.shared_memory, kernel.profiler_occupancy)
            titles = groups.setdefault(key, (kernel, []))[1]
            if variant.title not in titles:
                titles.append(variant.title)
    found = [kernel for kernel, _ in groups.values()]
    if not any(kernel.occupancy or kernel.profiler_occupancy is not None or kernel.counters for kernel in found):
        return ()
    heads = columns("Variants", "Kernel", "#Registers", "#Threads", "#Shared memory", "#Resident warps", "#Arithmetic", "#Profiler", "#Nsight Compute", "#Achieved, counted", "Limited by", "Why they differ")
    note = (f"{OVER}: the profiler reckons with the default limit of {Count(DEFAULT_LIMIT)} B per block, so no block of a kernel that opted in to more seems to fit, "
            "and it shows 0.")
    rows = tuple(_kernel_row(titles, kernel) for kernel, titles in groups.values())
    notes = (*((note,) if any(row[-1] == OVER for row in rows) else ()), *((CONTRADICTED_NOTE,) if any(row[-1] == CONTRADICTED for row in rows) else ()), *_published(facts))
    counted = any(kernel.counters for kernel in found)
    caption = "Occupancy of every kernel: theoretical, worked out from the launch " + (
        "three times (here, by the profiler, by Nsight Compute), and achieved, which hardware counted." if counted else "twice, here and by the profiler.")
    return (Table(heads, rows, caption=caption, notes=notes),)


def _published(facts: RunFacts) -> tuple[str, ...]:
    """What the article read for the two kernels whose occupancy it discusses."""
    device = published.load()["device"]["name"]
    return tuple(
        f"The article, on one {device}: {facts.variants[name].title} {Count(published.of(name, 'registers'))} registers × {Count(published.of(name, 'threads'))} threads, "
        f"about {Percent(published.of(name, 'occupancy'))}; its profiler shows {Percent(published.of(name, 'profiler_occupancy'))}."
        for name in ("sdpa_flash", "sdpa_cudnn") if name in facts.variants)


def _kernel_row(titles: list[str], kernel: ActivityFacts) -> tuple[object, ...]:
    resident, counted = kernel.occupancy, kernel.counters
    false_zero = kernel.profiler_occupancy == 0 and (kernel.shared_memory or 0) > DEFAULT_LIMIT
    return ("; ".join(titles), Code(kernel.short), _count(kernel.registers), _count(prod(kernel.block) if kernel.block else None),
            None if kernel.shared_memory is None else Bytes(kernel.shared_memory),
            f"{resident.resident_warps} of {resident.max_warps}" if resident else None,
            Percent(resident.theoretical) if resident else None,
            None if kernel.profiler_occupancy is None else Percent(kernel.profiler_occupancy),
            Percent(counted.theoretical_pct) if counted and counted.theoretical_pct is not None else None, achieved(kernel),
            listed(resident.limiters) if resident else None, CONTRADICTED if occupancy_disagrees(kernel) else OVER if false_zero else kernel.occupancy_why)


def _count(value: int | None) -> Count | None:
    return None if value is None else Count(value)
