"""One head's scores as a fused kernel walks over them: tiles that are done, the one in work, and those that a causal mask spares."""

from __future__ import annotations

from math import ceil
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import PAPER, distinct

SIDE = 256
LEFT = 72
TOP = 62
MOST = 64
"""Tiles a side that are drawn one by one; with more the lines between them are left out."""


def tiling(data: Any) -> Figure:
    """`sequence` queries and keys in tiles of `queries` × `keys`; `causal` spares the tiles above the diagonal."""
    length, rows, keys = int(data["sequence"]), int(data["queries"]), int(data["keys"])
    across, down = ceil(length / keys), ceil(length / rows)
    visible = [min(across, ceil(min((row + 1) * rows, length) / keys)) if data["causal"] else across for row in range(down)]
    done, work, spared = distinct(["part:tile", "part:in work", "part:skipped"])
    entries = [("a tile with pairs that count", done), ("the tile in work: on the chip only", work)]
    if sum(visible) < across * down:
        entries.append(("wholly behind the mask: can be left out", spared))
    key = style.legend_height(entries)
    said = f"{sum(visible):,} of {across * down:,} tiles hold a pair that counts"
    ax, y = style.sheet(data, key + TOP + SIDE + 34)
    y = style.legend(ax, entries, y) + TOP
    x, wide, high = float(style.MARGIN + LEFT), SIDE / across, SIDE / down
    style.box(ax, x, y, SIDE, SIDE, spared, title="wholly behind the mask: can be left out")
    stairs = [(x, y), *((x + wide * visible[row], y + high * (row + step)) for row in range(down) for step in (0, 1)), (x, y + SIDE)]
    style.shape(ax, stairs, done, title=said)
    row = down // 2
    tile = max(0, visible[row] - 2)
    style.box(ax, x + wide * tile, y + high * row, wide, high, work, title="the tile in work: registers and shared memory hold it")
    _lines(ax, x, y, across, down)
    # the operands: rows of Q at the left, K and V above
    style.box(ax, x - 24, y, 16, SIDE, done)
    style.box(ax, x - 24, y + high * row, 16, high, work, title="this tile of Q stays on the chip for its whole row")
    style.box(ax, x, y - 24, SIDE, 16, done)
    style.box(ax, x + wide * tile, y - 24, wide, 16, work, title="tiles of K and V are loaded one after another")
    style.small(ax, x, y - 40, f"K, V: {across:,} tiles of {keys:,} keys →")
    style.small(ax, style.MARGIN, y - 16, "Q ↓")
    style.small(ax, style.MARGIN, y + SIDE / 2 - 9, f"{down:,} ×")
    style.small(ax, style.MARGIN, y + SIDE / 2 + 9, f"{rows:,}")
    style.small(ax, x, y + SIDE + 16, said)
    return ax.figure


def _lines(ax: Axes, x: float, y: float, across: int, down: int) -> None:
    if max(across, down) > MOST:
        return
    upright = [(x + SIDE * column / across, y, x + SIDE * column / across, y + SIDE) for column in range(1, across)]
    style.lines(ax, [*upright, *((x, y + SIDE * row / down, x + SIDE, y + SIDE * row / down) for row in range(1, down))], PAPER)
