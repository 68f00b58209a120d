"""What limits a GPU activity: HBM, arithmetic, or neither, by ceilings that the same run measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from ..run import Ceilings
from .kernels import in_tf32, tensor_cores
from .model import ActivityFacts, RunFacts, VariantFacts
from .patterns.roles import MULTIPLIES
from .traffic import CacheDoubt, activity_dram_bytes, forward_traffic

ENOUGH = 0.60
"""An activity is bound by what it drives at 60 % or more of the measured ceiling (the claims' rule)."""
AGREEMENT = 0.10
"""Requested bytes stand where counted ones differ from them by no more; else the count decides."""
CACHES_FULL = 2
"""Below this multiple of the last-level cache the score matrix may stay in it, and HBM traffic says nothing."""

NEAR = 0.05
"""An activity this close to the line (in shares of the ceiling) is named: a little noise or another model could put it on the other side."""
WORTH_NAMING = 0.01
"""A role with less of the time is left out of sentences."""


class Limit(Enum):
    """What an activity is bound by; UNKNOWN for want of bytes, FLOP or a ceiling."""

    HBM = "HBM"
    ARITHMETIC = "arithmetic"
    NEITHER = "neither"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Bound:
    """An activity and its limit. Rates per second; shares relative to the ceiling (1.0 reaches it).

    by_count: its limit by counted bytes alone, whose writes are lower bounds; `None` without counters
    """

    activity: ActivityFacts
    limit: Limit
    byte_rate: float | None = None
    byte_share: float | None = None
    flop_rate: float | None = None
    flop_share: float | None = None
    by_count: Limit | None = None


def bound(activity: ActivityFacts, ceilings: Ceilings) -> Bound:
    """Classifies one activity; `unknown` where its bytes, FLOP or unit are not known well enough."""
    bytes_moved, counted = moved(activity), activity_dram_bytes(activity) if activity.kind == "kernel" else None
    if bytes_moved is None or activity.duration <= 0 or not ceilings.copy_bytes_per_s:
        return Bound(activity, Limit.UNKNOWN)
    byte_rate = bytes_moved / activity.duration
    byte_share = byte_rate / ceilings.copy_bytes_per_s
    flop_rate = activity.flop / activity.duration if activity.flop else None
    low, high = _flop_shares(activity, flop_rate, ceilings)

    def limit(share: float) -> Limit:
        if share >= ENOUGH:
            return Limit.HBM
        if low is not None and low >= ENOUGH:
            return Limit.ARITHMETIC
        unsure = (high is not None and high >= ENOUGH) or (low is None and activity.role in MULTIPLIES)
        return Limit.UNKNOWN if unsure else Limit.NEITHER

    return Bound(activity, limit(byte_share), byte_rate, byte_share, flop_rate, low,
                 None if counted is None else limit(counted / activity.duration / ceilings.copy_bytes_per_s))


def moved(activity: ActivityFacts) -> float | None:
    """Bytes that decide: the requested ones where a count confirms them or there is none, else the counted ones."""
    asked, counted = requested(activity), activity_dram_bytes(activity)
    return counted if counted is not None and (asked is None or apart(activity)) else asked


def apart(activity: ActivityFacts) -> bool:
    """Whether counted and requested bytes of a kernel differ by more than a tenth."""
    asked, counted = requested(activity), activity_dram_bytes(activity)
    return activity.kind == "kernel" and asked is not None and counted is not None and abs(counted - asked) > AGREEMENT * asked


def requested(activity: ActivityFacts) -> float | None:
    """Bytes that the activity asks for: modelled, or what the trace says of a copy or memset."""
    if activity.requested_bytes is not None:
        return activity.requested_bytes
    if activity.bytes is None:
        return None
    return activity.bytes * (2.0 if activity.kind == "memcpy" else 1.0)


def _flop_shares(activity: ActivityFacts, rate: float | None, ceilings: Ceilings) -> tuple[float | None, float | None]:
    """Smallest and largest share of a matmul ceiling that the name leaves possible."""
    if rate is None:
        return None, None
    shares = [rate / ceiling for ceiling in matmul_ceilings(activity, ceilings)]
    return (min(shares), max(shares)) if shares else (None, None)


def matmul_ceilings(activity: ActivityFacts, ceilings: Ceilings) -> list[float]:
    """The ceilings of the units that an activity may multiply on: one where that is known, none for TF32, in which no run measures a matmul."""
    if in_tf32(activity):
        return []
    per_unit = {"yes": [ceilings.matmul_flop_per_s], "no": [ceilings.fp32_flop_per_s]}
    return [ceiling for ceiling in per_unit.get(tensor_cores(activity), [ceilings.matmul_flop_per_s, ceilings.fp32_flop_per_s]) if ceiling]


def bounds(variant: VariantFacts, ceilings: Ceilings) -> tuple[Bound, ...]:
    return tuple(bound(activity, ceilings) for activity in variant.activities)


def shares(found: Sequence[Bound]) -> dict[Limit, float]:
    """Limit → its share of the activities' time (they add up to 1), in a fixed order."""
    total = sum(one.activity.duration for one in found)
    return {limit: sum(one.activity.duration for one in found if one.limit is limit) / total if total else 0.0 for limit in Limit}


def near_the_line(found: Sequence[Bound]) -> tuple[Bound, ...]:
    """Activities worth naming whose share of the copy ceiling lies close to the line on either side."""
    total = sum(one.activity.duration for one in found)
    return tuple(one for one in found if one.byte_share is not None and abs(one.byte_share - ENOUGH) <= NEAR and one.activity.duration >= WORTH_NAMING * total)


def counted_share(found: Sequence[Bound]) -> float | None:
    """HBM-bound share of the time by counted bytes alone; `None` unless every kernel was counted."""
    if not found or any(one.by_count is None for one in found if one.activity.kind == "kernel"):
        return None
    total = sum(one.activity.duration for one in found)
    return sum(one.activity.duration for one in found if (one.by_count or one.limit) is Limit.HBM) / total


def cached(facts: RunFacts) -> CacheDoubt | None:
    """Why HBM traffic of the score matrix cannot be told on this device, or `None` where it can."""
    cache = facts.device.l2_cache_bytes
    if not cache:
        return CacheDoubt.SIZE_UNKNOWN
    return CacheDoubt.MAY_HOLD if facts.workload.score_bytes < CACHES_FULL * cache else None


def limits_told(facts: RunFacts, variant: VariantFacts) -> bool:
    """Whether the bytes of a variant's steps say what limits them: counted ones do, requested ones only where the cache cannot hold the score matrix."""
    return cached(facts) is None or forward_traffic(variant) is not None


def asked_for(variant: VariantFacts) -> float | None:
    """Requested bytes of one forward; `None` unless every activity's are known."""
    parts = [requested(activity) for activity in variant.activities]
    return None if None in parts else float(sum(part or 0.0 for part in parts))


def weighty(activity: ActivityFacts, variant: VariantFacts) -> bool:
    """Whether the activities of this role that disagree take enough time to be named."""
    total = sum(a.duration for a in variant.activities)
    alike = [a for a in variant.activities if a.role == activity.role and apart(a) == apart(activity)]
    return sum(a.duration for a in alike) >= WORTH_NAMING * total


def largest(found: Sequence[Bound], but: Limit | None = None) -> tuple[Limit, float]:
    """The limit with the largest share of the time, and that share; `but`: a limit left out."""
    by_limit = {limit: share for limit, share in shares(found).items() if limit is not but}
    limit = max(by_limit, key=lambda one: by_limit[one])
    return limit, by_limit[limit]
