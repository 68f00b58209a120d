"""Theoretical occupancy from a launch: resident blocks and warps, limiter, each step as data.

Also what the profiler's own field would say and why the two differ. The profiler (Kineto) works
its field out with the default limit of 48 KiB of shared memory per block, whatever the kernel was
allowed, and caps it by the grid; neither is occupancy in the sense used here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import Literal

from ..saying.units import Count, Percent, plural, significant
from .arch_limits import DEFAULT_SHARED_MEMORY, WARP, SmLimits, limits

AGREEMENT = 0.5
"""Percentage points of occupancy by which two readings may differ and still agree: the profiler's field is a
whole number, and "about 12.5 %" allows no more."""


def agree(one: float, other: float) -> bool:
    """Whether two occupancies in percent are the same but for rounding."""
    return abs(one - other) <= AGREEMENT + 1e-6


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

    Assumes the carve-out that suits the kernel best, as the driver does. Barriers and clusters can
    limit further; a trace records neither.

    Args:
        compute_capability: `9.0`; `None` or one whose limits are not known gives `None`.
        threads: per block. registers: per thread. shared_memory: bytes per block, static + dynamic.
    """
    sm = limits(compute_capability)
    if sm is None or threads < 1:
        return None
    warps = ceil(threads / WARP)
    steps = [Step("warps per block", f"{Count(threads)} threads ÷ {WARP} lanes", warps)]
    allowed = {
        "warps": _by_warps(sm, threads, warps, steps),
        "registers": _by_registers(sm, registers, warps, steps),
        "shared memory": _by_shared_memory(sm, shared_memory, sm.shared_memory_optin, steps),
        "blocks": sm.blocks,
    }
    steps.append(Step("blocks by the SM's block slots", f"at most {Count(sm.blocks)} blocks per SM", sm.blocks))
    blocks = min(value for value in allowed.values() if value is not None)
    limiters = tuple(name for name, value in allowed.items() if value == blocks)
    candidates = ", ".join(f"{Count(value)} ({name})" for name, value in allowed.items() if value is not None)
    steps.append(Step("resident blocks", f"the least of {candidates}", blocks))
    steps.append(Step("resident warps", f"{plural(blocks, 'block')} × {plural(warps, 'warp')}", blocks * warps))
    theoretical = 100.0 * blocks * warps / sm.warps
    steps.append(Step("theoretical occupancy (%)", f"{Count(blocks * warps)} of {Count(sm.warps)} warp slots", theoretical))
    return Occupancy(theoretical, blocks, blocks * warps, sm.warps, allowed, limiters, tuple(steps))


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _by_warps(sm: SmLimits, threads: int, warps: int, steps: list[Step]) -> int:
    blocks = sm.warps // warps if threads <= sm.threads_per_block else 0
    said = f"{Count(sm.warps)} warp slots ÷ {Count(warps)} warps per block"
    if threads > sm.threads_per_block:
        said = f"a block may have {Count(sm.threads_per_block)} threads at most"
    steps.append(Step("blocks by warp slots", said, blocks))
    return blocks


def _by_registers(sm: SmLimits, registers: int, warps: int, steps: list[Step]) -> int | None:
    """Registers are handed out per warp, and each of the four sub-partitions takes whole warps only."""
    if registers <= 0:
        steps.append(Step("blocks by registers", "the kernel uses no registers, so they do not limit", None))
        return None
    exact = registers * WARP
    per_warp = _round_up(exact, sm.register_unit)
    said = f"{Count(registers)} registers × {WARP} lanes = {Count(exact)}"
    if per_warp != exact:
        said += f" → rounded up to a multiple of {Count(sm.register_unit)}: {Count(per_warp)}"
    steps.append(Step("registers per warp", said, per_warp))
    # 255 is the most a thread can have; CUDA's calculator lets 256 pass, and the profiler uses that calculator.
    if registers > sm.registers_per_thread + 1 or per_warp * _round_up(warps, sm.partitions) > sm.registers_per_block:
        steps.append(Step("blocks by registers", f"one block would need more than the {Count(sm.registers_per_block)} registers there are", 0))
        return 0
    quarter = sm.registers // sm.partitions
    resident = quarter // per_warp * sm.partitions
    blocks = resident // warps
    steps.append(Step("warps by registers", f"{sm.partitions} sub-partitions × ({Count(quarter)} registers ÷ {Count(per_warp)} → {Count(quarter // per_warp)} warps)", resident))
    steps.append(Step("blocks by registers", f"{Count(resident)} warps ÷ {Count(warps)} warps per block", blocks))
    return blocks


def _by_shared_memory(sm: SmLimits, shared_memory: int, most: int, steps: list[Step]) -> int | None:
    used = shared_memory + sm.reserved_shared_memory
    per_block = _round_up(used, sm.shared_memory_unit)
    if per_block == 0:
        steps.append(Step("blocks by shared memory", "the kernel uses none, so it does not limit", None))
        return None
    said = f"{Count(shared_memory)} B"
    if sm.reserved_shared_memory:
        said += f" + {Count(sm.reserved_shared_memory)} B that the driver reserves = {Count(used)} B"
    if per_block != used:
        said += f" → rounded up to a multiple of {Count(sm.shared_memory_unit)}: {Count(per_block)} B"
    steps.append(Step("shared memory per block (bytes)", said, per_block))
    if per_block > most + sm.reserved_shared_memory:
        steps.append(Step("blocks by shared memory", f"a block may use {Count(most)} B at most", 0))
        return 0
    blocks = sm.shared_memory // per_block
    steps.append(Step("blocks by shared memory", f"{Count(sm.shared_memory)} B per SM ÷ {Count(per_block)} B", blocks))
    return blocks


Cause = Literal["unknown architecture", "over 48 KiB", "small grid", "grid does not fill", "partial warp", "unexplained"]


def profiler_estimate(compute_capability: str | None, grid: Sequence[int], threads: int, registers: int, shared_memory: int,
                      sm_count: int) -> int | None:
    """What Kineto writes as `est. achieved occupancy %`, reproduced; `None` for an unknown architecture.

    min(resident blocks under the 48 KiB limit, grid ÷ SMs) × threads ÷ the SM's threads, in 32-bit
    floats, rounded: 22.5 % comes out as 22. Source: pytorch/kineto, `libkineto/src/DeviceProperties.cpp`.
    """
    sm = limits(compute_capability)
    if sm is None or threads < 1 or sm_count < 1:
        return None
    warps = ceil(threads / WARP)
    allowed = (_by_warps(sm, threads, warps, []), _by_registers(sm, registers, warps, []),
               _by_shared_memory(sm, shared_memory, DEFAULT_SHARED_MEMORY, []), sm.blocks)
    blocks = min(_float32(prod(grid) / sm_count), *(value for value in allowed if value is not None))
    share = _float32(_float32(blocks * threads) / (sm.warps * WARP))
    return int(0.5 + share * 100.0)


def _float32(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


def profiler_cause(occupancy: Occupancy, *, grid: Sequence[int] | None, threads: int, shared_memory: int, sm_count: int | None,
                   compute_capability: str | None, reported: float, registers: int = 0) -> Cause | None:
    """Why the profiler's field differs from the arithmetic; `None` where they agree but for rounding."""
    if reported < 0:
        return "unknown architecture"
    if agree(reported, occupancy.theoretical):
        return None
    if shared_memory > DEFAULT_SHARED_MEMORY and reported == 0:
        return "over 48 KiB"
    if not grid or not sm_count:
        return "unexplained"
    if registers and reported != profiler_estimate(compute_capability, grid, threads, registers, shared_memory, sm_count):
        return "unexplained"
    if prod(grid) / sm_count < occupancy.resident_blocks:
        return "small grid" if reported == 0 else "grid does not fill"
    return "partial warp" if threads % WARP else "unexplained"


def explain_profiler(occupancy: Occupancy, *, grid: Sequence[int] | None, threads: int, shared_memory: int, sm_count: int | None,
                     compute_capability: str | None, reported: float, registers: int = 0) -> str | None:
    """Why the profiler's field and the arithmetic disagree, in a sentence; `None` where they agree but for rounding."""
    cause = profiler_cause(occupancy, grid=grid, threads=threads, shared_memory=shared_memory, sm_count=sm_count,
                           compute_capability=compute_capability, reported=reported, registers=registers)
    if cause is None:
        return None
    if cause in ("small grid", "grid does not fill"):
        blocks, resident = Count(prod(grid or ())), Count(occupancy.resident_blocks)
        share = f"{significant(prod(grid or ()) / (sm_count or 1))} per SM, fewer than the {resident} that fit"
        ending = "which rounds to 0" if cause == "small grid" else f"so it shows {Percent(reported)}"
        return f"The grid is small: {blocks} block{'' if blocks == 1 else 's'} over {Count(sm_count or 0)} SMs is {share}. The profiler counts only those, {ending}."
    return {
        "unknown architecture": f"The profiler's occupancy calculator does not know compute capability {compute_capability}; it writes {Count(reported)} instead.",
        "over 48 KiB": f"The profiler reckons with the default limit of {Count(DEFAULT_SHARED_MEMORY)} B of shared memory per block. "
                       f"This kernel opted in to more ({Count(shared_memory)} B), so no block seems to fit and it shows 0.",
        "partial warp": f"The profiler counts threads and the hardware whole warps: {Count(threads)} threads do not fill their last warp.",
        "unexplained": f"The profiler shows {Percent(reported)}; its known formula does not give that for this launch.",
    }[cause]
