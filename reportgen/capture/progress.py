"""What is going on and how long it will take: one line that renews itself, or plain lines."""

from __future__ import annotations

import sys
import time
from typing import TextIO

WIDTH = 78


class Progress:
    """Shows variant, phase and time left.

    The plan is in expected seconds; what has been done so far corrects the estimate. On a terminal
    one line is rewritten; elsewhere each new stage gets a line of its own.
    """

    def __init__(self, stream: TextIO | None = None, clock=time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._began = clock()
        self._planned = 0.0
        self._done = 0.0
        self._stage = ""
        self._shown = ""

    def plan(self, seconds: float) -> None:
        """Adds work that is expected to take this long."""
        self._planned += seconds

    def done(self, seconds: float) -> None:
        """Work that was planned with so many seconds has ended."""
        self._done += seconds

    def stage(self, name: str) -> None:
        """A new stage: `timing, process 2 of 7`."""
        self._stage = name
        if not self._terminal:
            self._write_line(f"{name}{self._left()}")

    def at(self, subject: str, phase: str) -> None:
        """What is being done within the stage; shown on a terminal only."""
        if self._terminal:
            self._rewrite(f"{self._stage}: {subject}, {phase}{self._left()}")

    def end(self) -> None:
        """Clears the line that renews itself."""
        if self._terminal:
            self._rewrite("")

    def seconds_left(self) -> float | None:
        """Expected seconds until the plan is done, or `None` while nothing is known."""
        remaining = self._planned - self._done
        if remaining <= 0:
            return None
        pace = (self._clock() - self._began) / self._done if self._done else 1.0
        return remaining * min(max(pace, 0.2), 5.0)

    def _left(self) -> str:
        left = self.seconds_left()
        return "" if left is None else f" (about {left:.0f} s left)"

    def _write_line(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def _rewrite(self, text: str) -> None:
        text = text[:WIDTH]
        if text != self._shown:
            self._stream.write("\r" + text.ljust(len(self._shown)) + ("" if text else "\r"))
            self._stream.flush()
            self._shown = text


class Silent(Progress):
    """Says nothing."""

    def stage(self, name: str) -> None:
        return None

    def at(self, subject: str, phase: str) -> None:
        return None

    def end(self) -> None:
        return None
