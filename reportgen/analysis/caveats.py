"""What a reader must know before trusting this run's timings: each caveat follows from the run's own record."""

from __future__ import annotations

from statistics import median
from typing import Mapping

from ..run import Run
from ..saying.units import Count, Percent, Ratio, Seconds, listed, plural, significant
from . import counters
from .model import VariantFacts
from .residency import occupancy_disagrees

TIMER_AGREEMENT = 0.05
CLOCK_AGREEMENT = 0.03


def run_caveats(run: Run, variants: Mapping[str, VariantFacts]) -> tuple[str, ...]:
    """Sentences, most serious first; empty if nothing is to be said."""
    return tuple([*_neighbours(run), *_throttling(run), *_clock_spread(run), *_lost_records(variants), *_above_wall(variants), *_timer_notes(variants), *_timers(variants), *_differing(variants),
                  *_uncounted(run, variants), *_occupancy(variants)])


def _neighbours(run: Run) -> list[str]:
    others = run.clocks.other_processes
    if not others:
        return []
    return [f"{plural(others, 'other compute process', 'other compute processes')} used this GPU during the run, so every time here is suspect."]


def _throttling(run: Run) -> list[str]:
    samples = [sample for sample in run.clocks.samples if sample.sm_mhz]
    held = [sample for sample in samples if sample.throttle]
    if not held:
        return []
    reasons = sorted({reason for sample in held for reason in sample.throttle or ()})
    lowest, highest = (f"{Count(round(pick(s.sm_mhz for s in samples)))} MHz" for pick in (min, max))
    return [f"The clocks were held back ({listed(reasons)}) in {Count(len(held))} of {Count(len(samples))} samples; the SM clock ran between {lowest} and {highest}."]


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


def _clock_spread(run: Run) -> list[str]:
    spread = clock_spread(run)
    if spread <= CLOCK_AGREEMENT:
        return []
    clocks = clock_medians(run)
    slow, fast = min(clocks, key=clocks.__getitem__), max(clocks, key=clocks.__getitem__)
    return [f"The SM clock differed between variants (median {significant(clocks[slow], 4)} MHz during {slow}, "
            f"{significant(clocks[fast], 4)} MHz during {fast}); margins smaller than {significant(spread * 100, 2)} % are treated as noise."]


def _lost_records(variants: Mapping[str, VariantFacts]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for variant in variants.values():
        for one in variant.lost:
            if one.what == "GPU records":
                reasons.setdefault(one.reason, []).append(variant.title)
    said = [f"Nothing that {listed(titles)} {'does' if len(titles) == 1 else 'do'} on the GPU is counted here: {reason}. Record the run again."
            for reason, titles in reasons.items()]
    for variant in variants.values():
        lost = variant.integrity.lost if variant.integrity and not variant.trace_loss else ()
        if lost:
            said.append(f"{variant.title}: the profiler lost GPU records of {plural(len(lost), 'recorded forward')}, which {'was' if len(lost) == 1 else 'were'} left out.")
        if variant.kernels is not None and variant.memsets is None:
            said.append(f"{variant.title}: its memset calls left no GPU record, so memsets are not counted and their time is missing.")
    return said


def _above_wall(variants: Mapping[str, VariantFacts]) -> list[str]:
    """GPU time is a part of the wall time of the same work, so it cannot be longer."""
    return [f"{variant.title}: its GPU time ({Seconds(variant.gpu_time.median)}) is above the wall time of the same work ({Seconds(variant.wall_time.median)}), "
            "which cannot be: one of the two was disturbed while it was taken." for variant in variants.values() if above_wall(variant)]  # type: ignore[union-attr]


def above_wall(variant: VariantFacts) -> bool:
    """Whether GPU time is longer than wall time by more than two timers of one thing may differ."""
    return bool(variant.gpu_time and variant.wall_time) and variant.gpu_time.median > variant.wall_time.median * (1 + TIMER_AGREEMENT)  # type: ignore[union-attr]


def _timer_notes(variants: Mapping[str, VariantFacts]) -> list[str]:
    """How GPU time was taken where that was not by a graph in good order; variants that share a reason in one sentence."""
    notes: dict[str, list[str]] = {}
    for variant in variants.values():
        if variant.ok and variant.gpu_time is not None and variant.timer_note:
            notes.setdefault(variant.timer_note.rstrip("."), []).append(variant.title)
    return [f"GPU time of {listed(titles)}: {note}." for note, titles in notes.items()]


def _timers(variants: Mapping[str, VariantFacts]) -> list[str]:
    said = []
    for variant in variants.values():
        if variant.gpu_time and variant.trace_gpu_time:
            ratio = variant.trace_gpu_time / variant.gpu_time.median
            if abs(ratio - 1) > TIMER_AGREEMENT:
                said.append(f"{variant.title}: the activities in the trace add up to {Seconds(variant.trace_gpu_time)}, "
                            f"{Ratio(ratio)} the {Seconds(variant.gpu_time.median)} per forward of the timed replay; the replay is the number that decides claims.")
    return said


def _differing(variants: Mapping[str, VariantFacts]) -> list[str]:
    said = []
    for variant in variants.values():
        odd = variant.integrity.differing if variant.integrity else ()
        if odd:
            said.append(f"{variant.title}: {plural(len(odd), 'recorded forward')} ran a different list of activities than the others and was left out of the medians.")
        if variant.other_ops:
            said.append(f"{variant.title}: {plural(variant.other_ops, 'recorded forward')} dispatched another list of CPU ops than the {Count(variant.op_count or 0)} that are counted here.")
    return said


def _uncounted(run: Run, variants: Mapping[str, VariantFacts]) -> list[str]:
    """Variants whose kernels could not be brought together with the counter tool's."""
    if not run.counters:
        return []
    return [f"{variant.title}: its hardware counters are left out, because {variant.counters_reason}." for variant in variants.values()
            if variant.counters_reason and (variant.named or variant.counters_reason != counters.NOT_SEEN)]


def _occupancy(variants: Mapping[str, VariantFacts]) -> list[str]:
    """Kernels for which Nsight Compute works out another theoretical occupancy than the arithmetic here."""
    found: dict[str, list[str]] = {}
    for variant in variants.values():
        for activity in variant.activities:
            if occupancy_disagrees(activity) and activity.counters and activity.occupancy:
                worked_out, counted = Percent(activity.occupancy.theoretical), Percent(activity.counters.theoretical_pct or 0.0)
                titles = found.setdefault(f"The occupancy of `{activity.short}` works out at {worked_out} from its launch here, and at {counted} in Nsight Compute", [])
                if variant.title not in titles:
                    titles.append(variant.title)
    return [f"{sentence} ({listed(titles)}): trust Nsight Compute, and mistrust the arithmetic here for this kernel." for sentence, titles in found.items()]
