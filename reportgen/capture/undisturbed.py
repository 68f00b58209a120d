"""Around what is timed: no garbage collection, and a launching thread that stays where it is."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

from . import operands


@contextmanager
def undisturbed(device: str) -> Iterator[bool]:
    """No garbage collection; on a GPU the launching thread stays on one processor. Gives whether it does.

    Not on a CPU: torch's worker threads would inherit the pin and share one processor. Where the system
    refuses the pin (some containers), the thread goes on without.
    """
    gc.disable()
    allowed = _pin() if operands.is_gpu(device) else None
    try:
        yield allowed is not None
    finally:
        gc.enable()
        if allowed is not None:
            _allow(allowed)


def _pin() -> set[int] | None:
    """Keeps this thread on one processor; returns those that it might use before, or `None` where the system refuses."""
    try:
        allowed = os.sched_getaffinity(0)
    except (OSError, AttributeError):
        return None
    return allowed if allowed and _allow({_processor(allowed)}) else None


def _allow(processors: set[int]) -> bool:
    try:
        os.sched_setaffinity(0, processors)
    except (OSError, AttributeError):
        return False
    return True


def _processor(allowed: set[int]) -> int:
    """The processor this thread runs on now, or the last one it may use."""
    import ctypes

    try:
        current = ctypes.CDLL(None).sched_getcpu()
    except (OSError, AttributeError):
        current = -1
    return current if current in allowed else max(allowed)
