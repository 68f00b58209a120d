"""A waterfall: from one total to another, each cause a floating bar that begins where the one before it ended."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import OUTLINE, Look, look, of_variant

ROW, BAR = 44, 18
VALUE_ROOM = 100


def waterfall(data: Any) -> Figure:
    """Totals in their variants' colours, from zero; causes in one colour for more and one for less, joined by thin lines."""
    start, end, unit = data["start"], data["end"], str(data.get("unit", ""))
    steps = [(str(label), float(value)) for label, value in data["steps"]]
    levels = [float(start[1])]
    for _, value in steps:
        levels.append(levels[-1] + value)
    most = style.step_above(max([*levels, float(end[1])]))
    scale = (style.INNER - VALUE_ROOM) / most
    ax, top = style.sheet(data, ROW * (len(steps) + 2) + 30)
    style.grid(ax, most, scale, top, top + ROW * (len(steps) + 2), unit)
    gap = float(end[1]) - float(start[1])
    _row(ax, top, str(start[0]), 0.0, float(start[1]), scale, of_variant(start[2]) if start[2] else look("part:measure"), style.number(float(start[1]), unit))
    for index, (label, value) in enumerate(steps):
        share = f" ({value / gap:.0%} of the difference)" if gap else ""
        _row(ax, top + ROW * (index + 1), label, levels[index], levels[index + 1], scale, look("part:more" if value >= 0 else "part:less"), signed(value, unit), share)
        _joint(ax, style.MARGIN + levels[index] * scale, top + ROW * index)
    last = top + ROW * (len(steps) + 1)
    _joint(ax, style.MARGIN + levels[-1] * scale, last - ROW)
    _row(ax, last, str(end[0]), 0.0, float(end[1]), scale, of_variant(end[2]) if end[2] else look("part:measure"), style.number(float(end[1]), unit))
    return ax.figure


def signed(value: float, unit: str) -> str:
    """`+794 µs`, `−92.0 µs`."""
    return ("+" if value >= 0 else "−") + style.number(abs(value), unit)


def _row(ax: Axes, y: float, label: str, begin: float, end: float, scale: float, one: Look, said: str, share: str = "") -> None:
    left, size = style.MARGIN + min(begin, end) * scale, max(abs(end - begin) * scale, 1.5)
    style.say(ax, style.MARGIN, y + 10, style.fitted(label, style.INNER))
    style.box(ax, left, y + 20, size, BAR, one, title=f"{label}: {said}{share}")
    style.say(ax, left + size + 8, y + 29, said, weight="bold")


def _joint(ax: Axes, x: float, y: float) -> None:
    """From a bar's end to the next one's begin."""
    style.line(ax, [x, x], [y + 20 + BAR, y + ROW + 20], OUTLINE, 0.8, 1, dash=":")
