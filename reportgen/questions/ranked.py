"""How a ranking is said: times in order, what stands between them, who is not ranked and why, and what timed it."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import RunFacts, State, VariantFacts
from ..analysis.ranking import Pair, Ranking, Rival
from ..numbers.statistics import Estimate
from ..saying.units import Ratio, Seconds, extent, listed, number_word, plural, verb
from .model import Because
from .needs import refusal, share

TIMERS = {"cuda-graph": "a CUDA graph", "queued-events": "queued events", "wall": "the wall clock"}
"""A run's word for a timer, as a sentence calls it."""


def timer_said(timer: str | None) -> str:
    return TIMERS.get(timer or "", timer or "an unrecorded timer")


def times_said(facts: RunFacts, ranking: Ranking, names: Sequence[str], brackets: bool = True) -> str:
    """`SDPA flash (93.2 µs) and SDPA cuDNN (59.1 µs)`, medians in the order given."""
    said = [(facts.variants[name].title, Seconds(facts.variants[name].times[ranking.quantity.name].median)) for name in names]
    return listed([f"{title} ({time})" if brackets else f"{title} {time}" for title, time in said])


UNSTEADY = Because("apart", "The processes disagree: from one to another this ratio changes by up to {apart}, so no median sums them up.")
"""A caveat of a pair whose ratio is told: `apart` is its `disagreement`."""


def whiskers(facts: RunFacts, quantity: str, names: Sequence[str]) -> str:
    """`; whiskers span the seven processes`, for a chart's caption; empty where there is one."""
    counts = {len(time.samples) for name in names if name in facts.variants and (time := facts.variants[name].time(quantity))}
    return f"; whiskers span the {number_word(max(counts))} processes" if counts and max(counts) > 1 else ""


def interval(time: Estimate | None) -> str | None:
    """`59 µs (58.7 µs to 59.3 µs)`: the median of the processes with the smallest and the largest; the median alone where the three read alike."""
    if time is None:
        return None
    middle, low, high = (str(Seconds(value)) for value in (time.median, time.low, time.high))
    return middle if low == high else f"{middle} ({low} to {high})"


def over_processes(ratio: Estimate, told: bool = True) -> str:
    """`2.75× to 2.79×`, the smallest to the largest of the processes; where these read alike `in every process`.

    told: the sentence has given the median already; else the one number stands before `in every process`
    """
    low, high = str(Ratio(ratio.low)), str(Ratio(ratio.high))
    if low != high:
        return f"{low} to {high}"
    where = "in every process" if len(ratio.samples) > 1 else "in one process"
    return where if told else f"{low} {where}"


def too_few(processes: int) -> str:
    """`timed in 1 process only, too few to judge`: what every page says of a variant that took part in fewer processes than a verdict needs."""
    return f"timed in {plural(processes, 'process', 'processes')} only, too few to judge"


def ranges_said(facts: RunFacts, quantity: str, names: Sequence[str]) -> str:
    """`SDPA flash 2.45 to 3.96 ms and SDPA cuDNN 66.1 to 103 ms`: smallest to largest, where a median would say too much."""
    return listed([f"{facts.variants[name].title} {extent(time.low, time.high)}" for name in names if (time := facts.variants[name].time(quantity))])


def disagreement(pairs: Sequence[Pair]) -> Ratio | None:
    """By which factor the per-process ratios of the unsteady ones among `pairs` lie apart at most; `None` where all are steady."""
    apart = [pair.ratio.high / pair.ratio.low for pair in pairs if pair.unsteady and pair.ratio]
    return Ratio(max(apart)) if apart else None


_BECAME = {
    State.WRONG: ("gave a wrong result", "gave wrong results"),
    State.REFUSED: ("did not run here", "did not run here"),
    State.FAILED: ("broke off here", "broke off here"),
    State.NOT_TRIED: ("was not tried in this run", "were not tried in this run"),
    State.RECORDED_BEFORE: ("is newer than this run", "are newer than this run"),
}


def states_said(facts: RunFacts, names: Sequence[str]) -> str:
    """`SDPA flash did not run here; SDPA math was not tried in this run`: never one state as another. Empty where all are right."""
    by_state = {state: [name for name in names if facts.variants[name].state is state] for state in _BECAME}
    return "; ".join(f"{titles_said(facts, found)} {verb(found, *_BECAME[state])}" for state, found in by_state.items() if found)


def wrong_said(variant: VariantFacts) -> str:
    """`SDPA cuDNN (relative error 30 %, allowed 0.48 %)`; the recorded reason where there is no error."""
    if variant.relative_error is None or variant.allowed_error is None:
        return f"{variant.title} ({refusal(variant.reason or variant.state.value)})"
    return f"{variant.title} (relative error {share(variant.relative_error)}, allowed {share(variant.allowed_error)})"


def timers_used(facts: RunFacts, names: Sequence[str]) -> str | None:
    """What took the GPU times of those that have one: `replays of a CUDA graph`, or each with its variants where timers are mixed."""
    by_timer: dict[str | None, list[str]] = {}
    for name in names:
        if name in facts.variants and facts.variants[name].ok and facts.variants[name].gpu_time:
            by_timer.setdefault(facts.variants[name].timer, []).append(name)
    if len(by_timer) < 2:
        return next((_taken_by(timer) for timer in by_timer), None)
    return listed([f"{_taken_by(timer)} for {titles_said(facts, timed)}" for timer, timed in by_timer.items()])


def _taken_by(timer: str | None) -> str:
    return {"cuda-graph": "graph replays", "queued-events": "forwards between queued events"}.get(timer or "", f"forwards timed by {timer_said(timer)}")


def rivals_said(facts: RunFacts, ranking: Ranking, rivals: Sequence[Rival]) -> str:
    """`SDPA cuDNN ran and has no GPU time (the queue ran dry)`; empty where there is none."""
    return listed([f"{facts.variants[rival.variant].title} {_rival(ranking, rival)}" for rival in rivals])


def _rival(ranking: Ranking, rival: Rival) -> str:
    if rival.timer is None:
        return f"ran and has no {ranking.quantity.label}" + (f" ({rival.reason.rstrip('.')})" if rival.reason else "")
    leader = next((timer for timer, names in ranking.timers.items() if ranking.order[0] in names), None)
    return f"was timed by {timer_said(rival.timer)}, and {'the fastest of the others' if ranking.order else 'nobody'} by {timer_said(leader)}"


def titles_said(facts: RunFacts, names: Sequence[str]) -> str:
    """`SDPA flash and SDPA cuDNN`."""
    return listed([facts.variants[name].title for name in names])
