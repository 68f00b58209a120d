"""Nobody measures on for a command that is gone: a process ends when the one that started it has ended."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping

PARENT = "REPORTGEN_PARENT"
"""The number of the process to follow, in the environment: make's, or that of `report`."""
_PR_SET_PDEATHSIG = 1
HEARTBEAT = 1.0
"""Seconds between two looks for the parent, where the system does not tell of its end."""


def followed(environment: Mapping[str, str], child_of: int | None = None) -> dict[str, str]:
    """`environment` for a child that is to end when this process (or `child_of`) ends."""
    return {**environment, PARENT: str(child_of or os.getpid())}


def follow() -> None:
    """Sends this process SIGTERM when the parent that is named in the environment ends, or has ended already.

    Only who was asked to does: a command that somebody put into the background of a shell goes on
    when the shell is closed.
    """
    named = os.environ.pop(PARENT, "")
    if not named.isdigit() or not hasattr(os, "getppid"):
        return
    parent = int(named)
    if not at_parents_end(signal.SIGTERM):
        _watch(lambda: os.getppid() == parent)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGTERM)


def at_parents_end(number: int) -> bool:
    """Has the kernel send this process a signal when its parent ends; `False` where it cannot (not Linux)."""
    return _PRCTL is not None and _PRCTL(_PR_SET_PDEATHSIG, number, 0, 0, 0) == 0


def killed_with_parent() -> None:
    """For a child's first moment (`preexec_fn`): it is killed when its parent ends."""
    at_parents_end(signal.SIGKILL)


def end_with(sentinel: int) -> None:
    """Ends this process at once when the other end of the pipe `sentinel` is closed, which its owner's end does everywhere."""
    def listen() -> None:
        try:
            while os.read(sentinel, 1):
                pass
        except OSError:
            return
        os._exit(1)

    threading.Thread(target=listen, name="ends with its parent", daemon=True).start()


def _watch(lives: Callable[[], bool]) -> None:
    def look() -> None:
        while lives():
            time.sleep(HEARTBEAT)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, name="follows its parent", daemon=True).start()


def _prctl() -> Callable[..., int] | None:
    try:
        found: Callable[..., int] = ctypes.CDLL(None).prctl
    except (OSError, AttributeError, TypeError):
        return None
    return found


_PRCTL = _prctl()
