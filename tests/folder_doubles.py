"""What lies beside a map, made up: answers, a bill, extras. Times in microseconds."""

from __future__ import annotations

from typing import Any

from map_doubles import US, reading, shape_map, square

from reportgen.shapes import Call
from reportgen.shapes.answers import Answer, Answers, Changed
from reportgen.shapes.asked import Asked, Change
from reportgen.shapes.bill import Bill, Row
from reportgen.shapes.folder import Folder
from reportgen.shapes.record import Point, Reading

NO_MASK = ("No available kernel. Aborting execution. Memory efficient kernel not used because:. Memory Efficient attention has been runtime disabled. Flash attention kernel not "
           "used because:. Flash Attention does not support non-null attn_mask. cuDNN attention kernel not used because:. cuDNN attention has been runtime disabled.")


def readings(**told: float | str) -> tuple[Reading, ...]:
    """As `map_doubles.reading`; a text that is no state is what torch said when it refused."""
    states = ("refused", "wrong", "no memory", "untimed")
    return tuple(reading(name, value) if not isinstance(value, str) or value in states else Reading(name, "refused", value) for name, value in told.items())


def answer(name: str, picked: str | None, call: Call | None = None, changed: tuple[Changed, ...] = (), **told: float | str) -> Answer:
    return Answer(Asked(name, call or square(1024)), picked, readings(**told), 0.5, (3, 64), changed)


def after(change: Change, picked: str, **told: float | str) -> Changed:
    return Changed(change, Asked("x", square(1024)), picked, readings(**told))


def asked(*answers: Answer, kind: str = "cuda") -> Folder:
    header = shape_map(kind=kind).header
    return Folder(header.device.slug, answers=Answers(header, answers))


LENGTHS = (256, 512, 1024)


def row(backend: str, first: float, later: float, *, avoid: bool = False, mask: bool = False, reason: str | None = None, layout: Any = "bhsd") -> Row:
    """A way of calling whose new lengths all cost `first` milliseconds more than the `later` microseconds of a later call."""
    if reason:
        return Row(backend, mask, False, avoid, reason=reason, layout=layout)
    return Row(backend, mask, False, avoid, LENGTHS, (2.0, *(first / 1000 + later * US,) * 2), (later * US,) * 3, (later * US,) * 3, layout=layout)


def bill(*rows: Row) -> Folder:
    header = shape_map().header
    return Folder(header.device.slug, bill=Bill(header, square(1024), rows))


def extras(*points: Point) -> Folder:
    found = shape_map(*points)
    return Folder(found.header.device.slug, extras=found)
