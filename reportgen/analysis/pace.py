"""Which limit a forward is at: the CPU that launches, memory, arithmetic, or instructions and latency. One test for each, in this order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from .bounds import limits_told
from .model import RunFacts, VariantFacts
from .roofline import arithmetic_share
from .round_trips import HALF, Slack, round_trips

HOST_BOUND = 0.8
"""The CPU sets the pace where a call costs it at least this share of the wall time."""


class Limit(Enum):
    """What to work on. UNKNOWN where bytes or work are not known."""

    OVERHEAD = "overhead"
    MEMORY = "memory"
    ARITHMETIC = "arithmetic"
    INSTRUCTIONS = "instructions or latency"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Pace:
    """A variant at its limit. Shares of 1, `None` where not known.

    host: host time ÷ wall time; bytes: its bytes at copy speed ÷ GPU time; arithmetic: its FLOP at matmul speed ÷ GPU time
    below: steps that do not run near copy speed and take longer than their bytes explain, where it has several kernels
    """

    variant: VariantFacts
    limit: Limit
    host: float | None
    bytes: float | None
    arithmetic: float | None
    below: tuple[Slack, ...] = ()


def pace(facts: RunFacts, variant: VariantFacts) -> Pace:
    """Tests overhead first: a GPU that waits for the CPU shows no limit of its own."""
    host_time, wall, gpu = variant.host_time, variant.wall_time, variant.gpu_time
    host = host_time.median / wall.median if facts.host_told and host_time and wall else None
    trips = round_trips(facts, variant) if limits_told(facts, variant) else None
    known = trips if trips and (trips.counted or not trips.unknown) and _bytes_known(variant) else None
    by_bytes, flop = known.share if known else None, arithmetic_share(facts, variant)
    waits = host is not None and host >= HOST_BOUND and wall is not None and (gpu is None or wall.low > gpu.high)
    several = sum(a.kind == "kernel" for a in variant.activities) > 1
    return Pace(variant, Limit.OVERHEAD if waits else _of_gpu(by_bytes, flop), host, by_bytes, flop, known.below if known and several else ())


def _bytes_known(variant: VariantFacts) -> bool:
    return not any(a.role == "matmul" and a.requested_bytes is None and a.counters is None for a in variant.activities)


def _of_gpu(by_bytes: float | None, flop: float | None) -> Limit:
    """What accounts for half of the time or more; bytes and arithmetic may overlap, so both can."""
    if by_bytes is not None and by_bytes >= HALF and by_bytes >= (flop or 0.0):
        return Limit.MEMORY
    if flop is not None and flop >= HALF:
        return Limit.ARITHMETIC
    return Limit.UNKNOWN if by_bytes is None or flop is None else Limit.INSTRUCTIONS


def at_limits(found: Sequence[Pace]) -> tuple[tuple[Limit, tuple[Pace, ...]], ...]:
    """Each limit that some variant is at, in the order of the tests, with those variants: the one decision that every page about limits says."""
    groups = ((limit, tuple(one for one in found if one.limit is limit)) for limit in Limit)
    return tuple((limit, held) for limit, held in groups if held)


def paces(facts: RunFacts) -> tuple[Pace, ...]:
    """Every variant that ran right and was timed."""
    return tuple(pace(facts, variant) for variant in facts.variants.values() if variant.ok and variant.times)
