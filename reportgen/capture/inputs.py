"""What the timed forwards work on, and how much of it outruns the cache."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from ..run.workload import Workload
from . import operands

CACHES_OVERRUN = 4
"""Rotating inputs cover this many last-level caches, so none is still cached when its turn comes."""
MOST_SETS = 512


def input_sets(operand_bytes: int, cache_bytes: int | None) -> int | None:
    """How many input sets must rotate so that every forward finds a cold cache.

    `None` where the cache's size is not known, or the operands are so small that more than
    `MOST_SETS` would be needed.
    """
    if not cache_bytes:
        return None
    sets = max(2, ceil(CACHES_OVERRUN * cache_bytes / operand_bytes))
    return sets if sets <= MOST_SETS else None


def new_shape(workload: Workload) -> Workload:
    """The workload with three quarters of its sequence (in steps of 8): a shape nothing has seen yet."""
    shorter = workload.sequence * 3 // 4 // 8 * 8
    return replace(workload, name=f"{workload.name}-new-shape", sequence=shorter or workload.sequence + 1)


@dataclass(frozen=True)
class Inputs:
    """k sets of q, k, v `[B, H, S, D]` and the one mask `[S, S]` that they share."""

    sets: tuple[tuple[Any, Any, Any], ...]
    mask: Any

    def arguments(self, turn: int) -> tuple[Any, Any, Any, Any]:
        """The arguments of the forward whose turn it is; sets rotate."""
        return (*self.sets[turn % len(self.sets)], self.mask)


def make(device: str, workload: Workload, sets: int = 1) -> Inputs:
    """Normal random sets, each with its own seed; never zeros, which cost less power to multiply."""
    made = [operands.make(device, workload, seed=seed) for seed in range(sets)]
    return Inputs(tuple(one[:3] for one in made), made[0][3])
