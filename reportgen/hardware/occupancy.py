"""Theoretical occupancy from a launch: resident blocks and warps, limiter, each step as data.

Also what the profiler's own field would say and what sets the two apart. The profiler (Kineto) works
its field out with the default limit of 48 KiB of shared memory per block, whatever the kernel was
allowed, and caps it by the grid; neither is occupancy in the sense used here.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from math import ceil, prod
from typing import Literal

from ..saying.units import Count, plural
from .arch_limits import DEFAULT_SHARED_MEMORY, WARP, SmLimits, limits

AGREEMENT = 0.5
"""Percentage points of occupancy by which two readings may differ and still agree: the profiler's field is a
whole number, and "about 12.5 %" allows no more."""


def agree(one: float, other: float) -> bool:
    """Whether two occupancies in percent are the same but for rounding."""
    return abs(one - other) <= AGREEMENT + 1e-6


class StepKey(Enum):
    """Which line of the arithmetic a step is; the value is what tables call it."""

    WARPS_PER_BLOCK = "warps per block"
    BLOCKS_BY_WARPS = "blocks by warp slots"
    REGISTERS_PER_WARP = "registers per warp"
    WARPS_BY_REGISTERS = "warps by registers"
    BLOCKS_BY_REGISTERS = "blocks by registers"
    SHARED_PER_BLOCK = "shared memory per block (bytes)"
    BLOCKS_BY_SHARED = "blocks by shared memory"
    BLOCKS_BY_SLOTS = "blocks by the SM's block slots"
    RESIDENT_BLOCKS = "resident blocks"
    RESIDENT_WARPS = "resident warps"
    THEORETICAL = "theoretical occupancy (%)"


@dataclass(frozen=True)
class Step:
    """One line of the arithmetic: which, the expression with its numbers, the result."""

    key: StepKey
    expression: str
    result: int | float | None

    @property
    def what(self) -> str:
        """What tables call it."""
        return self.key.value


Resource = Literal["warps", "registers", "shared memory", "blocks"]


@dataclass(frozen=True)
class Occupancy:
    """Theoretical occupancy of one kernel on one architecture.

    theoretical: percent of the SM's warp slots
    resident_blocks, resident_warps: per SM; max_warps: the SM's warp slots
    limits: blocks per SM that each resource allows; `None` where the resource does not limit
    limiters: the resources at the minimum
    steps: the arithmetic, to be shown
    """

    theoretical: float
    resident_blocks: int
    resident_warps: int
    max_warps: int
    limits: dict[Resource, int | None]
    limiters: tuple[Resource, ...]
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
    steps = [Step(StepKey.WARPS_PER_BLOCK, f"{Count(threads)} threads ÷ {WARP} lanes", warps)]
    allowed: dict[Resource, int | None] = {
        "warps": _by_warps(sm, threads, warps, steps),
        "registers": _by_registers(sm, registers, warps, steps),
        "shared memory": _by_shared_memory(sm, shared_memory, sm.shared_memory_optin, steps),
        "blocks": sm.blocks,
    }
    steps.append(Step(StepKey.BLOCKS_BY_SLOTS, f"at most {Count(sm.blocks)} blocks per SM", sm.blocks))
    blocks = min(value for value in allowed.values() if value is not None)
    limiters = tuple(name for name, value in allowed.items() if value == blocks)
    candidates = ", ".join(f"{Count(value)} ({name})" for name, value in allowed.items() if value is not None)
    steps.append(Step(StepKey.RESIDENT_BLOCKS, f"the least of {candidates}", blocks))
    steps.append(Step(StepKey.RESIDENT_WARPS, f"{plural(blocks, 'block')} × {plural(warps, 'warp')}", blocks * warps))
    theoretical = 100.0 * blocks * warps / sm.warps
    steps.append(Step(StepKey.THEORETICAL, f"{Count(blocks * warps)} of {Count(sm.warps)} warp slots", theoretical))
    return Occupancy(theoretical, blocks, blocks * warps, sm.warps, allowed, limiters, tuple(steps))


def _round_up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _by_warps(sm: SmLimits, threads: int, warps: int, steps: list[Step]) -> int:
    blocks = sm.warps // warps if threads <= sm.threads_per_block else 0
    said = f"{Count(sm.warps)} warp slots ÷ {Count(warps)} warps per block"
    if threads > sm.threads_per_block:
        said = f"a block may have {Count(sm.threads_per_block)} threads at most"
    steps.append(Step(StepKey.BLOCKS_BY_WARPS, said, blocks))
    return blocks


def _by_registers(sm: SmLimits, registers: int, warps: int, steps: list[Step]) -> int | None:
    """Registers are handed out per warp, and each of the four sub-partitions takes whole warps only."""
    if registers <= 0:
        steps.append(Step(StepKey.BLOCKS_BY_REGISTERS, "the kernel uses no registers, so they do not limit", None))
        return None
    exact = registers * WARP
    per_warp = _round_up(exact, sm.register_unit)
    said = f"{Count(registers)} registers × {WARP} lanes = {Count(exact)}"
    if per_warp != exact:
        said += f" → rounded up to a multiple of {Count(sm.register_unit)}: {Count(per_warp)}"
    steps.append(Step(StepKey.REGISTERS_PER_WARP, said, per_warp))
    # 255 is the most a thread can have; CUDA's calculator lets 256 pass, and the profiler uses that calculator.
    if registers > sm.registers_per_thread + 1 or per_warp * _round_up(warps, sm.partitions) > sm.registers_per_block:
        steps.append(Step(StepKey.BLOCKS_BY_REGISTERS, f"one block would need more than the {Count(sm.registers_per_block)} registers there are", 0))
        return 0
    quarter = sm.registers // sm.partitions
    resident = quarter // per_warp * sm.partitions
    blocks = resident // warps
    steps.append(Step(StepKey.WARPS_BY_REGISTERS, f"{sm.partitions} sub-partitions × ({Count(quarter)} registers ÷ {Count(per_warp)} → {Count(quarter // per_warp)} warps)", resident))
    steps.append(Step(StepKey.BLOCKS_BY_REGISTERS, f"{Count(resident)} warps ÷ {Count(warps)} warps per block", blocks))
    return blocks


def _by_shared_memory(sm: SmLimits, shared_memory: int, most: int, steps: list[Step]) -> int | None:
    used = shared_memory + sm.reserved_shared_memory
    per_block = _round_up(used, sm.shared_memory_unit)
    if per_block == 0:
        steps.append(Step(StepKey.BLOCKS_BY_SHARED, "the kernel uses none, so it does not limit", None))
        return None
    said = f"{Count(shared_memory)} B"
    if sm.reserved_shared_memory:
        said += f" + {Count(sm.reserved_shared_memory)} B that the driver reserves = {Count(used)} B"
    if per_block != used:
        said += f" → rounded up to a multiple of {Count(sm.shared_memory_unit)}: {Count(per_block)} B"
    steps.append(Step(StepKey.SHARED_PER_BLOCK, said, per_block))
    if per_block > most + sm.reserved_shared_memory:
        steps.append(Step(StepKey.BLOCKS_BY_SHARED, f"a block may use {Count(most)} B at most", 0))
        return 0
    blocks = sm.shared_memory // per_block
    steps.append(Step(StepKey.BLOCKS_BY_SHARED, f"{Count(sm.shared_memory)} B per SM ÷ {Count(per_block)} B", blocks))
    return blocks


class Cause(Enum):
    """Why the profiler's field differs from the arithmetic."""

    UNKNOWN_ARCHITECTURE = "its calculator does not know the architecture"
    OVER_DEFAULT = "more shared memory than it reckons with"
    SMALL_GRID = "so few blocks per SM that they round to 0"
    NOT_FILLED = "fewer blocks than would fit"
    PARTIAL_WARP = "threads that do not fill their last warp"
    UNEXPLAINED = "none that is known"

    @property
    def small_grid(self) -> bool:
        """The grid has fewer blocks than would fit, whether or not they round to 0."""
        return self in (Cause.SMALL_GRID, Cause.NOT_FILLED)


@dataclass(frozen=True)
class Launch:
    """What a trace records of a launch. grid: blocks; threads: per block; registers: per thread; shared_memory: bytes per block."""

    grid: Sequence[int] | None
    threads: int
    registers: int
    shared_memory: int

    @property
    def blocks(self) -> int:
        """Of the whole grid; 0 where it was not recorded."""
        return prod(self.grid) if self.grid else 0


@dataclass(frozen=True)
class Difference:
    """The profiler's field beside the arithmetic of one launch, and what sets them apart.

    reported: percent, as the profiler writes it; resident_blocks: per SM, by the arithmetic
    """

    cause: Cause
    reported: float
    launch: Launch
    resident_blocks: int
    sm_count: int | None
    compute_capability: str | None


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


def difference(occupancy: Occupancy, launch: Launch, reported: float, *, sm_count: int | None, compute_capability: str | None) -> Difference | None:
    """Why the profiler's field differs from the arithmetic; `None` where they agree but for rounding."""
    cause = _cause(occupancy, launch, reported, sm_count, compute_capability)
    return Difference(cause, reported, launch, occupancy.resident_blocks, sm_count, compute_capability) if cause else None


def _cause(occupancy: Occupancy, launch: Launch, reported: float, sm_count: int | None, compute_capability: str | None) -> Cause | None:
    if reported < 0:
        return Cause.UNKNOWN_ARCHITECTURE
    if agree(reported, occupancy.theoretical):
        return None
    if launch.shared_memory > DEFAULT_SHARED_MEMORY and reported == 0:
        return Cause.OVER_DEFAULT
    if not launch.grid or not sm_count:
        return Cause.UNEXPLAINED
    estimate = profiler_estimate(compute_capability, launch.grid, launch.threads, launch.registers, launch.shared_memory, sm_count)
    if launch.registers and reported != estimate:
        return Cause.UNEXPLAINED
    if launch.blocks / sm_count < occupancy.resident_blocks:
        return Cause.SMALL_GRID if reported == 0 else Cause.NOT_FILLED
    return Cause.PARTIAL_WARP if launch.threads % WARP else Cause.UNEXPLAINED
