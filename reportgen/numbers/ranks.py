"""What follows from ranks alone: critical values, the interval of a shift, the smallest shift that counts.

All three belong to the exact Mann–Whitney test of `statistics.changed`: the interval leaves out 1
exactly where the test says p < alpha, and the smallest detectable shift is the one at which it does.
The interval is that of J. L. Hodges and E. L. Lehmann, Ann. Math. Statist. 34 (1963), 598–611.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb, inf

from .statistics import MINIMUM_EFFECT, Estimate

ALPHA = 0.01


@cache
def _arrangements(first: int, second: int, u: int) -> int:
    """In how many orders of `first` and `second` values exactly `u` pairs have the first's value larger."""
    if u < 0:
        return 0
    if first == 0 or second == 0:
        return 1 if u == 0 else 0
    # The largest value of all is either one of the first sample (it beats all of the second) or not.
    return _arrangements(first - 1, second, u - second) + _arrangements(first, second - 1, u)


@cache
def critical_u(first: int, second: int, alpha: float = ALPHA) -> int | None:
    """The largest U with an exact two-sided p below `alpha`, for samples without ties.

    U is the smaller of the two counts of pairs. `None` where no order of the values is rare enough:
    three against three can never reach 0.05.

    >>> critical_u(7, 7), critical_u(3, 3, 0.05)
    (4, None)
    """
    total, seen, found = comb(first + second, first), 0, None
    for u in range(first * second // 2 + 1):
        seen += _arrangements(first, second, u)
        if 2 * seen / total >= alpha:
            break
        found = u
    return found


def interval(before: Estimate, after: Estimate, alpha: float = ALPHA) -> tuple[float, float] | None:
    """The ratio after ÷ before as an interval with confidence of at least 1 − `alpha`.

    `None` where the samples are too few for that confidence.
    """
    limit = critical_u(len(before.samples), len(after.samples), alpha)
    if limit is None or min(before.samples) <= 0:
        return None
    ratios = sorted(new / old for new in after.samples for old in before.samples)
    return ratios[limit], ratios[-1 - limit]


def detectable(samples: Sequence[float], floor: float = 0.0, alpha: float = ALPHA) -> float:
    """The smallest relative slowdown that a rerun with the same scatter would be called changed for.

    0.03 means 3 %. Infinite where the samples are too few for any shift to be called one.
    """
    limit = critical_u(len(samples), len(samples), alpha)
    if limit is None or min(samples) <= 0:
        return inf
    # Scaling by f leaves at most `limit` pairs in the old order once f passes this ratio.
    ratios = sorted((a / b for a in samples for b in samples), reverse=True)
    return max(MINIMUM_EFFECT, floor, ratios[limit] - 1)
