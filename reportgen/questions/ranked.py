"""How a ranking is said: times in order, and who might be faster for want of a comparable time."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import RunFacts
from ..analysis.ranking import Ranking, Rival
from ..saying.units import Seconds, listed

TIMERS = {"cuda-graph": "a CUDA graph", "queued-events": "queued events", "wall": "the wall clock"}
"""A run's word for a timer, as a sentence calls it."""


def timer_said(timer: str | None) -> str:
    return TIMERS.get(timer or "", timer or "an unrecorded timer")


def times_said(facts: RunFacts, ranking: Ranking, names: Sequence[str], brackets: bool = True) -> str:
    """`SDPA flash (93.2 µs) and SDPA cuDNN (59.1 µs)`, medians in the order given."""
    said = [(facts.variants[name].title, Seconds(facts.variants[name].times[ranking.quantity.name].median)) for name in names]
    return listed([f"{title} ({time})" if brackets else f"{title} {time}" for title, time in said])


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
