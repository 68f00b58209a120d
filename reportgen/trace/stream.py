"""A Kineto trace, event by event: never the whole document in memory, and what a damaged file still holds.

A profiler of a whole model writes hundreds of megabytes. `json.load` takes five times that in memory, and a file that was cut
short, or holds one name with an unescaped quote, is lost to it altogether.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

LONGEST_EVENT = 2**22
"""Characters; an event is longer only where something before it is broken."""
LONGEST_OTHER = 2**23
"""Characters of one value beside the events (`deviceProperties`): Python makes up to twenty times as many bytes of them."""
COMPACT = 2**15
"""Characters that may lie behind: where something is broken, `json` counts the lines from the begin of the text up to there, each time."""
_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"[ \t\n\r,]*")
_NEXT = re.compile(r'\{\s{0,40}"(?:ph|cat|name|pid|tid|ts|dur|s|id|args)"\s{0,4}:')
"""Where an event begins, as far as one can tell from the text alone: an object behind another one."""
_BEHIND = 100
"""Characters between the two at most; without a bound, blanks would cost their square."""


class NoTrace(Exception):
    """The text is no trace: neither a list of events nor an object that has one."""


class Stream:
    """Events of a text that comes in pieces.

    other: what the document holds beside its events, by key, of the keys in `beside` alone if that is given; complete when `events` has ended
    cut: how the text ended before the document did, in words, or `None`
    damaged: places at which no event could be read, and the next one was looked for; what stands behind the document's end is one
    """

    def __init__(self, pieces: Iterable[str], beside: Collection[str] | None = None) -> None:
        self._beside = beside
        self.other: dict[str, Any] = {}
        self.cut: str | None = None
        self.damaged = 0
        self._pieces = iter(pieces)
        self._text, self._at, self._ended, self._unreadable = "", 0, False, False
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
        if self.cut is None and self._sign():
            self.damaged += 1

    def _object(self) -> Iterator[dict[str, Any]]:
        found = False
        while True:
            sign = self._sign(_BETWEEN)
            if sign == "}":
                self._at += 1
                break
            if sign == "":
                self._cut_off()
                break
            key = self._value(LONGEST_EVENT)
            if self._sign() != ":" or not isinstance(key, str):
                self._cut_off()
                break
            self._at += 1
            if self._sign() == "[" and key == "traceEvents":
                self.damaged += found  # a second list is none of the document's, as `json` reads it
                found = True
                self._at += 1
                yield from self._list()
                continue
            value = self._value(LONGEST_OTHER)
            if self.cut is not None:
                break
            if self._beside is None or key in self._beside:
                self.other[key] = value
        if not found:
            raise NoTrace("what stands before its events cannot be read" if self._unreadable else "it has no list `traceEvents`")

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

    def _more(self, least: int = 1) -> bool:
        """Takes the next pieces, of so many characters at least, and drops what has been read."""
        taken = []
        while least > 0 and not self._ended:
            piece = next(self._pieces, None)
            if piece is None:
                self._ended = True
            else:
                taken.append(piece)
                least -= len(piece)
        if taken:
            self._text, self._at = "".join((self._text[self._at:], *taken)), 0
        return bool(taken)

    def _value(self, longest: int, resume: bool = False) -> Any:
        """The value that begins here. resume: where there is none, the next event is looked for, and `_NOTHING` given."""
        if self._at > COMPACT:
            self._text, self._at = self._text[self._at:], 0
        while True:
            try:
                value, end = self._scan(self._text, self._at)
                if end < len(self._text) or not isinstance(value, (int, float)) or not self._more():  # a number may go on in the next piece
                    self._at = end
                    return value
                continue
            except (StopIteration, ValueError, RecursionError) as error:
                held = len(self._text) - self._at
                cut_off = self._may_go_on(error)
                if held <= longest and cut_off and self._more(min(held, longest - held + 1)):  # twice as much each time
                    continue
            if resume and self._skip():
                return _NOTHING
            if resume or cut_off and self._ended:
                self._cut_off()
            else:
                self.cut, self._unreadable = "something beside its events cannot be read", True
            return _NOTHING

    def _may_go_on(self, error: Exception) -> bool:
        """Whether what could not be read lies at the end of the text at hand, so that more of it may help."""
        if isinstance(error, json.JSONDecodeError):
            return error.msg.startswith("Unterminated") or error.pos + _LONGEST_WORD > len(self._text)
        return isinstance(error, StopIteration) and error.value + _LONGEST_WORD > len(self._text)

    def _skip(self) -> bool:
        """Goes on to where the next event seems to begin, behind what cannot be read; `False` where the text ends before that."""
        start = self._at + 1
        while True:
            for found in _NEXT.finditer(self._text, start):
                begin = found.start()
                if self._text[max(self._at, begin - _BEHIND):begin].rstrip(" \t\n\r,").endswith("}"):
                    self.damaged += 1
                    self._at = begin
                    return True
            self._at = dropped = max(self._at, len(self._text) - 2 * _BEHIND)
            if not self._more():
                return False
            start = max(0, start - dropped)

    def _cut_off(self) -> None:
        self.cut = "it ends before its last event does"
        self._at = len(self._text)


_LONGEST_WORD = len("-Infinity") + 4
_NOTHING: Any = object()
