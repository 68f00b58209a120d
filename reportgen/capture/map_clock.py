"""How a point of the map is timed: a few calls behind a sleep of the GPU, so that launching is not in it, and plain clocks on a CPU.

A CUDA graph per backend and point would cost more than the map has. Calls that are queued before the GPU begins
show the same time: on an H200 within 1 % of a graph's replays.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import ceil
from typing import Any

from .gpu_bench import SLEEP_CYCLES_PER_SECOND

Run = Callable[[], Any]
AIM_SECONDS = 0.002
MOST_CALLS = 40
"""Queued at once; a forward and backward of math launches about 60 kernels, and a queue holds about a thousand."""
MOST_LAUNCHES = 20
"""Calls queued at once of a backend that launches many kernels."""
PATIENCE = (2.0, 6.0)
"""Times the host's own time that the GPU is held back; the second where the first was too short."""


class GpuClock:
    """Events on the current stream."""

    def __init__(self, device: str) -> None:
        import torch

        self._torch, self._device = torch, device

    def wait(self) -> None:
        self._torch.cuda.synchronize(self._device)

    def once(self, run: Run) -> float:
        """Seconds of one call, waited for."""
        self.wait()
        began = time.perf_counter()
        run()
        self.wait()
        return time.perf_counter() - began

    def host(self, run: Run, count: int) -> float:
        """Seconds that one of `count` calls costs the CPU."""
        self.wait()
        began = time.perf_counter()
        for _ in range(count):
            run()
        seconds = (time.perf_counter() - began) / count
        self.wait()
        return seconds

    def device(self, run: Run, count: int, host: float) -> float | None:
        """Seconds of one of `count` calls on the GPU; `None` where the host could not queue them in time. host: seconds per call."""
        torch = self._torch
        for patience in PATIENCE:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            self.wait()
            torch.cuda._sleep(int((0.0003 + patience * host * count) * SLEEP_CYCLES_PER_SECOND / 2))
            start.record()
            for _ in range(count):
                run()
            queued = not start.query()
            end.record()
            end.synchronize()
            if queued:
                return float(start.elapsed_time(end)) / 1000 / count
        return None


class CpuClock:
    """A call returns when the work is done."""

    def wait(self) -> None:
        return None

    def once(self, run: Run) -> float:
        began = time.perf_counter()
        run()
        return time.perf_counter() - began

    def host(self, run: Run, count: int) -> float | None:
        return None

    def device(self, run: Run, count: int, host: float | None) -> float | None:
        began = time.perf_counter()
        for _ in range(count):
            run()
        return (time.perf_counter() - began) / count


def calls(seconds: float, many_kernels: bool) -> int:
    """Calls in one round of a call that takes `seconds`.

    >>> calls(0.01, False), calls(20e-6, False), calls(20e-6, True)
    (1, 40, 20)
    """
    return max(1, min(MOST_LAUNCHES if many_kernels else MOST_CALLS, ceil(AIM_SECONDS / max(seconds, 1e-9))))
