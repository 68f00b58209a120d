"""CPU and GPU lanes of one forward on one time axis; activities are numbered as in the table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import INK, MUTED, OP_BORDER, OPS, look

DEPTHS = 3
"""Levels of nested ops that are drawn; deeper ones are left to Perfetto."""
BAR = 24
KINDS = ("kernel", "memcpy", "memset")
STEPS = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10)


def lanes(data: Any) -> Figure:
    """Ops by depth on top, launches as ticks under them, activities below, in µs from the forward's start."""
    ops = [op for op in data["ops"] if op[3] < DEPTHS]
    activities, launches = list(data["activities"]), data["launches"]
    depths = max((op[3] for op in ops), default=-1) + 1
    key = [(kind, look(f"kind:{kind}")) for kind in KINDS if any(a[1] == kind for a in activities)]
    names = _names([str(a[0]) for a in activities], style.INNER)
    cpu = style.legend_height(key) + 24
    gpu = cpu + depths * (BAR + 2) + 52
    bottom = gpu + (BAR + 22 if activities else 0)
    ax, top = style.sheet(data, bottom + 26 + (style.SMALL_LINE * (len(names) + 1) + 6 if names else 0))
    style.legend(ax, key, top)
    end = style.step_above(max([op[1] + op[2] for op in ops] + [a[2] + a[3] for a in activities] + [1e-3]), STEPS)
    scale = style.INNER / end
    style.grid(ax, end, scale, top + cpu, top + bottom, "µs")
    style.small(ax, style.MARGIN, top + cpu - 12, "CPU: ops, outermost first")
    _ops(ax, ops, top + cpu, scale)
    for start in launches:
        x, y = style.MARGIN + start * scale, top + cpu + depths * (BAR + 2) + 4
        style.line(ax, [x, x], [y, y + 10], INK, 1.2)
    if activities:
        _activities(ax, activities, top + gpu, scale)
        # below the axis: between the lanes it would hide the lines from launch to activity
        style.small(ax, style.MARGIN, top + bottom + 34, "GPU: activities, in order of launch")
    for index, text in enumerate(names):
        style.small(ax, style.MARGIN, top + bottom + 54 + style.SMALL_LINE * index, text, colour=INK)
    return ax.figure


def _names(labels: Sequence[str], width: float) -> list[str]:
    """`1 matmul · 2 scale · …` in lines: what each number is, so that the picture can be read without the table."""
    lines: list[str] = []
    for index, label in enumerate(labels):
        entry = f"{index + 1} {label}"
        trial = f"{lines[-1]}  ·  {entry}" if lines else entry
        if lines and style.text_width(trial, style.SMALL) <= width:
            lines[-1] = trial
        else:
            lines.append(style.fitted(entry, width, style.SMALL))
    return lines


def _ops(ax: Axes, ops: Sequence[Any], top: float, scale: float) -> None:
    for name, start, duration, depth in ops:
        x, y, size = style.MARGIN + start * scale, top + depth * (BAR + 2), max(duration * scale, 0.8)
        style.box(ax, x, y, size, BAR, OPS[depth % len(OPS)], title=f"{name}: {style.number(duration, 'µs')}", edge=OP_BORDER, line=0.7)
        _inside(ax, str(name).removeprefix("aten::"), x, y + BAR / 2, size)


def _inside(ax: Axes, label: str, x: float, y: float, size: float) -> None:
    """Writes a label only where it fits whole; a cut name says less than none."""
    if style.text_width(label, style.SMALL) + 6 <= size:
        style.small(ax, x + 3, y, label, colour=INK)


def _activities(ax: Axes, activities: Sequence[Any], top: float, scale: float) -> None:
    right = -1.0
    for index, (label, kind, start, duration, launch) in enumerate(activities):
        x, size = style.MARGIN + start * scale, max(duration * scale, 1.2)
        if launch is not None:
            style.line(ax, [style.MARGIN + launch * scale, x], [top - 38, top], MUTED, 0.7, 1)
        one = look(f"kind:{kind}" if kind in KINDS else "role:other")
        style.box(ax, x, top, size, BAR, one, title=f"{index + 1} {label} ({kind}): {style.number(duration, 'µs')}", line=0.6)
        text = str(index + 1)
        middle, half = x + size / 2, style.text_width(text, style.SMALL) / 2
        if middle - half > right + 3:
            style.small(ax, middle, top + BAR + 11, text, ha="center", colour=INK)
            right = middle + half
