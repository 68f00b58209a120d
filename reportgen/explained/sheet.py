"""A ledger → what stands on its page, as text, apart from any markup."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from ..ledger import words
from ..ledger.model import CallSite, Direction, Ledger, Shape
from ..saying.units import Count, Seconds, plural

MOST = 40
"""Rows of a page; the JSON has them all."""
FEW = 12
"""Shapes, kernels and stretches of one fold."""


@dataclass(frozen=True)
class Todo:
    """What to do, and the page that explains it where there is one."""

    text: str
    page: str | None = None


@dataclass(frozen=True)
class Grid:
    """A small table. numeric: which columns hold numbers."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]
    left_out: str = ""


@dataclass(frozen=True)
class Row:
    """A call site. share: from 0 to 1; details: the source line in full and the ops around it."""

    place: str
    how: str
    calls: str
    time: str
    passes: str
    share: float
    percent: str
    beside: tuple[str, ...]
    why: tuple[str, ...]
    todo: tuple[Todo, ...]
    wrong: str
    details: tuple[str, ...]
    shapes: Grid
    kernels: Grid


@dataclass(frozen=True)
class Fold:
    """What stands behind a line. open: shown at once."""

    title: str
    lines: tuple[str, ...]
    open: bool = False


@dataclass(frozen=True)
class Sheet:
    """A page. caveats: before anything else; clock: whose time the columns hold."""

    title: str
    small: str
    headline: str
    verdict: str
    caveats: tuple[str, ...]
    clock: str
    rows: tuple[Row, ...]
    left_out: str
    rest: str
    folds: tuple[Fold, ...]


def sheet(ledger: Ledger) -> Sheet:
    """Everything that a page of this ledger says."""
    rows = tuple(_row(site, ledger) for site in ledger.sites[:MOST])
    hidden = ledger.sites[MOST:]
    left_out = f"{plural(len(hidden), 'more place')} with {Seconds(sum(site.time.seconds for site in hidden))} in all; `--json` has every one." if hidden else ""
    name = PurePath(ledger.file.replace("\\", "/")).name or ledger.file
    return Sheet(f"Attention in {name}", _small(ledger), words.headline(ledger), words.verdict(ledger), words.caveats(ledger), "CPU time" if ledger.host else "GPU time",
                 rows, left_out, words.rest(ledger), _folds(ledger))


def _small(ledger: Ledger) -> str:
    """Devices, how long the trace spans, what was recorded."""
    names = list(dict.fromkeys(device.name or f"device {device.number}" for device in ledger.devices)) or ["no GPU"]
    held = [name for name, told in (("ops", ledger.recorded.ops), ("shapes", ledger.recorded.shapes), ("strides", ledger.recorded.strides), ("values", ledger.recorded.values),
                                    ("stacks", ledger.recorded.stacks), ("modules", ledger.recorded.modules)) if told]
    return f"{', '.join(names)} · spans {Seconds(ledger.totals.span)} · recorded: {', '.join(held) or 'kernels alone'}"


def _row(site: CallSite, ledger: Ledger) -> Row:
    passes = f"forward {words.time(site.forward)}, backward {words.time(site.backward)}" if site.forward.seconds and site.backward.seconds else "backward only" if site.backward.seconds else ""
    wrong = f"{words.capital(words.mistaken(site))}: `docs/findings/is-it-right.md`." if site.wrong else ""
    todo = tuple(Todo(words.capital(words.advice(one)), words.page_of(one.finding) if one.finding else None) for one in site.advice)
    where = site.where
    details = tuple(text for text in (f"Line: {words.code(where.line)}" if where.line else "", f"Module: {words.code(where.module)}" if where.module else "",
                                      f"Ops: {words.code(' > '.join(where.path))}" if where.path else "", f"Kernel: {words.code(where.kernel)}" if where.kernel else "") if text)
    return Row(words.capital(words.where(where)), words.kind(site), str(Count(len(site.calls))), words.time(site.time), passes, site.share, words.share(site.share),
               tuple(words.capital(words.drag(one)) for one in site.drags), tuple(words.reason(one) for one in site.reasons), todo, wrong, details,
               _shapes(site.shapes), _kernels(site, ledger))


def _shapes(shapes: tuple[Shape, ...]) -> Grid:
    told = any(one.arguments is not None for one in shapes)
    rows = tuple((words.arguments(one.arguments), str(Count(one.calls)), words.time(one.time)) for one in shapes[:FEW]) if told else ()
    return Grid(("Given", "Calls", "Time"), rows, (False, True, True), _more(len(shapes)))


def _kernels(site: CallSite, ledger: Ledger) -> Grid:
    rows = tuple((words.short(one.name), one.family or "not attention's own", "backward" if one.direction is Direction.BACKWARD else "forward",
                  str(Count(one.time.activities)), words.time(one.time)) for one in site.kernels[:FEW])
    return Grid(("Kernel or copy", "Family", "Pass", "Times", "Time"), rows, (False, False, False, True, True), _more(len(site.kernels)))


def _more(count: int) -> str:
    return f"{Count(count - FEW)} more." if count > FEW else ""


def _folds(ledger: Ledger) -> tuple[Fold, ...]:
    more = words.more(ledger)
    longest = sorted(ledger.stretches, key=lambda one: -one.idle)[:FEW]
    zeros = sorted(ledger.false_zeros, key=lambda one: -one.seconds)[:FEW]
    return tuple(fold for fold in (
        Fold("Record more next time", more, open=bool(more)),
        Fold(words.stretches(ledger), tuple(words.stretch(one) for one in longest)),
        Fold(words.false_zeros(ledger), tuple(words.false_zero(one) for one in zeros)),
        Fold("What this page counts", words.method(ledger)),
    ) if fold.lines)
