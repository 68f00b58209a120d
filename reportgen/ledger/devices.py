"""The GPUs that a trace names or uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ..hardware.arch_limits import WARP
from ..trace.kineto import whole
from ..trace.whole import WholeTrace
from .model import Device, GpuTime


def find(trace: WholeTrace) -> tuple[Device, ...]:
    """Those that activities ran on; without activities those that the file names."""
    times: dict[int, list[float]] = defaultdict(lambda: [0.0, 0])
    for device, duration in zip(trace.activities.device, trace.activities.duration):
        times[device][0] += duration
        times[device][1] += 1
    entries = properties(trace)
    numbers = sorted(times) if times else sorted(entries)
    return tuple(Device(number, _name(entries.get(number)), capability(entries.get(number)), GpuTime(times[number][0] * 1e-6, int(times[number][1])) if number in times else GpuTime())
                 for number in numbers)


def properties(trace: WholeTrace) -> dict[int, Mapping[str, Any]]:
    """The profiler's entry of each device by its number."""
    entries = trace.other.get("deviceProperties") or trace.other.get("computeProperties") or []
    found: dict[int, Mapping[str, Any]] = {}
    for entry in entries if isinstance(entries, list) else []:
        number = whole(entry.get("id")) if isinstance(entry, Mapping) else None
        if number is not None:
            found[number] = entry
    return found


def _name(entry: Mapping[str, Any] | None) -> str | None:
    name = entry.get("name") if entry else None
    return name if isinstance(name, str) and name else None


def capability(entry: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """The compute capability of a CUDA device; ROCm writes one too, which is none."""
    if not entry or not _name(entry) or whole(entry.get("warpSize")) != WARP:
        return None
    major, minor = whole(entry.get("computeMajor")), whole(entry.get("computeMinor"))
    return (major, minor) if major is not None and minor is not None else None
