"""Horizontal bars from zero: one row per label, the label above its bar, the value at its end.

Bars that the largest one leaves as slivers are drawn once more below, on an axis of their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import INK, PAPER, Look, look, of_variant

ROW, BAR = 44, 18
VALUE_ROOM = 100
SLIVER = 8
"""A bar below one part in so many of the axis is too short to be compared."""


@dataclass(frozen=True)
class Row:
    label: str
    value: float | None
    low: float | None
    high: float | None
    reference: float | None
    look: Look


def bars(data: Any) -> Figure:
    """Bars on a linear axis.

    Raises:
        ValueError: a logarithmic axis is asked for, on which lengths mean nothing.
    """
    if data.get("log"):
        raise ValueError("bars have no logarithmic axis: their lengths would mean nothing; draw points")
    rows, unit = _rows(data), str(data.get("unit", ""))
    beside = data.get("reference_as") == "beside"
    key = str(data.get("reference_label") or "the article") if any(row.reference is not None for row in rows) else ""
    panels = [rows]
    zoomed = _slivers(rows)
    if zoomed:
        panels.append(zoomed)
    key_lines = style.wrapped(f"In grey: {key}" if beside else key, style.INNER - 14, style.SMALL) if key else []
    height = (style.SMALL_LINE * len(key_lines) + 6 if key_lines else 0) + sum(ROW * max(len(panel), 1) + 30 for panel in panels) + (24 if zoomed else 0)
    ax, y = style.sheet(data, height)
    if key and not beside:
        style.line(ax, [style.MARGIN + 3] * 2, [y, y + 16], INK, 3)
    for text in key_lines:
        style.small(ax, style.MARGIN + (0 if beside else 12), y + 8, text)
        y += style.SMALL_LINE
    y += 6 if key_lines else 0
    stretch = data.get("reference_as") == "axis"
    first = _end(rows, stretch)
    for index, panel in enumerate(panels):
        if index:
            style.small(ax, style.MARGIN, y + 8, f"The shortest again, {style.tick(float(f'{first / _end(panel, stretch):.2g}'))} times as long:")
            y += 24
        _panel(ax, panel, y, unit, beside, _end(panel, stretch))
        y += ROW * max(len(panel), 1) + 30
    return ax.figure


def _rows(data: Any) -> list[Row]:
    labels = [str(label) for label in data["labels"]]
    values, low, high, reference = (list(data.get(key) or [None] * len(labels)) if key != "values" else list(data[key]) for key in ("values", "low", "high", "reference"))
    ids, keys = data.get("ids"), data.get("keys")
    looks = [of_variant(name) if ids else look(key) for name, key in zip(ids or labels, keys or ["part:measure"] * len(labels))]
    return [Row(*each) for each in zip(labels, values, low, high, reference, looks)]


def _end(rows: list[Row], stretch: bool) -> float:
    """The axis ends at a round number that holds every bar. stretch: every mark as well; else one beyond it becomes an arrow."""
    known = [v for row in rows for v in (row.value, row.high, row.reference if stretch else None) if v is not None and math.isfinite(v)]
    return style.step_above(max(known, default=1.0))


def _slivers(rows: list[Row]) -> list[Row]:
    """The rows to be drawn again, or none: slivers beside another bar, if they differ among themselves."""
    known = [row for row in rows if row.value is not None]
    found = [row for row in known if row.value is not None and row.value <= _end(rows, False) / SLIVER]
    return found if len(found) < len(known) and len({row.value for row in found}) > 1 else []


def _panel(ax: Axes, rows: list[Row], top: float, unit: str, beside: bool, end: float) -> None:
    said = [style.number(row.value, unit) for row in rows if row.value is not None]
    scale = (style.INNER - _room(said)) / end
    style.grid(ax, end, scale, top, top + ROW * max(len(rows), 1), unit)
    for index, row in enumerate(rows):
        y = top + ROW * index
        note = f"{style.number(row.reference, unit)}" if beside and row.reference is not None else ""
        room = style.INNER - (style.text_width(note, style.SMALL) + 12 if note else 0)
        style.say(ax, style.MARGIN, y + 10, style.fitted(row.label, room))
        if note:
            style.small(ax, style.WIDTH - style.MARGIN, y + 10, note, ha="right")
        if row.value is None:
            style.small(ax, style.MARGIN, y + 30, "not measured")
        else:
            _bar(ax, row, y, scale, unit, None if beside else row.reference, end)


def _room(said: list[str]) -> float:
    """Room for the longest value's text, in steps, so that another digit does not move every bar."""
    widest = max((style.text_width(text) * style.BOLD for text in said), default=0.0)
    return max(VALUE_ROOM, 20 * math.ceil((widest + 24) / 20))


def _bar(ax: Axes, row: Row, y: float, scale: float, unit: str, mark: float | None, end: float) -> None:
    assert row.value is not None
    left, value = style.MARGIN, style.number(row.value, unit)
    span = f" ({style.number(row.low, unit)} to {style.number(row.high, unit)} over the processes)" if row.low is not None and row.high is not None else ""
    style.box(ax, left, y + 20, max(row.value * scale, 1.5), BAR, row.look, title=f"{row.label}: {value}{span}")
    if row.low is not None and row.high is not None:
        _whisker(ax, left + row.low * scale, left + row.high * scale, y + 29)
    x = left + max(v for v in (row.value, row.high) if v is not None) * scale + 8
    if mark is not None:
        x = _mark(ax, min(mark, end), x, left, scale, y + 29, value, f"mark: {style.number(mark, unit)}", mark > end)
    style.say(ax, x, y + 29, value, weight="bold")


def _mark(ax: Axes, at: float, x: float, left: float, scale: float, y: float, value: str, title: str, beyond: bool) -> float:
    """A mark on the bar's row, an arrow where it lies beyond the axis; returns where the value's text goes, so that it is not struck through."""
    place, width = left + at * scale, style.text_width(value) * style.BOLD
    if beyond:
        style.shape(ax, [(place - 8, y - 7), (place, y), (place - 8, y + 7)], INK, title)
    else:
        style.line(ax, [place, place], [y - 11, y + 11], PAPER, 6, 3)
        style.line(ax, [place, place], [y - 11, y + 11], INK, 3, 4, title)
    return place + 10 if x - 6 <= place <= x + width + 6 else x


def _whisker(ax: Axes, low: float, high: float, y: float) -> None:
    if high - low < 1.5:
        return
    style.line(ax, [low, high], [y, y], INK, 2)
    for x in (low, high):
        style.line(ax, [x, x], [y - 5, y + 5], INK, 2)


