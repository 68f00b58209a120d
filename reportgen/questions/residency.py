"""Occupancy in words and tables: the arithmetic step by step, what other sources say, and why they differ."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ..analysis import ActivityFacts, RunFacts, VariantFacts, published
from ..analysis.kernels import kernels
from ..analysis.residency import Source, false_zero, occupancy_disagrees
from ..hardware.arch_limits import DEFAULT_SHARED_MEMORY
from ..hardware.occupancy import AGREEMENT, Cause, Difference
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, Count, Percent, listed, plural, significant

OVER = f"More than {Bytes(DEFAULT_SHARED_MEMORY)} of shared memory"
CONTRADICTED = "⚠ Nsight Compute contradicts the arithmetic"
CONTRADICTED_NOTE = (f"⚠ Nsight Compute calculates a theoretical occupancy more than {AGREEMENT:g} points away: trust it, and look for a limit "
                     "that the trace does not record.")

SOURCES = {
    Source.COUNTERS: "Nsight Compute",
    Source.PROFILER: "The profiler's field",
}
"""Where a second reading comes from, as the subject of a sentence."""


def explained(kernel: ActivityFacts) -> str | None:
    """Why the profiler's field and the arithmetic disagree, in a sentence; `None` where they agree but for rounding."""
    return explain(kernel.occupancy_cause) if kernel.occupancy_cause else None


def explain(found: Difference) -> str:
    """What sets the profiler's field apart from the arithmetic, in a sentence."""
    launch, sms = found.launch, found.sm_count or 0
    if found.cause.small_grid:
        share = f"{significant(launch.blocks / (sms or 1))} per SM, fewer than the {Count(found.resident_blocks)} that fit"
        ending = "which rounds to 0" if found.cause is Cause.SMALL_GRID else f"so it shows {Percent(found.reported)}"
        return f"The grid is small: {plural(launch.blocks, 'block')} over {Count(sms)} SMs is {share}. The profiler counts these, {ending}."
    return {
        Cause.UNKNOWN_ARCHITECTURE: f"The profiler's occupancy calculator does not know compute capability {found.compute_capability}; it writes {Count(found.reported)} instead.",
        Cause.OVER_DEFAULT: f"The profiler assumes the default limit of {Count(DEFAULT_SHARED_MEMORY)} B of shared memory per block. "
                            f"This kernel uses {Count(launch.shared_memory)} B, so the profiler concludes that no block fits and shows 0.",
        Cause.PARTIAL_WARP: f"The profiler counts threads, the hardware whole warps: {Count(launch.threads)} threads do not fill their last warp.",
        Cause.UNEXPLAINED: f"The profiler shows {Percent(found.reported)}, which its known formula does not give for this launch.",
    }[found.cause]


def achieved(kernel: ActivityFacts | None) -> Percent | None:
    """Occupancy on average while the kernel ran, counted; `None` without counters."""
    value = kernel.counters.achieved_pct if kernel and kernel.counters else None
    return None if value is None else Percent(value)


NO_VALUE = "no value"


def field(reading: float | None) -> Percent | str | None:
    """The profiler's field as a cell: below 0 the profiler says that it knows no value."""
    return None if reading is None else NO_VALUE if reading < 0 else Percent(reading)


def residency_args(kernel: ActivityFacts) -> dict[str, object]:
    """What sentences about a kernel's residency say: numbers of its launch and of the arithmetic."""
    resident = kernel.occupancy
    if resident is None:
        return {}
    threads = prod(kernel.block) if kernel.block else None
    per_block = resident.resident_warps // resident.resident_blocks if resident.resident_blocks else 0
    return {
        "value": Percent(resident.theoretical), "blocks": plural(resident.resident_blocks, "block"), "warps": plural(per_block, "warp"),
        "slots": plural(resident.max_warps, "warp"), "limiters": listed(resident.limiters),
        "registers": Count(kernel.registers or 0), "threads": Count(threads) if threads else None, "shared": Bytes(kernel.shared_memory or 0),
        "other_limiter": None if "registers" in resident.limiters else listed(resident.limiters),
    }


def steps_table(variant: VariantFacts, kernel: ActivityFacts) -> tuple[Table, ...]:
    """The occupancy arithmetic of one kernel, every step with its numbers."""
    if kernel.occupancy is None:
        return ()
    rows = tuple((step.what, step.expression, "no limit" if step.result is None else _number(step.result)) for step in kernel.occupancy.steps)
    return (Table(columns("Step", "With this kernel's numbers", "#Result"), rows, caption=f"The occupancy of {variant.title}'s kernel, step by step."),)


def _number(value: int | float) -> object:
    return Count(value) if isinstance(value, int) else str(Percent(value)).removesuffix(" %")


HEADS = {"variants": "Variants", "kernel": "Kernel", "registers": "#Registers", "threads": "#Threads", "shared": "#Shared memory", "warps": "#Resident warps",
         "arithmetic": "#Arithmetic", "profiler": "#Profiler", "second": "#Nsight Compute", "achieved": "#Achieved, counted", "limited": "Limited by",
         "why": "Why they differ"}
"""The columns of the table of kernels, in their order → their heads."""


def kernels_table(facts: RunFacts, first: Sequence[str] = ()) -> tuple[Table, ...]:
    """Every distinct kernel of the run: arithmetic, profiler and counters side by side, and why they differ.

    Args:
        first: keys of `HEADS`; these columns stand first, in this order.
    """
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
    order = [*first, *(key for key in HEADS if key not in first)]
    note = (f"{OVER}: the profiler assumes the default limit of {Count(DEFAULT_SHARED_MEMORY)} B per block, concludes that no block fits, "
            "and shows 0.")
    cells = [_kernel_row(titles, kernel) for kernel, titles in groups.values()]
    rows = tuple(tuple(row[key] for key in order) for row in cells)
    notes = (*((note,) if any(false_zero(kernel) and not occupancy_disagrees(kernel) for kernel in found) else ()),
             *((CONTRADICTED_NOTE,) if any(occupancy_disagrees(kernel) for kernel in found) else ()), *_published(facts))
    counted = any(kernel.counters for kernel in found)
    caption = "Occupancy of every kernel: theoretical, calculated " + (
        "here, by the profiler and by Nsight Compute, and achieved, which is measured." if counted else "here and by the profiler.")
    return (Table(columns(*(HEADS[key] for key in order)), rows, caption=caption, notes=notes),)


def _published(facts: RunFacts) -> tuple[str, ...]:
    """What the article read for the two kernels whose occupancy it discusses."""
    device = published.load()["device"]["name"]
    return tuple(
        f"The article, on one {device}: {facts.variants[name].title} {Count(published.of(name, 'registers'))} registers × {Count(published.of(name, 'threads'))} threads, "
        f"about {Percent(published.of(name, 'occupancy'))}; its profiler shows {Percent(published.of(name, 'profiler_occupancy'))}."
        for name in ("sdpa_flash", "sdpa_cudnn") if name in facts.variants)


def _kernel_row(titles: list[str], kernel: ActivityFacts) -> dict[str, object]:
    """The cells of one kernel, by the keys of `HEADS`."""
    resident, counted = kernel.occupancy, kernel.counters
    return {
        "variants": "; ".join(titles), "kernel": Code(kernel.short), "registers": _count(kernel.registers),
        "threads": _count(prod(kernel.block) if kernel.block else None),
        "shared": None if kernel.shared_memory is None else Bytes(kernel.shared_memory),
        "warps": f"{resident.resident_warps} of {resident.max_warps}" if resident else None,
        "arithmetic": Percent(resident.theoretical) if resident else None,
        "profiler": field(kernel.profiler_occupancy),
        "second": Percent(counted.theoretical_pct) if counted and counted.theoretical_pct is not None else None,
        "achieved": achieved(kernel), "limited": listed(resident.limiters) if resident else None, "why": _why(kernel),
    }


def _why(kernel: ActivityFacts) -> str | None:
    """Why the sources of a kernel's occupancy differ, for its row; `None` where they agree."""
    return CONTRADICTED if occupancy_disagrees(kernel) else OVER if false_zero(kernel) else explained(kernel)


def _count(value: int | None) -> Count | None:
    return None if value is None else Count(value)
