"""Where a step-by-step forward spends its GPU time: in passes over the score matrix or in matmuls, and how much of it its bytes account for.

Two questions, kept apart. Which steps take the time is read off the trace. What moving the bytes accounts for is what they would take
at the rate of a plain copy, as measured in the same run; a pass that runs below that rate has time left that its bytes do not explain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ..numbers.statistics import MINIMUM_EFFECT
from ..run import Ceilings
from .bounds import Limit, asked_for, bound, moved
from .model import ActivityFacts, RunFacts, VariantFacts
from .traffic import forward_traffic

HALF = 0.5
"""Bytes account for most of a forward from this share of its GPU time on."""
SLACK = 0.05
"""A role is named if its bytes leave at least this share of the forward's time open."""
FAR_BELOW = 0.5
"""A pass is far below copy speed if its bytes account for less than this share of its time."""


class Lead(Enum):
    """Which takes more GPU time: passes over the score matrix, or matmuls. OPEN for want of bytes, CLOSE within what counts as no difference."""

    PASSES = "passes"
    MATMULS = "matmuls"
    CLOSE = "close"
    OPEN = "open"


class Weight(Enum):
    """Whether bytes at copy speed account for most of the time (see `HALF`). EDGE: counted and requested bytes disagree on it, or both are too close to tell."""

    MOST = "most of it"
    LESS = "less"
    EDGE = "on the edge"
    OPEN = "not known"


@dataclass(frozen=True)
class Slack:
    """A role whose steps take longer than their bytes would at copy speed; seconds."""

    role: str
    taken: float
    by_bytes: float

    @property
    def far_below(self) -> bool:
        return self.by_bytes < FAR_BELOW * self.taken


@dataclass(frozen=True)
class RoundTrips:
    """One forward. passes, matmuls, unknown: seconds by the trace (`unknown`: steps whose bytes nobody knows); total: of all activities.

    by_bytes: seconds of its bytes at copy speed, the counted ones where all kernels were counted; modelled: the same by requested bytes, `None` where one is unknown
    time: GPU time without the profiler, else the trace's total
    slack: time beyond the bytes, the largest first; below: the same of those steps alone that do not run near copy speed
    """

    passes: float
    matmuls: float
    unknown: float
    total: float
    by_bytes: float
    counted: bool
    modelled: float | None
    time: float
    slack: tuple[Slack, ...]
    below: tuple[Slack, ...] = ()

    @property
    def lead(self) -> Lead:
        if self.passes > self.matmuls * (1 + MINIMUM_EFFECT):
            return Lead.PASSES
        if self.passes + self.unknown > self.matmuls:
            return Lead.OPEN if self.unknown else Lead.CLOSE
        return Lead.MATMULS if self.matmuls > (self.passes + self.unknown) * (1 + MINIMUM_EFFECT) else Lead.CLOSE

    @property
    def share(self) -> float:
        """Of the GPU time that the bytes account for."""
        return self.by_bytes / self.time

    @property
    def weight(self) -> Weight:
        if self.share < HALF <= self.share + self.unknown / self.total and not self.counted:
            return Weight.OPEN
        sides = {_side(share) for share in (self.share, self.modelled / self.time if self.modelled is not None else self.share)}
        return sides.pop() if len(sides) == 1 else Weight.EDGE


def _side(share: float) -> Weight:
    if abs(share - HALF) < MINIMUM_EFFECT * HALF:
        return Weight.EDGE
    return Weight.MOST if share > HALF else Weight.LESS


def round_trips(facts: RunFacts, variant: VariantFacts) -> RoundTrips | None:
    """Splits one forward; `None` without GPU activities or without a copy ceiling."""
    if not variant.activities or facts.ceilings is None or not facts.ceilings.copy_bytes_per_s:
        return None
    matmuls = [a for a in variant.activities if a.role == "matmul"]
    others = [a for a in variant.activities if a.role != "matmul"]
    passes = [a for a in others if (moved(a) or 0.0) >= facts.workload.score_elements]
    traffic, asked, rate = forward_traffic(variant), asked_for(variant), facts.ceilings.copy_bytes_per_s
    slow = [a for a in (*passes, *matmuls) if bound(a, facts.ceilings).limit is not Limit.HBM]
    total, known = _seconds(variant.activities), sum(moved(a) or 0.0 for a in variant.activities)
    return RoundTrips(
        passes=_seconds(passes), matmuls=_seconds(matmuls), unknown=_seconds([a for a in others if moved(a) is None]), total=total,
        by_bytes=(traffic.total if traffic else known) / rate, counted=traffic is not None, modelled=None if asked is None else asked / rate,
        time=variant.gpu_time.median if variant.gpu_time else total, slack=_slack([*passes, *matmuls], total, facts.ceilings),
        below=_slack(slow, total, facts.ceilings))


def _slack(activities: Sequence[ActivityFacts], total: float, ceilings: Ceilings) -> tuple[Slack, ...]:
    """Roles with time left beyond their bytes; a step whose bytes are not known has none."""
    roles: dict[str, list[ActivityFacts]] = {}
    for activity in activities:
        if moved(activity) is not None:
            roles.setdefault(activity.role, []).append(activity)
    found = [Slack(role, _seconds(alike), sum(moved(a) or 0.0 for a in alike) / (ceilings.copy_bytes_per_s or 1.0)) for role, alike in roles.items()]
    return tuple(sorted((one for one in found if one.taken - one.by_bytes >= SLACK * total), key=lambda one: one.by_bytes - one.taken))


def _seconds(activities: Sequence[ActivityFacts]) -> float:
    return sum(activity.duration for activity in activities)
