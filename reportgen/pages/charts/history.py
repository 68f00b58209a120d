"""A history: a strip per variant on one scale, the states of a slot from left to right, each beside the first of its stretch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import GRID, INK, MUTED, OUTLINE, of_variant

STRIP, HEAD, GAP = 38, 22, 12
LEFT = 66
RIGHT = style.WIDTH - style.MARGIN - 10
LEAST = 0.03
"""The scale's end on either side is never nearer, so that noise looks like noise."""


def history(data: Any) -> Figure:
    """`rows` are `(label, variant, what the last state took, [(change, low, high, what is read over it) or None per state], [places where its own stretch begins])`.

    Changes are shares of the first of the stretch. `breaks` are places before which a stretch of all begins; `marks` are the places of states that came with other software; `keys` are lines below.
    """
    rows, states = list(data["rows"]), [str(name) for name in data["states"]]
    known = [value for _, _, _, points, _ in rows for point in points if point is not None for value in point[:3]]
    low, high = min([-LEAST, *known]), max([LEAST, *known])
    keys = [line for text in data["keys"] for line in style.wrapped(str(text), style.INNER, style.SMALL)]
    ax, top = style.sheet(data, len(rows) * (HEAD + STRIP + GAP) + 26 + style.SMALL_LINE * len(keys))
    xs = [LEFT + 12 + (RIGHT - LEFT - 12) * (index / (len(states) - 1) if len(states) > 1 else 0.5) for index in range(len(states))]
    y = top
    for label, variant, last, points, begins in rows:
        _strip(ax, y, str(label), str(last), xs, data, (low, high))
        _points(ax, y + HEAD, str(variant), xs, points, {*data["breaks"], *begins}, (low, high))
        y += HEAD + STRIP + GAP
    _numbers(ax, y + 4, xs, states)
    for index, text in enumerate(keys):
        style.small(ax, style.MARGIN, y + 28 + style.SMALL_LINE * index, text)
    return ax.figure


def _at(y: float, value: float, ends: tuple[float, float]) -> float:
    return y + STRIP * (ends[1] - value) / (ends[1] - ends[0])


def _strip(ax: Axes, y: float, label: str, last: str, xs: Sequence[float], data: Any, ends: tuple[float, float]) -> None:
    """A strip's head, its two ends as numbers, what does not count, and where a stretch begins or software is other."""
    style.say(ax, style.MARGIN, y + 8, style.fitted(label, style.INNER - style.text_width(last, style.SMALL) - 16))
    style.small(ax, style.WIDTH - style.MARGIN, y + 8, last, ha="right")
    y += HEAD
    for value in ends:
        style.small(ax, LEFT - 8, _at(y, value, ends) + (5 if value == ends[1] else -5), f"{'+' if value > 0 else '−'}{style.tick(round(abs(value) * 100))} %", ha="right")
    least = float(data["least"])
    style.box(ax, LEFT, _at(y, least, ends), RIGHT + 10 - LEFT, _at(y, -least, ends) - _at(y, least, ends), GRID, hatched=False)
    style.line(ax, [LEFT, RIGHT + 10], [_at(y, 0, ends)] * 2, OUTLINE, order=1)
    for place in data["breaks"]:
        x = (xs[place - 1] + xs[place]) / 2
        style.line(ax, [x, x], [y - 2, y + STRIP + 4], INK, 1.4, dash=(0, (2, 2)))  # type: ignore[arg-type]
    for place in data["marks"]:
        style.line(ax, [xs[place]] * 2, [y - 2, y + STRIP + 4], MUTED, order=1)


def _points(ax: Axes, y: float, variant: str, xs: Sequence[float], points: Sequence[Any], begins: set[int], ends: tuple[float, float]) -> None:
    """A line through the states of a stretch, a whisker and a dot each."""
    look = of_variant(variant)
    run: list[tuple[float, float]] = []
    for place, (x, point) in enumerate(zip(xs, points)):
        if place in begins:
            _line(ax, run, look)
            run = []
        if point is None:
            continue
        change, low, high, title = point
        run.append((x, _at(y, change, ends)))
        style.line(ax, [x, x], [_at(y, low, ends), _at(y, high, ends)], look, 2)
        style.shape(ax, _diamond(x, _at(y, change, ends)), look, title, edge=INK, line=0.6)
    _line(ax, run, look)


def _diamond(x: float, y: float, r: float = 5.0) -> list[tuple[float, float]]:
    return [(x - r, y), (x, y - r), (x + r, y), (x, y + r)]


def _line(ax: Axes, run: Sequence[tuple[float, float]], look: Any) -> None:
    if len(run) > 1:
        style.line(ax, [x for x, _ in run], [y for _, y in run], look, 2)


def _numbers(ax: Axes, y: float, xs: Sequence[float], states: Sequence[str]) -> None:
    """The states' numbers; of many those that have room, the last for certain."""
    style.small(ax, style.MARGIN, y, "state")
    free = style.WIDTH + 6.0
    for x, name in reversed(list(zip(xs, states))):
        half = style.text_width(name, style.SMALL) / 2
        if x + half + 8 <= free:
            style.small(ax, x, y, name, ha="center")
            free = x - half
