"""Kernels for which the profiler writes an occupancy of 0, grouped: nearly all of them run at another one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import prod
from typing import Any

from ..hardware.occupancy import Cause, Launch, difference, occupancy
from ..trace.kineto import whole
from ..trace.whole import Resources, WholeTrace
from .devices import capability, properties
from .model import FalseZero


def find(trace: WholeTrace) -> tuple[FalseZero, ...]:
    """By kernel and cause, the longest first. Nothing of devices whose limits are not known."""
    entries = properties(trace)
    groups: dict[tuple[int, Cause], list[tuple[Resources, float, float, float]]] = defaultdict(list)
    for resources, (count, duration) in trace.zeros.items():
        found = _explained(resources, entries.get(resources.device))
        if found is not None:
            groups[resources.name, found[0]].append((resources, found[1], count, duration))
    zeros = [FalseZero(trace.names[name], cause, int(sum(count for _, _, count, _ in members)), sum(duration for *_, duration in members) * 1e-6,
                       (min(percent for _, percent, _, _ in members), max(percent for _, percent, _, _ in members)), max(resources.shared_memory for resources, *_ in members))
             for (name, cause), members in groups.items()]
    return tuple(sorted(zeros, key=lambda zero: -zero.seconds))


def _explained(resources: Resources, entry: Mapping[str, Any] | None) -> tuple[Cause, float] | None:
    found = capability(entry)
    if found is None or entry is None or len(resources.block) != 3 or min(resources.registers, resources.shared_memory, *resources.block, *resources.grid) < 0:
        return None
    name = f"{found[0]}.{found[1]}"
    threads = prod(resources.block)
    real = occupancy(name, threads, resources.registers, resources.shared_memory)
    if real is None:
        return None
    launch = Launch(resources.grid, threads, resources.registers, resources.shared_memory)
    differs = difference(real, launch, 0.0, sm_count=whole(entry.get("numSms")), compute_capability=name)
    return (differs.cause, real.theoretical) if differs else None
