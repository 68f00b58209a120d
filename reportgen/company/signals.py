"""The signals that end a command, and how to hold them back while a step must stay whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl-C, `kill`, and a terminal that was closed."""


@contextmanager
def held() -> Iterator[None]:
    """A signal that comes inside takes effect when the block has ended.

    Only signals that Python handles are held: one that ends the process in the kernel (SIGKILL, or
    SIGTERM where nobody handles it) leaves what it leaves, and `run.swap.heal` puts that right.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only
        return
    came: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        came.append(number)

    former: dict[int, Any] = {}
    try:
        with _masked():
            for number in ENDING:
                if callable(signal.getsignal(number)):
                    former[number] = signal.signal(number, remember)
        yield
    finally:
        with _masked():
            for number, handler in former.items():
                signal.signal(number, handler)
    if came:
        signal.raise_signal(came[0])


@contextmanager
def _masked() -> Iterator[None]:
    """The main thread takes no signal while the handlers are exchanged."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
