"""Horizontal bars: one row per label, the label above its bar, the value at its end."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import style

ROW = 52
VALUE_ROOM = 120


def bars(data: Any) -> Figure:
    """Bars from zero (or, with `log`, from the decade below the smallest value)."""
    labels, values = list(data["labels"]), list(data["values"])
    low, high, reference = (list(data.get(key) or [None] * len(labels)) for key in ("low", "high", "reference"))
    has_reference = any(value is not None for value in reference)
    top = style.MARGIN + (26 if has_reference else 0)
    figure = style.canvas(top + ROW * max(len(labels), 1) + 34)
    ax = style.paper(figure)
    known = [v for v in [*values, *low, *high, *reference] if v is not None and math.isfinite(v)]
    logarithmic = bool(data.get("log")) and all(v > 0 for v in known) and bool(known)
    said = [style.number(value, str(data.get("unit", ""))) for value in values if value is not None]
    place = _scale(known, logarithmic, _room(said))
    if has_reference:
        _reference_key(ax, str(data.get("reference_label") or "the article"), 20)
    _grid(ax, place, top, top + ROW * len(labels), str(data.get("unit", "")))
    for index, label in enumerate(labels):
        y = top + ROW * index
        ax.text(style.MARGIN, y + 11, style.fitted(str(label), style.WIDTH - 2 * style.MARGIN), color=style.INK, va="center", ha="left")
        if values[index] is None:
            ax.text(style.MARGIN, y + 33, "not measured", fontsize=style.SMALL, color=style.MUTED, va="center", ha="left", style="italic")
        else:
            _bar(ax, place, y, values[index], low[index], high[index], style.colour(data.get("ids"), index))
            end = max(place(v) for v in (values[index], high[index]) if v is not None)
            _value(ax, place, y + 33, end, style.number(values[index], str(data.get("unit", ""))), reference[index])
        if reference[index] is not None:
            _reference(ax, place(reference[index]), y + 33)
    return figure


class _Place:
    """Maps a value to px between the left margin and the room that the value's text needs."""

    def __init__(self, start: float, end: float, logarithmic: bool, room: float) -> None:
        self.start, self.end, self.logarithmic = start, end, logarithmic
        self.left, self.width = float(style.MARGIN), style.WIDTH - 2 * style.MARGIN - room

    def __call__(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(value / self.start) / math.log(self.end / self.start)
        else:
            share = (value - self.start) / (self.end - self.start)
        return self.left + self.width * share

    def ticks(self) -> list[float]:
        if not self.logarithmic:
            return style.ticks(self.end)
        decades = round(math.log10(self.end / self.start))
        return [self.start * 10.0**i for i in range(0, decades + 1, max(1, decades // 4))]


def _room(said: list[str]) -> float:
    """Room for the longest value's text, in steps, so that another digit does not move every bar."""
    widest = max((style.text_width(text) * 1.12 for text in said), default=0.0)
    return max(VALUE_ROOM, 20 * math.ceil((widest + 24) / 20))


def _scale(known: list[float], logarithmic: bool, room: float) -> _Place:
    if not known:
        return _Place(0.0, 1.0, False, room)
    if logarithmic:
        start, end = style.decade(min(known), up=False), style.decade(max(known), up=True)
        return _Place(start / 10 if start == min(known) else start, end if end > start else start * 10, True, room)
    return _Place(0.0, style.step_above(max(known)), False, room)


def _grid(ax: Axes, place: _Place, top: float, bottom: float, unit: str) -> None:
    right = -1.0
    for value in place.ticks():
        x = place(value)
        ax.plot([x, x], [top, bottom], color=style.GRID, linewidth=1, zorder=0)
        text = style.tick(value)
        half = style.text_width(text, style.SMALL) / 2
        if x - half > right + 8 or right < 0:
            ax.text(max(x, style.MARGIN + half), bottom + 14, text, fontsize=style.SMALL, color=style.MUTED, ha="center", va="center")
            right = x + half
    if unit:
        ax.text(style.WIDTH - style.MARGIN, bottom + 14, unit, fontsize=style.SMALL, color=style.MUTED, ha="right", va="center")


def _bar(ax: Axes, place: _Place, y: float, value: float, low: float | None, high: float | None, look: tuple[str, str]) -> None:
    fill, hatch = look
    x = place(value)
    ax.add_patch(Rectangle((place.left, y + 22), max(x - place.left, 1.5), 22, facecolor=fill, hatch=hatch, edgecolor=style.PAPER, linewidth=0))
    if low is not None and high is not None:
        _whisker(ax, place(low), place(high), y + 33)


def _value(ax: Axes, place: _Place, y: float, end: float, text: str, reference: float | None) -> None:
    """The value's text, moved behind a reference mark that would strike it through."""
    x, width = end + 10, style.text_width(text) * 1.12
    if reference is not None and x - 6 <= place(reference) <= x + width + 6:
        x = place(reference) + 10
    ax.text(x, y, text, color=style.INK, va="center", ha="left", fontweight="bold")


def _whisker(ax: Axes, low: float, high: float, y: float) -> None:
    if high - low < 1.5:
        return
    ax.plot([low, high], [y, y], color=style.INK, linewidth=2)
    for x in (low, high):
        ax.plot([x, x], [y - 5, y + 5], color=style.INK, linewidth=2)


def _reference(ax: Axes, x: float, y: float) -> None:
    ax.plot([x, x], [y - 12, y + 12], color=style.PAPER, linewidth=6, zorder=3)
    ax.plot([x, x], [y - 12, y + 12], color=style.INK, linewidth=3, zorder=4)


def _reference_key(ax: Axes, label: str, y: float) -> None:
    ax.plot([style.MARGIN + 4] * 2, [y - 9, y + 9], color=style.INK, linewidth=3)
    ax.text(style.MARGIN + 16, y, style.fitted(label, style.WIDTH - 60, style.SMALL), fontsize=style.SMALL, color=style.MUTED, va="center", ha="left")
