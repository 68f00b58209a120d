"""What is going on and how long it will take: one line that renews itself, or plain lines."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

WIDTH = 78


class Progress:
    """Shows variant, phase and time left.

    The plan says how many stages of each kind there will be and what one is expected to take; the
    stages that have ended correct it. On a terminal one line is rewritten; elsewhere each new
    stage gets a line of its own.

    safe_point: called where the capture may be broken off; it may raise
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic,
                 safe_point: Callable[[], None] | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._safe_point = safe_point or _nothing
        self._terminal = self._stream.isatty()
        self._stages_left: dict[str, int] = {}
        self._expected: dict[str, float] = {}
        self._taken: dict[str, list[float]] = {}
        self._kind, self._title, self._began = "", "", 0.0
        self._shown = ""

    def plan(self, kind: str, stages: int, seconds: float) -> None:
        """There will be so many stages of this kind; one is expected to take so many seconds."""
        self._stages_left[kind], self._expected[kind] = stages, seconds

    def stage(self, kind: str, title: str) -> None:
        """A stage begins: `timing`, `timing, process 2 of 7`."""
        self._safe_point()
        self._kind, self._title, self._began = kind, title, self._clock()
        if self._terminal:
            self.at("", "")
        else:
            self._stream.write(f"{title}{self._left()}\n")
            self._stream.flush()

    def done(self) -> None:
        """The stage has ended."""
        self._taken.setdefault(self._kind, []).append(self._clock() - self._began)
        self._stages_left[self._kind] = max(0, self._stages_left.get(self._kind, 0) - 1)
        self._kind = ""

    def at(self, subject: str, phase: str) -> None:
        """What is being done within the stage; shown on a terminal only."""
        self._safe_point()
        if self._terminal:
            doing = f": {subject}, {phase}" if subject else ""
            self._rewrite(f"{self._title}{doing}{self._left()}")

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._terminal:
            self._rewrite("")
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def end(self) -> None:
        """Clears the line that renews itself."""
        if self._terminal:
            self._rewrite("")

    def seconds_left(self) -> float:
        """Expected seconds until every planned stage has ended."""
        left = 0.0
        for kind, stages in self._stages_left.items():
            taken = self._taken.get(kind)
            each = sum(taken) / len(taken) if taken else self._expected[kind]
            left += stages * each
            if kind == self._kind and stages:
                left -= min(each, self._clock() - self._began)
        return left

    def _left(self) -> str:
        left = self.seconds_left()
        return f" (about {left:.0f} s left)" if left >= 0.5 else ""

    def _rewrite(self, text: str) -> None:
        text = text[:WIDTH]
        if text != self._shown:
            self._stream.write("\r" + text.ljust(len(self._shown)) + ("" if text else "\r"))
            self._stream.flush()
            self._shown = text


def _nothing() -> None:
    return None


class Silent(Progress):
    """Says nothing."""

    def note(self, text: str) -> None:
        return None

    def stage(self, kind: str, title: str) -> None:
        return None

    def done(self) -> None:
        return None

    def at(self, subject: str, phase: str) -> None:
        return None

    def end(self) -> None:
        return None
