"""The warp slots of one SM and how full its resources are, one panel per kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import OUTLINE, PAPER, look, of_variant

ACROSS = 32
SLOT = 20
GAUGE, NAME = 14, 122


def slots(data: Any) -> Figure:
    """`panels` are `(label, variant or None, warps per block, blocks, slots, what is said, [(resource, share or None)])`; shares are of 1."""
    panels = list(data["panels"])
    heights = [_height(panel) for panel in panels]
    ax, y = style.sheet(data, sum(heights) + 4)
    for panel, height in zip(panels, heights):
        _panel(ax, y, panel)
        y += height
    return ax.figure


def _rows(count: int) -> int:
    return -(-count // ACROSS)


def _height(panel: Sequence[Any]) -> float:
    return 30 + style.SMALL_LINE * len(_said(panel)) + (SLOT + 4) * _rows(int(panel[4])) + (GAUGE + 8) * len(panel[6]) + 14


def _said(panel: Sequence[Any]) -> list[str]:
    return style.wrapped(str(panel[5]), style.INNER, style.SMALL)


def _panel(ax: Axes, y: float, panel: Sequence[Any]) -> None:
    label, variant, per_block, blocks, count, _, gauges = panel
    style.say(ax, style.MARGIN, y + 8, style.fitted(str(label), style.INNER / style.BOLD), weight="bold")
    for index, text in enumerate(_said(panel)):
        style.small(ax, style.MARGIN, y + 28 + style.SMALL_LINE * index, text)
    one = of_variant(variant) if variant else look("part:measure")
    wide, y = style.INNER / ACROSS, y + 26 + style.SMALL_LINE * len(_said(panel))
    for row in range(_rows(count)):
        first, last = row * ACROSS, min((row + 1) * ACROSS, count)
        top = y + (SLOT + 4) * row
        style.box(ax, style.MARGIN, top, wide * (last - first), SLOT, PAPER, edge=OUTLINE, line=0.8, title=f"{count} warp slots")
        for block in range(blocks):
            begin, end = max(block * per_block, first), min((block + 1) * per_block, last)
            if begin < end:
                style.box(ax, style.MARGIN + wide * (begin - first) + 1, top + 1.5, wide * (end - begin) - 2, SLOT - 3, one, title=f"block {block + 1}: {per_block} warps", hatched=False)
        for look_of, inner in ((PAPER, True), (OUTLINE, False)):
            between = [style.MARGIN + wide * slot for slot in range(1, last - first) if (first + slot < blocks * per_block) is inner]
            style.lines(ax, [(x, top + 1, x, top + SLOT - 1) for x in between], look_of, 0.7)
    y += (SLOT + 4) * _rows(count) + 2
    for index, (name, share) in enumerate(gauges):
        _gauge(ax, y + (GAUGE + 8) * index, str(name), share)


def _gauge(ax: Axes, y: float, name: str, share: float | None) -> None:
    """How much of a resource the resident blocks hold."""
    style.small(ax, style.MARGIN, y + GAUGE / 2, style.fitted(name, NAME - 8, style.SMALL))
    left, width = style.MARGIN + NAME, style.INNER - NAME - 76
    style.box(ax, left, y, width, GAUGE, PAPER, edge=OUTLINE, line=0.8)
    text = "unknown" if share is None else style.number(100 * share, "%")
    if share:
        style.box(ax, left, y, width * min(share, 1.0), GAUGE, look("part:memory"), title=f"{name}: {text}", hatched=False)
    style.small(ax, left + width + 8, y + GAUGE / 2, text)
