"""A Kineto trace, event by event: never the whole document in memory, and what a damaged file still holds.

A profiler of a whole model writes hundreds of megabytes. `json.load` takes five times that in memory, and a file that was cut
short, or holds one name with an unescaped quote, is lost to it altogether.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

LONGEST_EVENT = 2**22
"""Characters; an event is longer only where something before it is broken."""
LONGEST_OTHER = 2**26
"""Characters of what stands beside the events (`deviceProperties`, stack frames)."""
_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,]*")
_NEXT = re.compile(r'(?<=\})\s*,?\s*(?=\{\s*"(?:ph|cat|name|pid|tid|ts|dur|s|id|args)"\s*:)')
"""Where an event begins, as far as one can tell from the text alone."""


class NoTrace(Exception):
    """The text is no trace: neither a list of events nor an object that has one."""


class Stream:
    """Events of a text that comes in pieces.

    other: what the document holds beside its events, by key; complete when `events` has ended
    cut: how the text ended before the document did, in words, or `None`
    damaged: places at which no event could be read, and the next one was looked for
    """

    def __init__(self, pieces: Iterable[str]) -> None:
        self.other: dict[str, Any] = {}
        self.cut: str | None = None
        self.damaged = 0
        self._pieces = iter(pieces)
        self._text, self._at, self._ended = "", 0, False
        self._scan = json.JSONDecoder(strict=False).scan_once  # type: ignore[attr-defined]  # the stubs leave it out

    def events(self) -> Iterator[dict[str, Any]]:
        """Each event, in the order of the file; members of the list that are no objects are counted as damaged.

        Raises:
            NoTrace: before the first event.
        """
        opening = self._sign()
        if opening == "[":
            self._at += 1
            yield from self._list()
        elif opening == "{":
            self._at += 1
            yield from self._object()
        else:
            raise NoTrace("it is empty" if opening == "" else f"it begins with {self._text[self._at:self._at + 20]!r}")

    def _object(self) -> Iterator[dict[str, Any]]:
        found = False
        while True:
            sign = self._sign(_BETWEEN)
            if sign in ("}", ""):
                if sign == "":
                    self._cut_off()
                break
            key = self._value(LONGEST_EVENT)
            if self._sign() != ":" or not isinstance(key, str):
                self._cut_off()
                break
            self._at += 1
            if self._sign() == "[" and key == "traceEvents":
                found = True
                self._at += 1
                yield from self._list()
                continue
            value = self._value(LONGEST_OTHER)
            if self.cut is not None:
                break
            self.other[key] = value
        if not found:
            raise NoTrace("it has no list `traceEvents`")

    def _list(self) -> Iterator[dict[str, Any]]:
        scan = self._scan
        while True:
            text, at = self._text, self._at
            size = len(text)
            while True:  # the common case, without a call: a comma, some blanks, an object
                while at < size and text[at] in ", \n\r\t":
                    at += 1
                if at >= size or text[at] != "{":
                    break
                try:
                    event, at = scan(text, at)
                except (StopIteration, ValueError, RecursionError):
                    break
                yield event
            self._at = at
            sign = self._sign(_BETWEEN)
            if sign == "]":
                self._at += 1
                return
            if sign == "":
                self._cut_off()
                return
            value = self._value(LONGEST_EVENT, resume=True)
            if self.cut is not None:
                return
            if isinstance(value, dict):
                yield value
            elif value is not _NOTHING:
                self.damaged += 1

    def _sign(self, skipped: re.Pattern[str] = _SPACE) -> str:
        """The next character that is not skipped; empty at the end of the text."""
        while True:
            self._at = skipped.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _more(self) -> bool:
        """Takes the next piece and drops what has been read."""
        if self._ended:
            return False
        piece = next(self._pieces, None)
        if piece is None:
            self._ended = True
            return False
        self._text, self._at = self._text[self._at:] + piece, 0
        return True

    def _value(self, longest: int, resume: bool = False) -> Any:
        """The value that begins here. resume: where there is none, the next event is looked for, and `_NOTHING` given."""
        while True:
            try:
                value, end = self._scan(self._text, self._at)
                if end < len(self._text) or not isinstance(value, (int, float)) or not self._more():  # a number may go on in the next piece
                    self._at = end
                    return value
                continue
            except (StopIteration, ValueError, RecursionError):
                if len(self._text) - self._at <= longest and self._more():
                    continue
            if self._ended and not (resume and self._skip()):
                self._cut_off()
                return _NOTHING
            if not resume:
                self.cut = "something beside its events cannot be read"
                return _NOTHING
            if not self._ended and not self._skip():
                self._at = len(self._text)
            return _NOTHING

    def _skip(self) -> bool:
        """Goes on to where the next event seems to begin, behind what cannot be read."""
        found = _NEXT.search(self._text, self._at + 1)
        if found is None:
            return False
        self.damaged += 1
        self._at = found.end()
        return True

    def _cut_off(self) -> None:
        self.cut = "it ends before its last event does"
        self._at = len(self._text)


_NOTHING: Any = object()
