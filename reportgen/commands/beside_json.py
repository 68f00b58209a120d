"""What lies beside a device's map as JSON for other tools: torch's answers, the bill of a new length, and attention beside the backends.

Times in microseconds, `null` for unknown, as in `map_json`.
"""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any

from ..questions import why_words
from ..shapes import answers, bill
from ..shapes.answers import Answer, Answers, Changed
from ..shapes.bill import Bill, Row
from ..shapes.folder import Folder
from ..shapes.record import Header, Reading, ShapeMap
from .map_json import reading_json


def to_json(folder: Folder) -> dict[str, Any]:
    """What `facts --json` has under `why`, `bill` and `extras`; each `null` where it was not recorded."""
    return {"why": _why(folder.answers) if folder.answers else None, "bill": _bill(folder.bill) if folder.bill else None, "extras": _extras(folder.extras) if folder.extras else None}


def _header(header: Header) -> dict[str, Any]:
    return {"software": dict(header.software), "recorded_on": header.recorded_on}


def _why(found: Answers) -> dict[str, Any]:
    return {**_header(found.header), "rounds": found.header.rounds, "calls": [_answer(one) for one in found.answers]}


def _answer(one: Answer) -> dict[str, Any]:
    best = why_words.same_result(one)
    return {"name": one.asked.name, "id": one.asked.id, **asdict(one.asked.call), "form": one.asked.form, "dropout": one.asked.dropout, "torch_picks": one.picked,
            "backends": _readings(one.readings), "same_result_in_less_time": None if best is None else {"write": _how(best), "saves_us": _us(why_words.saved(one, best))},
            "changes": [{"change": changed.change, "torch_picks": changed.picked, "backends": _readings(changed.readings)} for changed in one.changed]}


def _how(one: Changed | Reading) -> str:
    return one.change if isinstance(one, Changed) else f"pin {one.backend}"


def _readings(found: tuple[Reading, ...]) -> dict[str, Any]:
    return {one.backend: {**reading_json(one), "in_its_own_words": answers.own_words(one.backend, one.reason) if one.state == "refused" else None} for one in found}


def _bill(found: Bill) -> dict[str, Any]:
    return {**_header(found.header), "call": asdict(found.call), "switch": bill.SWITCH, "rows": [_row(row) for row in found.rows]}


def _row(row: Row) -> dict[str, Any]:
    return {"id": row.id, "backend": row.backend, "mask": row.mask, "gradients": row.gradients, "switch_set": row.avoid, "layout": row.layout, "reason": row.reason,
            "lengths": list(row.lengths), "first_us": [_us(value) for value in row.first], "later_us": [_us(value) for value in row.later],
            "new_length_us": _us(median(row.new)) if row.new else None}


def _extras(found: ShapeMap) -> dict[str, Any]:
    return {**_header(found.header), "points": [{"id": point.call.id, "ways": {one.backend: reading_json(one) for one in point.readings}} for point in found.points]}


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e6, 4)
