"""Who else is at work: on the GPU, before the first process of a run, after each, and at its end; on the processors during each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .sampler import Identity, Sampler, others

LEAST_SECONDS = 0.5
"""Seconds of all processors together below which a share says nothing: the kernel counts in hundredths."""
PARTING, STEP = 2.5, 0.25
"""Seconds within which a process of ours that has ended leaves the driver's list, and how often that is looked at."""


class Watch:
    """Looks for neighbours from a process that holds no GPU context itself.

    known: the GPU that is profiled, or `None` on a CPU and where NVML does not know it
    looks: what was seen, in order: the fields of `run.Look`
    """

    def __init__(self, known: Identity | None, *, open_sampler: Callable[..., Sampler] = Sampler, wait: Callable[[float], None] = time.sleep) -> None:
        self.looks: list[dict[str, Any]] = []
        self._known, self._open, self._wait = known, open_sampler, wait
        self._stay: set[int] = set()  # processes that have been waited for once and are still there

    def look(self, when: str, during: dict[str, Any] | None = None) -> None:
        """Adds what is seen now. when: `begin`, `process 3`, `end`; during: what a process of ours saw while it ran (see `inside`)."""
        seen = {"when": when, "load": load(), **self._gpu(with_busy=when == "begin")}
        for name, value in (during or {}).items():
            known = [one for one in (seen.get(name), value) if one is not None]
            seen[name] = max(known) if known else None
        self.looks.append(seen)

    def _gpu(self, with_busy: bool) -> dict[str, Any]:
        if self._known is None:
            return {}
        with self._open("cuda", self._known) as sampler:
            found = self._staying(sampler)
            graphics = sampler.processes("Graphics")
            return {"processes": None if found is None else len(found), "graphics_processes": None if graphics is None else len(set(graphics)),
                    "gpu_busy_percent": sampler.busy_percent() if with_busy else None, "gpu_memory_used_bytes": sampler.memory_used()}

    def _staying(self, sampler: Sampler) -> set[int] | None:
        """Processes on the GPU that are not ours: one of ours that has ended is on its way out, and is waited for."""
        found = sampler.processes()
        waited = 0.0
        while found and not set(found) <= self._stay and waited < PARTING:
            self._wait(STEP)
            waited += STEP
            found = sampler.processes()
        if found is None:
            return None
        self._stay |= set(found)
        return set(found)

    def most(self) -> int | None:
        """The most compute processes beside ours in any look; `None` where nobody tells."""
        known = [look["processes"] for look in self.looks if look.get("processes") is not None]
        return max(known) if known else None


def inside(sampler: Sampler, processors: Processors) -> dict[str, Any]:
    """What a timing process sees of its neighbours when it ends: the fields of `run.Look` that it can tell."""
    reported = sampler.processes()
    return {"processes": None if reported is None else others(reported, [os.getpid()]), "others_cpu_share": processors.others()}


class Processors:
    """How much of the host's processors other processes took since this was made.

    Args:
        stat: the kernel's counters of all processors; own: seconds that this process has computed.
    """

    def __init__(self, stat: Path = Path("/proc/stat"), own: Callable[[], float] = time.process_time) -> None:
        self._stat, self._own = stat, own
        self._before = self._now()

    def others(self) -> float | None:
        """Share of all processors, 0 to 1, that somebody else used; `None` where the kernel does not tell."""
        now = self._now()
        if self._before is None or now is None or now[1] - self._before[1] < LEAST_SECONDS:
            return None
        busy, whole, own = (after - before for after, before in zip(now, self._before))
        return round(min(1.0, max(0.0, (busy - own) / whole)), 4)

    def _now(self) -> tuple[float, float, float] | None:
        """Seconds that all processors together were busy, that passed on them, and that were ours."""
        try:
            fields = [int(field) for field in self._stat.read_text(encoding="ascii", errors="replace").splitlines()[0].split()[1:9]]
            ticks = os.sysconf("SC_CLK_TCK")
        except (OSError, ValueError, IndexError):
            return None
        if len(fields) < 8:
            return None
        idle = fields[3] + fields[4]  # waiting for a disk is no computing
        return (sum(fields) - idle) / ticks, sum(fields) / ticks, self._own()


def load() -> float | None:
    """Processes that wanted to run in the last minute, on average."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):
        return None
