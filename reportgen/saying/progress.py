"""What is going on and how long it will take: one line that renews itself, or plain lines with a sign of life."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable
from typing import TextIO

REDRAW_SECONDS = 1.0
"""The line is renewed no more often: what changes faster cannot be read."""
HEARTBEAT_SECONDS = 30.0
"""Where there is no terminal, so long nothing is said within a stage."""
NARROWEST, WIDEST = 40, 100


class Progress:
    """Shows phase k of n, what is being done, the time gone and the time left of the whole.

    The plan says how many stages of each kind there will be and what one is expected to take; the
    stages that have ended, and what is learnt meanwhile, correct it. On a terminal one line is
    rewritten; elsewhere each new stage gets a line of its own, and a long one another every 30 s.

    safe_point: called where the capture may be broken off; it may raise
    after: what others do afterwards, as (kind, seconds), so that the time left is that of the whole
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic,
                 safe_point: Callable[[], None] | None = None, after: Iterable[tuple[str, float]] = ()) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._safe_point = safe_point or _nothing
        self._terminal = self._stream.isatty()
        self._stages_left: dict[str, int] = {}
        self._expected: dict[str, float | None] = {}
        self._taken: dict[str, list[float]] = {}
        self._started: list[str] = []
        self._after = tuple(after)
        self._kind, self._title, self._began = "", "", 0.0  # no kind between two stages
        self._last = ""
        self._begin, self._drawn, self._shown = clock(), -REDRAW_SECONDS, ""

    def plan(self, kind: str, stages: int, seconds: float | None) -> None:
        """There will be so many stages of this kind; one is expected to take so many seconds, `None` while nobody knows."""
        self._stages_left[kind], self._expected[kind] = stages, seconds

    def resume(self, kinds: Iterable[str]) -> None:
        """Stages of these kinds have ended, in another process; the ones that follow are counted on from there."""
        for kind in kinds:
            self._started.append(kind)
            self._expected[kind], self._stages_left[kind], self._taken[kind] = 0.0, 0, [0.0]

    def expect(self, kind: str, seconds: float, stages: int) -> None:
        """What one stage of the kind takes is known better now, and how many are left, the running one included."""
        self._expected[kind], self._stages_left[kind] = seconds, stages

    def at_least(self, kind: str, seconds: float) -> None:
        """One stage of the kind will take no less."""
        self._expected[kind] = max(seconds, self._expected.get(kind) or 0.0)

    def stage(self, kind: str, title: str) -> None:
        """A stage begins: `timing`, `timing, process 2 of 7`."""
        self._safe_point()
        self._kind, self._title, self._began = kind, title, self._clock()
        self._last = kind
        if kind not in self._started:
            self._started.append(kind)
        self._say(self._title, now=True)

    def done(self) -> None:
        """The stage has ended."""
        self._taken.setdefault(self._kind, []).append(self._clock() - self._began)
        self._stages_left[self._kind] = max(0, self._stages_left.get(self._kind, 0) - 1)
        self._kind = ""

    def at(self, subject: str, phase: str) -> None:
        """What is being done within the stage; shown when the line is renewed, or as a sign of life."""
        self._safe_point()
        self._say(self._title, f": {subject}, {phase}" if subject else "")

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

    def seconds_left(self) -> float | None:
        """Expected seconds until every planned stage has ended, and what comes after them; `None` while one is not known."""
        left = sum(seconds for _, seconds in self._after)
        for kind, stages in self._stages_left.items():
            taken = self._taken.get(kind)
            each = sum(taken) / len(taken) if taken else self._expected[kind]
            if each is None:
                if stages:
                    return None
                continue
            left += stages * each
            if kind == self._kind and stages:
                left -= min(each, self._clock() - self._began)
        return left

    def _say(self, title: str, detail: str = "", now: bool = False) -> None:
        wait = REDRAW_SECONDS if self._terminal else HEARTBEAT_SECONDS
        if not now and self._clock() - self._drawn < wait:
            return
        self._drawn = self._clock()
        line = f"{self._number()}{title}", detail, self._times()
        if self._terminal:
            self._rewrite(_fitting(*line, min(WIDEST, max(NARROWEST, shutil.get_terminal_size().columns - 1))))
        else:
            self._stream.write("".join(line) + "\n")
            self._stream.flush()

    def _number(self) -> str:
        """`[2/6] `: which kind of stage this is, among those that there will be."""
        kinds = [kind for kind in self._expected if self._stages_left.get(kind) or kind in self._taken or kind == self._kind]
        kinds += [kind for kind, _ in self._after]
        if len(self._expected) < 2:  # before the device is known nobody knows how many there will be
            return ""
        return f"[{self._started.index(self._last) + 1}/{len(kinds)}] " if self._last in kinds else ""

    def _times(self) -> str:
        gone, left = self._clock() - self._begin, self.seconds_left() if len(self._expected) > 1 else None
        parts = [f"{clock_time(gone)} gone"] if gone >= 0.5 else []
        parts += [f"about {clock_time(left)} left"] if left is not None and left >= 0.5 else []
        return f" ({', '.join(parts)})" if parts else ""

    def _rewrite(self, text: str) -> None:
        if text != self._shown:
            self._stream.write("\r" + text.ljust(len(self._shown)) + ("" if text else "\r"))
            self._stream.flush()
            self._shown = text


def _fitting(title: str, detail: str, times: str, width: int) -> str:
    """The parts that fit: what is being done goes first, then the times, never half a word."""
    for parts in ((title, detail, times), (title, times), (title,)):
        if len("".join(parts)) <= width:
            return "".join(parts)
    return title[:width]


def clock_time(seconds: float) -> str:
    """`9 s`, `2:05 min`, `1:02 h`."""
    whole = round(seconds)
    if whole < 90:
        return f"{whole} s"
    return f"{whole // 60}:{whole % 60:02d} min" if whole < 5400 else f"{whole // 3600}:{whole % 3600 // 60:02d} h"


def _nothing() -> None:
    return None


class Silent(Progress):
    """Says nothing."""

    def note(self, text: str) -> None:
        return None

    def _say(self, title: str, detail: str = "", now: bool = False) -> None:
        return None

    def end(self) -> None:
        return None
