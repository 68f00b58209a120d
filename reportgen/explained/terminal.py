"""A ledger as text for a terminal."""

from __future__ import annotations

from textwrap import wrap

from ..ledger import words
from ..ledger.model import Ledger
from .sheet import Row, sheet

WIDTH = 118
FEW_SHAPES = 4


def page(ledger: Ledger) -> str:
    """What to know first, the answer, a paragraph per place, the rest."""
    of = sheet(ledger)
    lines = [of.title, of.small, ""]
    lines += [line for caveat in of.caveats for line in _item(caveat, "! ")] + ([""] if of.caveats else [])
    lines += [*_wrapped(of.headline), *_wrapped(of.verdict), ""]
    for number, row in enumerate(of.rows, 1):
        lines += [*_row(number, row, of.clock), ""]
    lines += _wrapped(of.left_out) + _wrapped(of.rest)
    for fold in of.folds[:-1]:  # the last tells how the page counts
        lines += ["", *_wrapped(fold.title if fold.title.endswith(".") else f"{fold.title}:"), *(line for one in fold.lines[:FEW_SHAPES] for line in _item(one, "- "))]
    return words.plain("\n".join(lines))


def _row(number: int, row: Row, clock: str) -> list[str]:
    passes = f" ({row.passes})" if row.passes else ""
    lines = [*_item(f"{row.place}: {row.how}", f"{number}. "), *_item(f"{clock} {row.time}{passes}, {row.percent}; calls: {row.calls}", "   ")]
    lines += [line for given, calls, time in row.shapes.rows[:FEW_SHAPES] for line in _item(f"{calls} × {given}: {time}", "   ")]
    for sign, told in (("   ! ", (row.wrong,)), ("   + ", row.beside), ("   why: ", row.why), ("   → ", tuple(f"{one.text}{f' ({one.page})' if one.page else ''}" for one in row.todo))):
        lines += [line for one in told if one for line in _item(one, sign)]
    return lines


def _item(text: str, sign: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent=sign, subsequent_indent=" " * len(sign), break_long_words=False, break_on_hyphens=False) or [sign.rstrip()]


def _wrapped(text: str) -> list[str]:
    return wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False) if text else []
