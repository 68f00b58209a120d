"""Stacked horizontal bars: what a total is made of, one row per label."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import style

ROW = 52
VALUE_ROOM = 110


def stacked(data: Any) -> Figure:
    """One bar per label; the parts keep the order and colours of `series`; the total is at the end."""
    labels = [str(label) for label in data["labels"]]
    series = [(str(name), [float(v or 0) for v in values]) for name, values in data["series"]]
    unit = str(data.get("unit", ""))
    looks = [style.SERIES[index % len(style.SERIES)] for index in range(len(series))]
    entries = [(name, *look) for (name, _), look in zip(series, looks)]
    inner = style.WIDTH - 2 * style.MARGIN
    top = style.MARGIN + 24 * style.legend_rows(entries, inner) + 4
    figure = style.canvas(top + ROW * max(len(labels), 1) + 30)
    ax = style.paper(figure)
    style.legend(ax, entries, style.MARGIN, style.MARGIN, inner)
    totals = [sum(values[index] for _, values in series) for index in range(len(labels))]
    end = style.step_above(max(totals, default=1.0))
    width = inner - VALUE_ROOM
    bottom = top + ROW * len(labels)
    for value in style.ticks(end):
        x = style.MARGIN + width * value / end
        ax.plot([x, x], [top, bottom], color=style.GRID, linewidth=1, zorder=0)
        ax.text(max(x, style.MARGIN + 8), bottom + 14, style.tick(value), fontsize=style.SMALL, color=style.MUTED, ha="center", va="center")
    ax.text(style.WIDTH - style.MARGIN, bottom + 14, unit, fontsize=style.SMALL, color=style.MUTED, ha="right", va="center")
    for index, label in enumerate(labels):
        y, x = top + ROW * index, float(style.MARGIN)
        ax.text(style.MARGIN, y + 11, style.fitted(label, inner), color=style.INK, va="center", ha="left")
        for (_, values), (fill, hatch) in zip(series, looks):
            size = width * values[index] / end
            if size > 0:
                ax.add_patch(Rectangle((x, y + 22), size, 22, facecolor=fill, hatch=hatch, edgecolor=style.PAPER, linewidth=1))
            x += size
        ax.text(x + 8, y + 33, style.number(totals[index], unit), color=style.INK, va="center", ha="left", fontweight="bold")
    return figure
