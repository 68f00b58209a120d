"""Two figures that say how far a time may be trusted: what the profiler changes, and how far whole runs of the same code lie apart."""

from __future__ import annotations

from ..analysis import RunFacts
from ..run import noise
from .cells import signed


def trace_apart(facts: RunFacts) -> str:
    """`−0.6 % to +1.8 %`: how far the trace's GPU time lies from the timer's, the smallest to the largest of the variants; empty where no variant has both."""
    apart = [100 * (v.trace_gpu_time / v.gpu_time.median - 1) for v in facts.variants.values() if v.ok and v.integrity and v.gpu_time and v.trace_gpu_time]
    if not apart:
        return ""
    low, high = str(signed(min(apart))), str(signed(max(apart)))
    return low if low == high else f"{low} to {high}"


def drift(facts: RunFacts) -> str:
    """How far whole runs of the same code lay apart on this machine, as a clause; empty where nobody took that."""
    floor = facts.extras.get("noise")
    said = noise.floor_note(floor) if floor is not None else ""
    return said[:1].lower() + said[1:]
