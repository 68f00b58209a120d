"""What a reader must know before trusting this run's numbers, as typed values; `questions.caveats` says them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from statistics import median

from ..numbers.statistics import MINIMUM_EFFECT
from ..run import Clocks, Run
from ..saying.units import Count, Percent, Ratio, Seconds
from . import counters, disturbed
from .model import Caveat, CaveatKind, VariantFacts
from .residency import occupancy_disagrees
from .traffic import least_time

TIMER_AGREEMENT = 0.05
CLOCK_AGREEMENT = 0.03
BUSY_SHARE = 0.1
"""The share of a GPU or of all processors above which somebody else is at work."""


def run_caveats(run: Run, variants: Mapping[str, VariantFacts]) -> tuple[Caveat, ...]:
    """Most serious first; empty if nothing is to be said."""
    sources: tuple[Callable[[Run, Mapping[str, VariantFacts]], Iterator[Caveat]], ...] = (
        _edited, _neighbours, _busy, _disturbed, _throttling, _clock_spread, _lost_records, _lost_parts, _above_wall, _beyond_ceilings, _timer_notes, _timers, _differing, _uncounted, _occupancy,
        _noticed)
    return tuple(caveat for source in sources for caveat in source(run, variants))


def _edited(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    if run.edited:
        yield Caveat(CaveatKind.EDITED, {"files": run.edited})


def _neighbours(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    if run.clocks.other_processes:
        yield Caveat(CaveatKind.NEIGHBOURS, {"others": run.clocks.other_processes})


def _busy(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """A GPU that computed for somebody whom nobody names, and processors that others used."""
    busy = max((look.gpu_busy_percent or 0.0 for look in run.clocks.looks), default=0.0)
    if busy > 100 * BUSY_SHARE and not run.clocks.other_processes:
        yield Caveat(CaveatKind.GPU_BUSY, {"busy": Percent(round(busy))})
    share = others_cpu_share(run.clocks)
    if share is not None and share > BUSY_SHARE:
        yield Caveat(CaveatKind.BUSY_CPU if run.device.kind == "cpu" else CaveatKind.BUSY_HOST, {"share": Percent(round(100 * share))})


def others_cpu_share(clocks: Clocks) -> float | None:
    """The largest share of the processors that others took while a timing process ran; `None` where nobody tells."""
    return max((look.others_cpu_share for look in clocks.looks if look.others_cpu_share is not None), default=None)


def _disturbed(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    watching, waiting = disturbed.watched_by(run), disturbed.launches_wait(run)
    if watching is not None:
        yield Caveat(CaveatKind.WATCHED, {"names": watching})
    if waiting:
        yield Caveat(CaveatKind.LAUNCHES_WAIT, {"names": waiting})


def _noticed(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """What the capture noticed before it began, where no caveat of its own says it."""
    own = {disturbed.WATCHED} | ({disturbed.BUSY} if (others_cpu_share(run.clocks) or 0) > BUSY_SHARE else set())
    own |= {"blocking"} if disturbed.launches_wait(run) else set()
    own |= {"neighbours"} if run.clocks.other_processes else set()
    for notice in run.noticed:
        if notice.cause not in own and notice.said:
            yield Caveat(CaveatKind.NOTICED, {"said": notice.said.rstrip(".")})


def _throttling(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    known = [sample for sample in run.clocks.samples if sample.throttle is not None or sample.sm_mhz]
    held = [sample for sample in known if sample.throttle]
    if held:
        clocks = [sample.sm_mhz for sample in known if sample.sm_mhz]
        yield Caveat(CaveatKind.THROTTLED, {
            "reasons": tuple(sorted({reason for sample in held for reason in sample.throttle or ()})), "held": Count(len(held)), "samples": Count(len(known)),
            "lowest": Count(round(min(clocks))) if clocks else None, "highest": Count(round(max(clocks))) if clocks else None})


def clock_medians(run: Run) -> dict[str, float]:
    """Variant → median SM clock in MHz over the samples taken right after its blocks."""
    by_variant: dict[str, list[float]] = {}
    for sample in run.clocks.samples:
        if sample.variant and sample.sm_mhz:
            by_variant.setdefault(sample.variant, []).append(sample.sm_mhz)
    return {name: median(values) for name, values in by_variant.items()}


def clock_spread(run: Run) -> float:
    """How far apart the variants' median SM clocks lie, relative to the highest; 0 where unknown."""
    clocks = clock_medians(run)
    return 1 - min(clocks.values()) / max(clocks.values()) if clocks else 0.0


def _clock_spread(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    spread = clock_spread(run)
    if spread > CLOCK_AGREEMENT:
        clocks = clock_medians(run)
        slow, fast = min(clocks, key=clocks.__getitem__), max(clocks, key=clocks.__getitem__)
        yield Caveat(CaveatKind.CLOCKS_APART, {"slow": _title(variants, slow), "slow_mhz": clocks[slow], "fast": _title(variants, fast), "fast_mhz": clocks[fast], "spread": spread})


def _title(variants: Mapping[str, VariantFacts], name: str) -> str:
    return variants[name].title if name in variants else name


def _lost_records(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    reasons: dict[str, list[str]] = {}
    for variant in variants.values():
        for one in variant.lost:
            if one.what == "GPU records":
                reasons.setdefault(one.reason, []).append(variant.title)
    for reason, titles in reasons.items():
        yield Caveat(CaveatKind.RECORDS_LOST, {"titles": tuple(titles), "reason": reason})
    for variant in variants.values():
        lost = variant.integrity.lost if variant.integrity and not variant.trace_loss else ()
        if lost:
            yield Caveat(CaveatKind.FORWARDS_LOST, {"title": variant.title, "forwards": len(lost)})
        if variant.kernels is not None and variant.memsets is None:
            yield Caveat(CaveatKind.MEMSETS_LOST, {"title": variant.title})


def _lost_parts(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """Parts that a child took with it when it died; those of several variants that share a reason together. GPU records are told above."""
    parts: dict[tuple[str, str], list[str]] = {}
    for part in run.lost:
        if part.what != "records":
            parts.setdefault((part.words, part.reason.rstrip(".")), []).extend([_title(variants, part.variant)] if part.variant else [])
    for (words, reason), titles in parts.items():
        yield Caveat(CaveatKind.PART_LOST, {"part": words, "titles": tuple(titles), "reason": reason})


def _above_wall(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """GPU time is a part of the wall time of the same work, so it cannot be longer."""
    for variant in variants.values():
        if variant.ok and variant.gpu_time and variant.wall_time and above_wall(variant):
            yield Caveat(CaveatKind.ABOVE_WALL, {"title": variant.title, "gpu": Seconds(variant.gpu_time.median), "wall": Seconds(variant.wall_time.median)})


def above_wall(variant: VariantFacts) -> bool:
    """Whether GPU time is longer than wall time by more than two timers of one thing may differ."""
    gpu, wall = variant.gpu_time, variant.wall_time
    return gpu is not None and wall is not None and gpu.median > wall.median * (1 + TIMER_AGREEMENT)


def _beyond_ceilings(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """No forward does the work of the visible pairs faster than the matmul ceiling, nor moves its operands faster than the copy's where no cache holds them."""
    least = least_time(run.workload, run.ceilings, run.device.l2_cache_bytes)
    names = [v.title for v in variants.values() if least and v.ok and v.gpu_time and v.gpu_time.median < least / (1 + MINIMUM_EFFECT)]
    if least and names:
        yield Caveat(CaveatKind.BEYOND_CEILINGS, {"titles": tuple(names), "least": Seconds(least)})


def _timer_notes(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """How GPU time was taken where that was not by a graph in good order; variants that share a reason together."""
    notes: dict[str, list[str]] = {}
    for variant in variants.values():
        if variant.ok and variant.gpu_time is not None and variant.timer_note:
            notes.setdefault(variant.timer_note.rstrip("."), []).append(variant.title)
    for note, titles in notes.items():
        yield Caveat(CaveatKind.TIMER_NOTE, {"titles": tuple(titles), "note": note})


def _timers(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    for variant in variants.values():
        if variant.ok and variant.gpu_time and variant.trace_gpu_time:
            ratio = variant.trace_gpu_time / variant.gpu_time.median
            if abs(ratio - 1) > TIMER_AGREEMENT:
                yield Caveat(CaveatKind.TIMERS_DISAGREE, {"title": variant.title, "traced": Seconds(variant.trace_gpu_time), "ratio": Ratio(ratio), "timed": Seconds(variant.gpu_time.median)})


def _differing(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    for variant in variants.values():
        odd = variant.integrity.differing if variant.integrity else ()
        if odd:
            yield Caveat(CaveatKind.FORWARDS_DIFFER, {"title": variant.title, "forwards": len(odd)})
        if variant.other_ops:
            yield Caveat(CaveatKind.OPS_DIFFER, {"title": variant.title, "forwards": variant.other_ops, "ops": None if variant.op_count is None else Count(variant.op_count)})


def _uncounted(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """Variants whose kernels could not be brought together with the counter tool's."""
    for variant in variants.values() if run.counters else ():
        if variant.counters_reason and (variant.named or variant.counters_reason not in (counters.NOT_SEEN, counters.NOT_ASKED)):
            yield Caveat(CaveatKind.UNCOUNTED, {"title": variant.title, "reason": variant.counters_reason})


def _occupancy(run: Run, variants: Mapping[str, VariantFacts]) -> Iterator[Caveat]:
    """Kernels for which Nsight Compute works out another theoretical occupancy than the arithmetic here."""
    found: dict[tuple[str, float, float], list[str]] = {}
    for variant in variants.values():
        for activity in variant.activities:
            if occupancy_disagrees(activity) and activity.counters and activity.occupancy:
                titles = found.setdefault((activity.short, activity.occupancy.theoretical, activity.counters.theoretical_pct or 0.0), [])
                if variant.title not in titles:
                    titles.append(variant.title)
    for (short, here, there), titles in found.items():
        yield Caveat(CaveatKind.OCCUPANCY_CONTRADICTED, {"kernel": short, "here": Percent(here), "there": Percent(there), "titles": tuple(titles)})
