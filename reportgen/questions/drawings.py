"""Pictures of how a thing works, with this run's sizes in them: they stand in the mechanism, where a text drawing would have none."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import ActivityFacts, RunFacts, VariantFacts
from ..analysis.kernels import kernels, main_kernel
from ..analysis.room import Held, Level, Room, held, rooms
from ..saying.units import Bytes, BytesPerSecond, Count, Percent, Ratio, Seconds, listed, plural
from .model import Chart

UNKNOWN = "size unknown"
_NAMES = {Level.REGISTERS: "Registers", Level.SHARED: "Shared memory", Level.CACHE: "Last-level cache (L2)", Level.MAIN: "Main memory (HBM or GDDR)"}
_HOLDS = {
    Level.REGISTERS: "flash: a tile of scores, m, l and the output so far",
    Level.SHARED: "flash: tiles of Q, K and V",
    Level.CACHE: "what was read or written last",
    Level.MAIN: "Q, K, V and the output; step by step, every score as well",
}


def memory(name: str, facts: RunFacts) -> tuple[Chart, ...]:
    """The memories of this device and what attention keeps in each; nothing for a CPU."""
    if facts.device.kind == "cpu":
        return ()
    found, scores = rooms(facts), facts.workload.score_bytes
    levels = [(_NAMES[room.level], _size(room, facts), _HOLDS[room.level]) for room in found]
    said = "; ".join(f"{_NAMES[room.level]} {Bytes(room.total) if room.total else UNKNOWN}" for room in found)
    return (Chart(name, "memory", {"levels": levels}, alt=f"Where data can lie on this device: {said}. The score matrix is {Bytes(scores)}.",
                  caption=f"Where data can lie on this device; the score matrix is {Bytes(scores)}. Widths are no scale: the sizes differ a thousandfold. "
                          "Sizes per SM are those of the architecture, the others what the driver told."),)


def _size(room: Room, facts: RunFacts) -> str:
    if room.total is None:
        return f"{Bytes(room.per_sm)} per SM" if room.per_sm else UNKNOWN
    parts = [f"{Count(facts.device.sm_count or 0)} × {Bytes(room.per_sm)} = {Bytes(room.total)}" if room.per_sm else f"{Bytes(room.total)}"]
    rate = facts.ceilings.copy_bytes_per_s if facts.ceilings else None
    if room.level is Level.MAIN and rate:
        parts.append(f"copied at {BytesPerSecond(rate)}")
    return ", ".join(parts)


def tiling(name: str, facts: RunFacts, variant: str = "sdpa_flash") -> tuple[Chart, ...]:
    """How a fused kernel walks over one head's scores, in tiles of the size that its name tells; nothing where it tells none."""
    shown = facts.variants.get(variant)
    kernel = main_kernel(shown)
    tile = kernel.decoded.tile if kernel and kernel.decoded else None
    if shown is None or tile is None:
        return ()
    data = {"sequence": facts.workload.sequence, "queries": tile.queries, "keys": tile.keys, "causal": facts.workload.causal}
    return (Chart(name, "tiling", data, alt=f"One head's scores in tiles of {Count(tile.queries)} queries and {Count(tile.keys)} keys, the size in the name of {shown.title}'s kernel.",
                  caption=f"The scores of one head in the tiles of {shown.title}; their size is in the kernel's name."),)


def slots(name: str, facts: RunFacts) -> tuple[Chart, ...]:
    """One SM filled by flash, by cuDNN and by the scaling step of hand-written attention; nothing where no arithmetic is known."""
    inplace = facts.variants.get("naive_inplace")
    scale = next((kernel for kernel in kernels(inplace) if kernel.role == "scale"), None) if inplace else None
    shown: list[tuple[VariantFacts | None, str, ActivityFacts | None]] = [(v, v.title, main_kernel(v)) for key in ("sdpa_flash", "sdpa_cudnn") if (v := facts.variants.get(key)) and v.ok]
    shown.append((inplace, "mul, which scales the scores", scale))
    found = [(variant, label, filled) for variant, label, kernel in shown if (filled := held(kernel, facts.device.compute_capability))]
    if not found:
        return ()
    panels = [(label, variant.id if variant else None, one.warps_per_block, one.occupancy.resident_blocks, one.occupancy.max_warps, _filled(one),
               [("registers", one.registers), ("shared memory", one.shared_memory)]) for variant, label, one in found]
    said = "; ".join(f"{label}: {_filled(one)}" for _, label, one in found)
    return (Chart(name, "slots", {"panels": panels}, alt=f"One SM. {said}.", caption="One SM as each kernel fills it. A box is a slot for one warp, boxes that touch are one block; by the arithmetic, from the launch."),)


def _filled(one: Held) -> str:
    resident = one.occupancy
    return f"{plural(resident.resident_blocks, 'block')}, {Count(resident.resident_warps)} of {Count(resident.max_warps)} slots ({Percent(resident.theoretical)}); limit: {listed(list(resident.limiters))}"


def forwards(name: str, shown: Sequence[VariantFacts], caption: str) -> tuple[Chart, ...]:
    """The GPU lanes of several variants under each other, on one time axis; nothing without a GPU lane."""
    known = [variant for variant in shown if variant.ok and variant.activities]
    if not known:
        return ()
    lanes = [(variant.title, _said(variant), _steps(variant)) for variant in known]
    longest, shortest = max(known, key=_busy), min(known, key=_busy)
    beside = f" {longest.title} is busy {Ratio(_busy(longest) / _busy(shortest))} as long as {shortest.title}." if longest is not shortest else ""
    return (Chart(name, "forwards", {"forwards": lanes}, alt="The GPU's lane of one forward each: " + "; ".join(f"{variant.title} {_said(variant)}" for variant in known) + f".{beside}", caption=caption),)


def _busy(variant: VariantFacts) -> float:
    return sum(activity.duration for activity in variant.activities)


def _said(variant: VariantFacts) -> str:
    return f"{plural(len(variant.activities), 'activity', 'activities')}, {Seconds(_busy(variant))}"


def _steps(variant: VariantFacts) -> list[tuple[str, float, float]]:
    """Role, begin after the first activity's begin, and duration in µs; a median that reaches into the next step moves that step."""
    first, end, steps = min(a.start for a in variant.activities), 0.0, []
    for activity in sorted(variant.activities, key=lambda a: a.start):
        begin = max((activity.start - first) * 1e6, end)
        end = begin + activity.duration * 1e6
        steps.append((activity.role, begin, activity.duration * 1e6))
    return steps
