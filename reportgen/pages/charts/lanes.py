"""CPU and GPU lanes of one forward on one time axis; activities are numbered as in the table beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import style

DEPTHS = 3
"""Levels of nested ops that are drawn; deeper ones are left to Perfetto."""
BAR = 24
KINDS = {"kernel": ("#0072B2", ""), "memcpy": ("#D55E00", "//"), "memset": ("#E69F00", "xx")}
OPS = ("#cfe8f7", "#e3f1fa", "#f1f8fc")


def lanes(data: Any) -> Figure:
    """Ops by depth on top, launches as ticks under them, activities below, in µs from the forward's start."""
    ops = [op for op in data["ops"] if op[3] < DEPTHS]
    activities = list(data["activities"])
    depths = max((op[3] for op in ops), default=-1) + 1
    kinds = [kind for kind in KINDS if any(a[1] == kind for a in activities)]
    key = 24 if activities else 0
    cpu = style.MARGIN + key + 24
    gpu = cpu + depths * (BAR + 2) + 52
    width = style.WIDTH - 2 * style.MARGIN
    names = _names([str(a[0]) for a in activities], width)
    bottom = gpu + (BAR + 24 if activities else 0)
    height = bottom + 34 + 22 * (len(names) + 1 if names else 0)
    figure = style.canvas(height)
    ax = style.paper(figure)
    last = max([op[1] + op[2] for op in ops] + [a[2] + a[3] for a in activities] + [1e-3])
    scale = width / style.step_above(last, (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10))
    if kinds:
        style.legend(ax, [(kind, *KINDS[kind]) for kind in kinds], style.MARGIN, style.MARGIN, width)
    _time(ax, width / scale, scale, cpu, bottom)
    ax.text(style.MARGIN, cpu - 12, "CPU: ops, outermost first", fontsize=style.SMALL, color=style.MUTED, va="center", ha="left")
    _ops(ax, ops, cpu, scale)
    _launches(ax, data["launches"], cpu + depths * (BAR + 2) + 4, scale)
    if activities:
        _activities(ax, activities, gpu, scale)
        # below the axis: between the lanes it would hide the lines from launch to activity
        ax.text(style.MARGIN, bottom + 42, "GPU: activities, in order of launch", fontsize=style.SMALL, color=style.MUTED, va="center", ha="left")
    for index, line in enumerate(names):
        ax.text(style.MARGIN, bottom + 64 + 22 * index, line, fontsize=style.SMALL, color=style.INK, va="center", ha="left")
    return figure


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


def _time(ax: Axes, end: float, scale: float, top: float, bottom: float) -> None:
    for value in style.ticks(end):
        x = style.MARGIN + value * scale
        ax.plot([x, x], [top, bottom], color=style.GRID, linewidth=1, zorder=0)
        text = style.tick(value)
        half = style.text_width(text, style.SMALL) / 2
        # the unit stands at the right edge; a tick label that would touch it is left out
        if x + half < style.WIDTH - style.MARGIN - 30:
            ax.text(max(x, style.MARGIN + half), bottom + 14, text, fontsize=style.SMALL, color=style.MUTED, ha="center", va="center")
    ax.text(style.WIDTH - style.MARGIN, bottom + 14, "µs", fontsize=style.SMALL, color=style.MUTED, ha="right", va="center")


def _ops(ax: Axes, ops: Sequence[Any], top: float, scale: float) -> None:
    for name, start, duration, depth in ops:
        x, y, size = style.MARGIN + start * scale, top + depth * (BAR + 2), max(duration * scale, 0.8)
        ax.add_patch(Rectangle((x, y), size, BAR, facecolor=OPS[depth % len(OPS)], edgecolor="#4b7fa3", linewidth=0.7))
        _inside(ax, str(name).removeprefix("aten::"), x, y + BAR / 2, size)


def _inside(ax: Axes, label: str, x: float, y: float, size: float) -> None:
    """Writes a label only where it fits whole; a cut name says less than none."""
    if style.text_width(label, style.SMALL) + 6 <= size:
        ax.text(x + 3, y, label, fontsize=style.SMALL, color=style.INK, va="center", ha="left")


def _launches(ax: Axes, launches: Sequence[float], y: float, scale: float) -> None:
    for start in launches:
        x = style.MARGIN + start * scale
        ax.plot([x, x], [y, y + 10], color=style.INK, linewidth=1.2)


def _activities(ax: Axes, activities: Sequence[Any], top: float, scale: float) -> None:
    right = -1.0
    for index, (_, kind, start, duration, launch) in enumerate(activities):
        fill, hatch = KINDS.get(kind, style.OTHER)
        x, size = style.MARGIN + start * scale, max(duration * scale, 1.2)
        if launch is not None:
            ax.plot([style.MARGIN + launch * scale, x], [top - 38, top], color="#9a9a9a", linewidth=0.7, zorder=1)
        ax.add_patch(Rectangle((x, top), size, BAR, facecolor=fill, hatch=hatch, edgecolor=style.PAPER, linewidth=0.6, zorder=2))
        text = str(index + 1)
        middle, half = x + size / 2, style.text_width(text, style.SMALL) / 2
        if middle - half > right + 3:
            ax.text(middle, top + BAR + 13, text, fontsize=style.SMALL, color=style.INK, va="center", ha="center")
            right = middle + half
