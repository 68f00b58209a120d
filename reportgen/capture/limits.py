"""What this process may use of the machine, and whether a workload fits into it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from variants import Variant

from ..errors import CaptureFailed
from ..run.workload import Workload
from ..saying.units import Bytes


def memory(device: Mapping[str, Any], workload: Workload, tried: Sequence[Variant]) -> str | None:
    """A warning where the score matrices may not fit a GPU's memory, else `None`.

    Args:
        device: the fields of `run.DeviceRecord`.

    Raises:
        CaptureFailed: they may not fit a host's. There no allocation fails; the whole machine does.
    """
    writing = [variant.id for variant in tried if variant.backend in (None, "math")]
    host = device["kind"] == "cpu"
    have = available_memory(device.get("memory_bytes")) if host else device.get("memory_bytes")
    if not writing or have is None or workload.held_bytes <= have:
        return None
    problem = (f"the score matrix of {workload.name} takes {Bytes(workload.score_bytes)}, and profiling {', '.join(writing)} may need "
               f"{Bytes(workload.held_bytes)}; {device['name']} has {Bytes(have)}")
    if host:
        raise CaptureFailed(problem, cure="give a smaller --sequence, --batch or --heads, or only variants that never write it (--variants sdpa_flash)")
    return f"warning: {problem}; a variant that runs out of memory is recorded as failed, and the others go on"


def available_memory(physical: int | None, limit: Path = Path("/sys/fs/cgroup/memory.max")) -> int | None:
    """Bytes that this process may use: the host's memory, or a container's limit where that is lower."""
    try:
        most = int(limit.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return physical
    return min(most, physical) if physical else most


def available_processors() -> int:
    """Processors this process may use: affinity, and a container's quota where it sets one."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="ascii").split()
        return count if quota == "max" else max(1, min(count, int(quota) // int(period)))
    except (OSError, ValueError):
        return count
