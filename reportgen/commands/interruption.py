"""Ctrl-C, `kill` and a closed terminal: what a command says when it is broken off, and that it really ends."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType
from typing import Any

from ..company.signals import ENDING

AGAIN = 2.0
"""Seconds in which a further signal is the same one: make, a terminal and a parent may all send it, and
what has been broken off is cleaning up behind itself."""


def interrupted(status: int) -> bool:
    """Whether a process with this exit status was broken off and has cleaned up: 130, 143, 129."""
    return status in {128 + number for number in ENDING}


class Stages:
    """What has been reached, in words for whoever breaks the command off.

    Each signal that ends a command raises KeyboardInterrupt here. Python drops an exception that is
    raised inside a callback of its own (a weak reference's, a finalizer's), a KeyboardInterrupt
    too. So it is remembered, and raised again at the next stage.

    message: what is safe, and what finishes the rest; empty for nothing to say; `None` if another
        process says it
    """

    def __init__(self) -> None:
        self.message: str | None = ""
        self._came: float | None = None
        self._number: int = signal.SIGINT
        self._former: dict[int, Any] = {}

    @property
    def status(self) -> int:
        """The exit status of a command that was broken off: 130 after Ctrl-C, 143 after `kill`, 129 after a closed terminal."""
        return 128 + self._number

    def __enter__(self) -> Stages:
        if threading.current_thread() is threading.main_thread():
            for number in ENDING:  # who ignores one (nohup) goes on ignoring it
                if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                    self._former[number] = signal.signal(number, self._interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._came is not None and now - self._came < AGAIN:
            return
        self._came, self._number = now, number
        raise KeyboardInterrupt

    def ended(self) -> None:
        """The signal that came was the command's normal end."""
        self._came = None

    def at(self, message: str | None) -> None:
        """A stage begins. Raises KeyboardInterrupt, with the former message, if one was dropped."""
        self.check()
        self.message = message

    def check(self) -> None:
        """A safe point: raises a KeyboardInterrupt that was dropped on its way."""
        if self._came is not None:
            raise KeyboardInterrupt
