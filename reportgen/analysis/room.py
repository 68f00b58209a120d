"""How much room a device has for data, level by level, and how much of an SM a kernel's blocks hold."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..hardware.arch_limits import limits
from ..hardware.occupancy import Occupancy, StepKey
from .model import ActivityFacts, RunFacts

REGISTER_BYTES = 4


class Level(Enum):
    """Memories of a GPU, the nearest to the arithmetic first."""

    REGISTERS = "registers"
    SHARED = "shared memory"
    CACHE = "last-level cache"
    MAIN = "main memory"


@dataclass(frozen=True)
class Room:
    """A level's size. total: bytes of the whole device; per_sm: bytes of one SM where it has its own; `None` where nobody knows it."""

    level: Level
    total: int | None
    per_sm: int | None = None


def rooms(facts: RunFacts) -> tuple[Room, ...]:
    """The four levels: per-SM sizes from the table of architectures, the others as the device told them."""
    sm, count = limits(facts.device.compute_capability), facts.device.sm_count
    registers, shared = (sm.registers * REGISTER_BYTES, sm.shared_memory) if sm else (None, None)
    return (*(Room(level, each * count if each and count else None, each) for level, each in ((Level.REGISTERS, registers), (Level.SHARED, shared))),
            Room(Level.CACHE, facts.device.l2_cache_bytes), Room(Level.MAIN, facts.device.memory_bytes))


@dataclass(frozen=True)
class Held:
    """What the resident blocks of a kernel hold of one SM, as shares of 1; `None` where the resource is not used or not known."""

    warps_per_block: int
    occupancy: Occupancy
    registers: float | None
    shared_memory: float | None


def held(kernel: ActivityFacts | None, compute_capability: str | None) -> Held | None:
    """`None` without a kernel, without the arithmetic, or where no block fits."""
    sm, resident = limits(compute_capability), kernel.occupancy if kernel else None
    if sm is None or resident is None or not resident.resident_blocks:
        return None
    results = {step.key: step.result for step in resident.steps}
    per_warp, per_block = results.get(StepKey.REGISTERS_PER_WARP), results.get(StepKey.SHARED_PER_BLOCK)
    return Held(resident.resident_warps // resident.resident_blocks, resident,
                per_warp * resident.resident_warps / sm.registers if per_warp else None, per_block * resident.resident_blocks / sm.shared_memory if per_block else None)
