"""Where data can lie on a GPU, from the nearest memory to the largest, with this device's sizes."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from . import style
from .palettes import PAPER, look

ROW, STEP = 82, 70
WIDE = 96
"""px of the largest memory's box; the others are narrower in even steps, for true sizes differ a thousandfold."""


def memory(data: Any) -> Figure:
    """A pyramid: `levels` are `(name, size in words, what it holds here)` from the nearest to the farthest; unknown sizes say so."""
    levels = [(str(name), str(size), str(holds)) for name, size, holds in data["levels"]]
    ax, top = style.sheet(data, ROW * len(levels) + 4)
    middle, text = style.MARGIN + WIDE / 2, style.MARGIN + WIDE + 16
    room = style.WIDTH - style.MARGIN - text
    for index, (name, size, holds) in enumerate(levels):
        y, above, below = top + ROW * index, _width(index, len(levels)), _width(index + 1, len(levels))
        points = [(middle - above / 2, y), (middle + above / 2, y), (middle + below / 2, y + STEP), (middle - below / 2, y + STEP)]
        style.shape(ax, points, look("part:memory"), title=f"{name}: {size}", edge=PAPER, line=1)
        style.say(ax, text, y + 8, style.fitted(name, room / style.BOLD), weight="bold")
        for line, said in enumerate([*style.wrapped(size, room, style.SMALL), *style.wrapped(holds, room, style.SMALL)][:3]):
            style.small(ax, text, y + 26 + style.SMALL_LINE * line, said)
    return ax.figure


def _width(index: int, count: int) -> float:
    return WIDE * (index + 1) / (count + 1)
