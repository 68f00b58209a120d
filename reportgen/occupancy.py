"""Theoretical occupancy from a launch: resident blocks and warps, limiter, each step as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One line of the arithmetic: what, the expression with its numbers, the result."""

    what: str
    expression: str
    result: int | float | None


@dataclass(frozen=True)
class Occupancy:
    """Theoretical occupancy of one kernel on one architecture.

    theoretical: percent of the SM's warp slots
    resident_blocks, resident_warps: per SM; max_warps: the SM's warp slots
    limits: blocks per SM that each resource allows (`warps`, `registers`, `shared memory`, `blocks`);
        `None` where the resource does not limit
    limiters: the resources at the minimum
    steps: the arithmetic, to be shown
    """

    theoretical: float
    resident_blocks: int
    resident_warps: int
    max_warps: int
    limits: dict[str, int | None]
    limiters: tuple[str, ...]
    steps: tuple[Step, ...]


def occupancy(compute_capability: str | None, threads: int, registers: int, shared_memory: int) -> Occupancy | None:
    """Occupancy by the algorithm of CUDA's occupancy calculator, with the opt-in shared-memory limit.

    Args:
        compute_capability: `9.0`; `None` or one whose limits are not known gives `None`.
        threads: per block. registers: per thread. shared_memory: bytes per block, static + dynamic.
    """
    raise NotImplementedError
