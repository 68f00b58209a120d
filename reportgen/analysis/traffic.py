"""What crossed to memory and what was computed in one forward, by hardware counters; and what the cache allows one to conclude.

Counters see kernels only. Copies and memsets add the bytes that the trace gives them: a copy reads and
writes its bytes, a memset writes them. Counted writes of one kernel are a lower bound: lines that it wrote
may still lie in the cache when its counting stops, and are counted with the kernel that pushes them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..run import Ceilings
from ..run.workload import Workload
from .model import ActivityFacts, RunFacts, VariantFacts
from .patterns.roles import MULTIPLIES

OPERANDS_BEYOND_CACHE = 4
"""DRAM traffic ÷ operand bytes means something only from this multiple of the last-level cache on."""


class CacheDoubt(Enum):
    """Why traffic to memory says nothing: the last-level cache may hold what is asked for, or nobody recorded its size."""

    MAY_HOLD = "fits-in-cache"
    SIZE_UNKNOWN = "cache-unknown"


@dataclass(frozen=True)
class Traffic:
    """DRAM traffic in bytes. from_trace: the part of it that no counter saw, from the size of copies and memsets."""

    read: float
    written: float
    from_trace: float = 0.0

    @property
    def total(self) -> float:
        return self.read + self.written


@dataclass(frozen=True)
class Work:
    """FLOP of matrix products. counted: all of it by the hardware; else modelled from the shapes where not counted."""

    flop: float
    counted: bool


@dataclass(frozen=True)
class Best:
    """Seconds that no forward of this workload can undercut on this device, by either ceiling."""

    by_bytes: float
    by_flop: float

    @property
    def time(self) -> float:
        return max(self.by_bytes, self.by_flop)


def activity_traffic(activity: ActivityFacts) -> Traffic | None:
    """Bytes of one activity; `None` for a kernel that was not counted, or a copy whose size is not known."""
    if activity.kind == "memcpy":
        return None if activity.bytes is None else Traffic(activity.bytes, activity.bytes, 2.0 * activity.bytes)
    if activity.kind == "memset":
        return None if activity.bytes is None else Traffic(0.0, activity.bytes, activity.bytes)
    counted = activity.counters
    if counted is None or counted.dram_read_bytes is None or counted.dram_write_bytes is None:
        return None
    return Traffic(counted.dram_read_bytes, counted.dram_write_bytes)


def forward_traffic(variant: VariantFacts) -> Traffic | None:
    """Bytes of one forward; `None` unless every kernel was counted."""
    parts = [activity_traffic(activity) for activity in variant.activities]
    if None in parts or not any(activity.counters for activity in variant.activities):
        return None
    return Traffic(*(sum(getattr(part, name) for part in parts) for name in ("read", "written", "from_trace")))


SPILL = 0.1
"""Counted DRAM traffic beyond the operands, as a share of the score bytes, that still means "never written"."""


def scores_in_memory(facts: RunFacts, variant: VariantFacts) -> bool:
    """Whether peak memory or counted traffic says that a forward holds or writes its scores; `False` where neither was taken."""
    traffic, scores = forward_traffic(variant), facts.workload.score_bytes
    written = traffic is not None and traffic.total - facts.workload.operand_bytes >= SPILL * scores
    return written or (variant.peak_memory_bytes or 0) >= scores


def activity_dram_bytes(activity: ActivityFacts) -> float | None:
    """Bytes read plus written, see `activity_traffic`."""
    traffic = activity_traffic(activity)
    return None if traffic is None else traffic.total


def dram_bytes(variant: VariantFacts) -> float | None:
    """Bytes read plus written in one forward, see `forward_traffic`."""
    traffic = forward_traffic(variant)
    return None if traffic is None else traffic.total


def tensor_core_flop(variant: VariantFacts) -> float | None:
    """FLOP that the Tensor Cores did in one forward; `None` unless it was counted for every kernel."""
    counts = [a.counters.tensor_core_flop if a.counters else None for a in variant.activities if a.kind == "kernel"]
    known = [count for count in counts if count is not None]
    return float(sum(known)) if known and len(known) == len(counts) else None


def activity_work(activity: ActivityFacts) -> Work | None:
    """FLOP of one activity: what the Tensor Cores did, or the model where they did nothing (FP32 matmuls).

    An activity that multiplies no matrices does none; `None` for one that does where nobody knows how much.
    """
    counted = activity.counters.tensor_core_flop if activity.counters else None
    if counted:
        return Work(counted, True)
    if activity.role not in MULTIPLIES:
        return Work(0.0, True)
    return None if activity.flop is None else Work(activity.flop, False)


def forward_work(variant: VariantFacts) -> Work | None:
    """FLOP of all matrix products of one forward, masked pairs included where they are computed."""
    parts = [activity_work(activity) for activity in variant.activities]
    if not parts or None in parts:
        return None
    return Work(sum(part.flop for part in parts if part), all(part.counted for part in parts if part))


def intensity(variant: VariantFacts) -> float | None:
    """FLOP per byte of DRAM traffic, counted; `None` without counters or without a matrix product."""
    traffic, work = forward_traffic(variant), forward_work(variant)
    return work.flop / traffic.total if traffic and work and work.flop and traffic.total else None


def why_no_ratio(facts: RunFacts) -> CacheDoubt | None:
    """Why DRAM traffic may not be divided by the operand bytes on this device, or `None` where it may."""
    cache = facts.device.l2_cache_bytes
    if not cache:
        return CacheDoubt.SIZE_UNKNOWN
    return CacheDoubt.MAY_HOLD if facts.workload.operand_bytes < OPERANDS_BEYOND_CACHE * cache else None


def operand_ratio(facts: RunFacts, variant: VariantFacts) -> float | None:
    """DRAM traffic ÷ operand bytes, where the cache allows it."""
    traffic = forward_traffic(variant)
    return None if traffic is None or why_no_ratio(facts) else traffic.total / facts.workload.operand_bytes


def needed_flop(facts: RunFacts) -> int:
    """FLOP of the pairs that the mask leaves: the least that any implementation must do."""
    return _needed(facts.workload)


def _needed(workload: Workload) -> int:
    return workload.causal_flop if workload.causal else workload.full_flop


def least_time(workload: Workload, ceilings: Ceilings | None, cache: int | None) -> float | None:
    """Seconds that no forward can undercut whatever the cache (bytes, `None` where not known) holds; `None` without a matmul ceiling."""
    if ceilings is None or not ceilings.matmul_flop_per_s:
        return None
    beyond = cache is not None and workload.operand_bytes >= OPERANDS_BEYOND_CACHE * cache
    by_bytes = workload.operand_bytes / ceilings.copy_bytes_per_s if beyond and ceilings.copy_bytes_per_s else 0.0
    return max(_needed(workload) / ceilings.matmul_flop_per_s, by_bytes)


def best(facts: RunFacts) -> Best | None:
    """Operand bytes at the copy ceiling and needed FLOP at the matmul ceiling; `None` without ceilings."""
    ceilings = facts.ceilings
    if ceilings is None or not (ceilings.copy_bytes_per_s and ceilings.matmul_flop_per_s):
        return None
    return Best(facts.workload.operand_bytes / ceilings.copy_bytes_per_s, needed_flop(facts) / ceilings.matmul_flop_per_s)
