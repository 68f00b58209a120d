"""Stacked horizontal bars: what a total is made of, one row per label."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import Look, distinct

ROW, BAR = 46, 20
VALUE_ROOM = 100
PLAIN = ("part:measure", "part:more", "part:less", "part:tile", "part:in work", "part:everything else")
"""Colours of parts that have no meaning of their own elsewhere."""


def stacked(data: Any) -> Figure:
    """One bar per label; the parts keep the order of `series` and the colours of `keys`; the total is at the end.

    Raises:
        ValueError: two parts would have one colour, or a part has none.
    """
    labels = [str(label) for label in data["labels"]]
    series = [(str(name), [float(v or 0) for v in values]) for name, values in data["series"]]
    unit, counted = str(data.get("unit", "")), data.get("totals")
    looks = distinct(data.get("keys") or _plain([name for name, _ in series]))
    entries = [(name, one) for (name, _), one in zip(series, looks)]
    key = style.legend_height(entries)
    ax, top = style.sheet(data, key + ROW * max(len(labels), 1) + 30)
    top = style.legend(ax, entries, top)
    sums = [sum(values[index] for _, values in series) for index in range(len(labels))]
    said = [str(each) for each in counted] if counted else [style.number(each, unit) for each in sums]
    end = style.step_above(max(sums, default=1.0))
    room = max([VALUE_ROOM, *(style.text_width(text) * style.BOLD + 16 for text in said)])
    scale = (style.INNER - room) / end
    style.grid(ax, end, scale, top, top + ROW * len(labels), unit)
    for index, label in enumerate(labels):
        y = top + ROW * index
        style.say(ax, style.MARGIN, y + 10, style.fitted(label, style.INNER))
        x = _row(ax, y, scale, unit, label, [(name, values[index], one) for (name, values), one in zip(series, looks)])
        style.say(ax, x + 8, y + 31, said[index], weight="bold")
    return ax.figure


def _plain(names: list[str]) -> list[str]:
    """A colour for each part, as long as they last.

    Raises:
        ValueError: there are more parts than colours.
    """
    if len(names) > len(PLAIN):
        raise ValueError(f"{len(names)} parts and {len(PLAIN)} colours; give `keys` into the palettes")
    return list(PLAIN[: len(names)])


def _row(ax: Axes, y: float, scale: float, unit: str, label: str, parts: list[tuple[str, float, Look]]) -> float:
    """Draws a bar's parts and returns where it ends."""
    x = float(style.MARGIN)
    for name, value, look in parts:
        if value > 0:
            style.box(ax, x, y + 21, value * scale, BAR, look, title=f"{label}, {name}: {style.number(value, unit)}", line=1)
        x += value * scale
    return x
