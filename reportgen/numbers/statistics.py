"""What repeated measurements allow one to say. Pure functions on process medians.

The unit of analysis is the median of one fresh process; a run has seven of them. Inside a run
the variants share processes, so comparisons are paired. Between runs they are not, so an exact
Mann–Whitney test is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from statistics import median
from typing import Literal

PROCESSES = 7
MINIMUM_EFFECT = 0.02
"""Below this relative difference nothing is called a difference, however steady."""
MAGNITUDE_TOLERANCE = 0.15


@dataclass(frozen=True)
class Estimate:
    """A measured quantity: one value per fresh process, in base units, in process order."""

    samples: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.samples:
            raise ValueError("an estimate needs at least one sample")

    @property
    def median(self) -> float:
        return median(self.samples)

    @property
    def low(self) -> float:
        return min(self.samples)

    @property
    def high(self) -> float:
        return max(self.samples)

    @property
    def spread(self) -> float:
        """(high − low) ÷ median; 0.02 means the processes lie within 2 %."""
        return (self.high - self.low) / self.median if self.median else 0.0


@dataclass(frozen=True)
class Comparison:
    """`first ÷ second`, process by process.

    winner: `first` or `second` (the smaller quantity), or `tie`
    ratio: the per-process ratios first ÷ second
    threshold: the smallest relative difference that would have counted
    """

    winner: Literal["first", "second", "tie"]
    ratio: Estimate
    threshold: float


def compare(first: Estimate, second: Estimate, floor: float = 0.0) -> Comparison:
    """Which of two paired quantities is smaller.

    A side wins if every per-process ratio lies on its side (one-sided p = 1/2ⁿ, 1/128 for seven)
    and the median ratio is beyond `max(2 %, floor)`. Fewer than seven pairs can only tie.

    Raises:
        ValueError: the estimates have different numbers of processes.
    """
    if len(first.samples) != len(second.samples):
        raise ValueError(f"{len(first.samples)} and {len(second.samples)} processes cannot be paired")
    threshold = max(MINIMUM_EFFECT, floor)
    ratio = Estimate(tuple(a / b for a, b in zip(first.samples, second.samples)))
    winner: Literal["first", "second", "tie"] = "tie"
    if len(ratio.samples) >= PROCESSES:
        if ratio.high < 1 and ratio.median <= 1 / (1 + threshold):
            winner = "first"
        elif ratio.low > 1 and ratio.median >= 1 + threshold:
            winner = "second"
    return Comparison(winner, ratio, threshold)


def magnitude(ratio: Estimate, published: float) -> Literal["holds", "differs", "straddles"]:
    """Whether a ratio's interval lies inside, outside or across ±15 % of a published value."""
    low, high = published * (1 - MAGNITUDE_TOLERANCE), published * (1 + MAGNITUDE_TOLERANCE)
    if low <= ratio.low and ratio.high <= high:
        return "holds"
    if ratio.high < low or ratio.low > high:
        return "differs"
    return "straddles"


def mann_whitney_p(first: Sequence[float], second: Sequence[float]) -> float:
    """Exact two-sided p of the Mann–Whitney U test; ties get mid-ranks.

    Enumerates every assignment of the pooled ranks (3,432 for seven against seven). The source of
    the test is H. B. Mann and D. R. Whitney, Ann. Math. Statist. 18 (1947), 50–60.
    """
    pooled = sorted([*first, *second])
    # doubled mid-ranks are integers, so sums compare exactly
    rank = {v: pooled.index(v) * 2 + pooled.count(v) + 1 for v in pooled}
    ranks = [rank[v] for v in pooled]
    n = len(first)
    expected = n * (len(pooled) + 1)
    observed = abs(sum(rank[v] for v in first) - expected)
    extreme = sum(1 for chosen in combinations(ranks, n) if abs(sum(chosen) - expected) >= observed)
    return extreme / comb(len(pooled), n)


def changed(before: Estimate, after: Estimate, floor: float = 0.0, alpha: float = 0.01) -> bool:
    """True if two runs differ in a quantity: exact p < `alpha` and a shift beyond max(2 %, floor)."""
    shift = abs(after.median / before.median - 1)
    return shift >= max(MINIMUM_EFFECT, floor) and mann_whitney_p(before.samples, after.samples) < alpha
