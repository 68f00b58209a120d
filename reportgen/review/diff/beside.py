"""What lies beside two maps of one device: another pick or refusal of torch's, another price of a new length. Pure but for reading the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from statistics import median

from ...shapes import answers
from ...shapes.answers import Answer, Answers
from ...shapes.bill import Bill, Row
from ...shapes.folder import Folder
from ...shapes.record import Header, Reading

MOST = 12
"""Changes of one kind that are named; the rest is counted."""
BEYOND = 1.5
"""Times as much that the median new length must cost, or save: two processes of the same code lay up to 1.35 apart on an H200."""


class Answered(Enum):
    """What torch answers otherwise, in the order in which it is told; the value is its head."""

    WRONG = "Wrong now, and right before"
    PICKED = "torch picks another backend"
    REFUSED = "Declined now, and taken before"
    TAKEN = "Taken now, and declined before"
    WORDS = "Declined in other words"
    RIGHT = "Right now, and wrong before"


@dataclass(frozen=True)
class AnswerChange:
    """name: of the call; backend: of whom that is said, for PICKED nobody; old, new: the picks, or torch's words"""

    answered: Answered
    name: str
    backend: str | None
    old: str | None
    new: str | None


@dataclass(frozen=True)
class BillChange:
    """A way of calling. old, new: seconds of the median new length; `None` where it had, or has, no price. reason: why it has none now"""

    row: Row
    old: float | None
    new: float | None
    reason: str | None = None


@dataclass(frozen=True)
class BesideDiff:
    """answers, bill: what changed; asked: calls of both sides; rows: ways of calling of both sides; software: name → old and new version, of either file"""

    slug: str
    answers: tuple[AnswerChange, ...]
    bill: tuple[BillChange, ...]
    asked: int
    rows: int
    software: Mapping[str, tuple[str | None, str | None]]


def compare(old: Folder, new: Folder) -> BesideDiff:
    """The calls and ways of calling that both sides have."""
    calls = list(_both(old.answers, new.answers))
    changes = sorted((change for pair in calls for change in _answered(*pair)), key=lambda change: list(Answered).index(change.answered))
    rows = list(_rows(old.bill, new.bill))
    bills = tuple(change for pair in rows if (change := _bill(*pair)) is not None)
    software: dict[str, tuple[str | None, str | None]] = {}
    for before, after in ((old.answers, new.answers), (old.bill, new.bill)):
        if before is not None and after is not None:
            software |= _software(before.header, after.header)
    return BesideDiff(new.slug, tuple(changes), bills, len(calls), len(rows), software)


def _software(old: Header, new: Header) -> dict[str, tuple[str | None, str | None]]:
    return {name: (old.software.get(name), new.software.get(name)) for name in {**old.software, **new.software} if old.software.get(name) != new.software.get(name)}


def _both(old: Answers | None, new: Answers | None) -> Iterator[tuple[Answer, Answer]]:
    before = {one.asked: one for one in old.answers} if old else {}
    yield from ((before[one.asked], one) for one in (new.answers if new else ()) if one.asked in before)


def _answered(a: Answer, b: Answer) -> Iterator[AnswerChange]:
    name = b.asked.name
    if a.picked != b.picked:
        yield AnswerChange(Answered.PICKED, name, None, a.picked, b.picked)
    for reading in b.readings:
        before = answers.reading(a.readings, reading.backend)
        if before is not None and (kind := _turned(before, reading)) is not None:
            yield AnswerChange(kind, name, reading.backend, _words(before), _words(reading))


def _turned(a: Reading, b: Reading) -> Answered | None:
    if a.state == "wrong" or b.state == "wrong":
        return None if a.state == b.state else Answered.WRONG if b.state == "wrong" else Answered.RIGHT if b.state == "ok" else Answered.REFUSED
    if (a.state == "ok") != (b.state == "ok"):
        return Answered.TAKEN if b.state == "ok" else Answered.REFUSED
    return Answered.WORDS if _words(a) != _words(b) else None


def _words(reading: Reading) -> str | None:
    return None if reading.state in ("ok", "wrong") else answers.own_words(reading.backend, reading.reason)


def _rows(old: Bill | None, new: Bill | None) -> Iterator[tuple[Row, Row]]:
    if old is None or new is None or old.call != new.call:
        return
    before = {_way(row): row for row in old.rows}
    yield from ((before[_way(row)], row) for row in new.rows if _way(row) in before)


def _way(row: Row) -> tuple[object, ...]:
    return row.backend, row.mask, row.gradients, row.avoid, row.layout


def _bill(a: Row, b: Row) -> BillChange | None:
    """A change beyond what two processes of the same code lie apart; lengths that only one side has called are left out."""
    if bool(a.new) != bool(b.new):
        return BillChange(b, median(a.new) if a.new else None, median(b.new) if b.new else None, b.reason)
    shared = set(a.lengths[1:]) & set(b.lengths[1:])
    one, two = ([price for length, price in zip(row.lengths[1:], row.new) if length in shared] for row in (a, b))
    if not shared:
        return None
    before, after = median(one), median(two)
    if min(before, after) <= 0 or not (after > BEYOND * before or before > BEYOND * after) or _mixed(one, two):
        return None
    return BillChange(b, before, after)


def _mixed(one: list[float], two: list[float]) -> bool:
    """Whether the middle halves of the two overlap."""
    (low, high), (low_, high_) = ((ordered[len(ordered) // 4], ordered[-1 - len(ordered) // 4]) for ordered in (sorted(one), sorted(two)))
    return low <= high_ and low_ <= high


def markdown(diff: BesideDiff) -> str:
    """One comparison under a heading of level 3; nothing where neither answers nor bill nor software changed."""
    from ...saying.tables import prose
    from ...saying.units import listed, plural

    if not diff.answers and not diff.bill and not diff.software:
        return ""
    said = [f"{'**torch answers otherwise.**' if diff.answers else 'torch answers as before.'} {plural(diff.asked, 'call')} asked about on both sides."] if diff.asked else []
    said += [f"{'**A new length has another price.**' if diff.bill else 'No new length has another price.'} {plural(diff.rows, 'way')} of calling on both sides."] if diff.rows else []
    said += [f"Other software: {listed([f'{name} {old or NONE} → {new or NONE}' for name, (old, new) in diff.software.items()])}."] if diff.software else []
    blocks = [f"### What torch answers on `{diff.slug}`, and the bill of a new length", " ".join(said)]
    for kind in Answered:
        found = [change for change in diff.answers if change.answered is kind]
        if found:
            more = [f"- and {len(found) - MOST} more"] if len(found) > MOST else []
            blocks.append("\n".join([f"#### {kind.value}: {plural(len({change.name for change in found}), 'call')}", "", *(prose(line) for line in [*map(_turn, found[:MOST]), *more])]))
    if diff.bill:
        blocks.append("\n".join([f"#### The price of a new length: {plural(len(diff.bill), 'way')} of calling", "", *(prose(_price(change)) for change in diff.bill[:MOST])]))
    return "\n\n".join(blocks)


NONE = "none"


def _turn(change: AnswerChange) -> str:
    from ...questions.why_words import title

    if change.answered is Answered.PICKED:
        return f"- {title(change.old)} → {title(change.new)}: {change.name}"
    told = {Answered.REFUSED: f": {change.new}", Answered.TAKEN: f": before, {change.old}", Answered.WORDS: f": {change.new} (before: {change.old})"}.get(change.answered, "")
    return f"- {title(change.backend)}: {change.name}{told}"


def _price(change: BillChange) -> str:
    from ...questions import bill_words
    from ...saying.units import Seconds, text

    old, new = (text(Seconds(price)) if price is not None else "no price" for price in (change.old, change.new))
    return f"- {bill_words.way(change.row)}, {bill_words.what(change.row)}: {old} → {new}{f' ({change.reason})' if change.reason else ''}"


def as_json(diff: BesideDiff) -> dict[str, object]:
    return {"answers": [{"what": one.answered.name.lower(), "call": one.name, "backend": one.backend, "old": one.old, "new": one.new} for one in diff.answers],
            "bill": [{"row": one.row.id, "old_us": _us(one.old), "new_us": _us(one.new), "reason": one.reason} for one in diff.bill],
            "both": {"calls": diff.asked, "rows": diff.rows}, "software": {name: list(pair) for name, pair in diff.software.items()}}


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e6, 4)
