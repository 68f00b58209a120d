"""The numbers of a chart as CSV: what stands in its data, one row per mark."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


def table(form: str, data: Any) -> str:
    """CSV with a head; numbers as they were measured, in full; an empty field is not measured."""
    return written(_rows(form, data))


def written(rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV. Words that a spreadsheet would take for a formula get an apostrophe before them."""
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([_harmless(cell) for cell in row] for row in rows)
    return buffer.getvalue()


def _harmless(cell: Any) -> Any:
    if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@") and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return "" if cell is None else cell


def _rows(form: str, data: Any) -> list[Sequence[Any]]:
    unit = f" ({data['unit']})" if form in ("bars", "stacked", "waterfall") and data.get("unit") else ""
    if form == "bars":
        return _bars(data, unit)
    if form == "stacked":
        return [["", *(f"{name}{unit}" for name, _ in data["series"])], *([label, *(values[index] for _, values in data["series"])] for index, label in enumerate(data["labels"]))]
    if form == "curve":
        return [[str(data["size"]), *(f"{label} ({data['unit']})" for label, _, _ in data["series"])],
                *([size, *(values[index] for _, _, values in data["series"])] for index, size in enumerate(data["sizes"]))]
    if form == "history":
        return [["state", *(f"{row[0]} ({name})" for row in data["rows"] for name in ("change", "low", "high"))],
                *([state, *(None if row[3][index] is None else row[3][index][part] for row in data["rows"] for part in range(3))] for index, state in enumerate(data["states"]))]
    if form == "waterfall":
        return [["step", f"change{unit}", f"total{unit}"], [data["start"][0], None, data["start"][1]], *([label, value, None] for label, value in data["steps"]), [data["end"][0], None, data["end"][1]]]
    if form == "lanes":
        return [["lane", "name", "kind or depth", "start (µs)", "duration (µs)", "launched (µs)"], *(["CPU", name, depth, start, duration, None] for name, start, duration, depth in data["ops"]),
                *(["GPU", label, kind, start, duration, launch] for label, kind, start, duration, launch in data["activities"])]
    if form == "forwards":
        return [["forward", "role", "start (µs)", "duration (µs)"], *([label, *step] for label, _, steps in data["forwards"] for step in steps)]
    if form == "roofline":
        return [["what", "FLOP per byte", "FLOP per second"], *([label, intensity, rate] for label, _, intensity, rate in data["points"]),
                *([name, None, value] for name, value in data["ceilings_flop"])]
    if form == "memory":
        return [["memory", "size", "holds"], *data["levels"]]
    if form == "slots":
        return [["kernel", "warps per block", "blocks", "slots", "resource", "share held"], *([label, warps, blocks, count, name, share] for label, _, warps, blocks, count, _, gauges in data["panels"] for name, share in gauges)]
    return [["sequence", "queries per tile", "keys per tile", "causal"], [data["sequence"], data["queries"], data["keys"], data["causal"]]]


def _bars(data: Any, unit: str) -> list[Sequence[Any]]:
    extra = [(key, str(data.get("reference_label") or "reference") if key == "reference" else key) for key in ("low", "high", "reference") if data.get(key)]
    return [["", f"value{unit}", *(f"{name}{unit}" for _, name in extra)],
            *([label, data["values"][index], *(data[key][index] for key, _ in extra)] for index, label in enumerate(data["labels"]))]
