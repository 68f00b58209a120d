"""Ctrl-C: what a command says when it is broken off, and that it really ends."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

INTERRUPTED = 130


class Stages:
    """What has been reached, in words for whoever breaks the command off.

    Python drops an exception that is raised inside a callback of its own (a weak reference's, a
    finalizer's), a KeyboardInterrupt too. So it is remembered, and raised again at the next stage.

    message: what is safe, and what finishes the rest; empty for nothing to say; `None` if another
        process says it
    """

    def __init__(self) -> None:
        self.message: str | None = ""
        self._came = False
        self._former: object = None

    def __enter__(self) -> Stages:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._former = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if kind is None:
            self.check()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        raise KeyboardInterrupt

    def at(self, message: str | None) -> None:
        """A stage begins. Raises KeyboardInterrupt, with the former message, if one was dropped."""
        self.check()
        self.message = message

    def check(self) -> None:
        """A safe point: raises a KeyboardInterrupt that was dropped on its way."""
        if self._came:
            raise KeyboardInterrupt
