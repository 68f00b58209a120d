"""How near a GPU activity comes to the speed of a plain copy or of a plain matmul, both measured in the same run."""

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
"""An activity runs near a ceiling from 60 % of it on. A convention: it sorts activities in tables and charts, and no verdict rests on it."""
AGREEMENT = 0.10
"""Requested bytes stand where counted ones differ from them by no more; else the count decides."""
CACHES_FULL = 2
"""Below this multiple of the last-level cache the score matrix may stay in it, and HBM traffic says nothing."""

WORTH_NAMING = 0.01
"""A role with less of the time is left out of sentences."""


class Limit(Enum):
    """Which ceiling an activity runs near; UNKNOWN for want of bytes, FLOP or a ceiling."""

    HBM = "HBM"
    ARITHMETIC = "arithmetic"
    NEITHER = "neither"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Bound:
    """An activity and its limit. Rates per second; shares relative to the ceiling (1.0 reaches it).

    """

    activity: ActivityFacts
    limit: Limit
    byte_rate: float | None = None
    byte_share: float | None = None
    flop_rate: float | None = None
    flop_share: float | None = None


def bound(activity: ActivityFacts, ceilings: Ceilings) -> Bound:
    """Classifies one activity; `unknown` where its bytes, FLOP or unit are not known well enough."""
    bytes_moved = moved(activity)
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

    return Bound(activity, limit(byte_share), byte_rate, byte_share, flop_rate, low)


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
