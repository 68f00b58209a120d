"""Curves: one measure over a size that doubles, a line per way of doing it, with a marker per measured value."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .paint import MARK
from .palettes import GRID, INK, of_variant
from .roofline import MARKERS

LEFT, PLOT = 62, 190


def curve(data: Any) -> Figure:
    """Sizes from left to right, by their logarithm; values from 0 upwards. A value that was not measured breaks the line."""
    sizes = [float(size) for size in data["sizes"]]
    series = [(str(label), str(variant), list(values)) for label, variant, values in data["series"]]
    places = _places([label for label, _, _ in series])
    ax, top = style.sheet(data, PLOT + 58 + style.LINE * (1 + max((row for row, _ in places), default=-1)))
    most = max((value for _, _, values in series for value in values if value is not None), default=1.0)
    end, right = style.step_above(most), style.WIDTH - style.MARGIN - 12
    span = math.log2(sizes[-1] / sizes[0]) or 1.0
    xs = [LEFT + 12 + (right - LEFT - 12) * math.log2(size / sizes[0]) / span for size in sizes]
    _axes(ax, top, xs, sizes, end, data)
    for index, (label, variant, values) in enumerate(series):
        points = [(x, top + PLOT * (1 - value / end) if value is not None else math.nan) for x, value in zip(xs, values)]
        style.line(ax, [x for x, _ in points], [y for _, y in points], of_variant(variant), 2)
        for (x, y), size, value in zip(points, sizes, values):
            if value is not None:
                _marker(ax, x, y, index, variant, f"{label}, {style.tick(size)}: {style.number(value, str(data['unit']))}")
        row, x = places[index]
        y = top + PLOT + 60 + style.LINE * row
        _marker(ax, x + 8, y, index, variant, "")
        style.say(ax, x + 20, y, style.fitted(label, style.INNER - 26))
    return ax.figure


def _places(labels: list[str]) -> list[tuple[int, float]]:
    """Row and x of each label's marker, side by side as far as the width goes."""
    places, row, x = [], 0, float(style.MARGIN)
    for label in labels:
        width = 20 + style.text_width(style.fitted(label, style.INNER - 26)) + 16
        if x > style.MARGIN and x + width - 16 > style.WIDTH - style.MARGIN:
            row, x = row + 1, float(style.MARGIN)
        places.append((row, x))
        x += width
    return places


def _axes(ax: Axes, top: float, xs: list[float], sizes: list[float], end: float, data: Any) -> None:
    for value in style.ticks(end):
        y = top + PLOT * (1 - value / end)
        style.line(ax, [LEFT, style.WIDTH - style.MARGIN], [y, y], GRID, order=0)
        style.small(ax, LEFT - 8, y, style.tick(value), ha="right")
    free = style.WIDTH + 6.0
    for x, size in reversed(list(zip(xs, sizes))):  # the longest is always named
        half = style.text_width(style.tick(size), style.SMALL) / 2
        middle = min(x, style.WIDTH - 4 - half)
        if middle + half + 6 <= free:
            style.small(ax, middle, top + PLOT + 14, style.tick(size), ha="center")
            free = middle - half
    style.small(ax, style.MARGIN, top + PLOT + 36, f"up: {data['unit']}")
    style.small(ax, style.WIDTH - style.MARGIN, top + PLOT + 36, str(data["size"]), ha="right")


def _marker(ax: Axes, x: float, y: float, index: int, variant: str, title: str) -> None:
    ax.plot([x], [y], marker=MARKERS[index % len(MARKERS)], markersize=9, color=of_variant(variant).light, markeredgecolor=INK.light, markeredgewidth=0.8, linestyle="",
            clip_on=False, zorder=5, gid=MARK + title if title else None)
