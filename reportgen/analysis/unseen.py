"""What a policy and torch's own pick lose at calls that the map never saw."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from ..shapes.record import Header, ShapeMap
from .maps import Standing, judged
from .policy import Policy

VERSIONS = ("torch", "cuda", "hip", "cudnn")


@dataclass(frozen=True)
class Unseen:
    """calls: at which both are known; shares of the fastest time. without: further calls at which a choice gives no right result in a known time"""

    calls: int
    own_mean: float
    own_worst: float
    default_mean: float
    default_worst: float
    without: int = 0


def unseen(policy: Policy, measured: ShapeMap | None) -> Unseen | None:
    """The regret at the measured calls that are not in the policy's map; `None` where there is none, or another device or version measured them."""
    if measured is None or _made_by(measured.header) != _made_by(policy.facts.header):
        return None
    spots = [judged(point, policy.facts.threshold) for point in measured.points if point.call not in policy.facts.by_call]
    decided = [spot for spot in spots if spot.standing not in (Standing.NOBODY, Standing.UNDECIDED)]
    known = [(own, default) for spot in decided if (own := policy.loses(spot)) is not None and (default := spot.loss) is not None]
    if not known:
        return None
    ours, theirs = [pair[0] for pair in known], [pair[1] for pair in known]
    return Unseen(len(known), fmean(ours), max(ours), fmean(theirs), max(theirs), len(decided) - len(known))


def _made_by(header: Header) -> tuple[str | None, ...]:
    return (header.device.name, *(header.software.get(name) for name in VERSIONS))
