"""A grid of verdicts: colour and a letter in each cell, so that colour is never alone."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import style

LOOKS = {
    "holds": ("#009E73", "", "H"),
    "differs": ("#D55E00", "//", "D"),
    "within noise": ("#E69F00", "", "~"),
    "not measurable": ("#c9c9c9", "", "–"),
}
ROW = 34
CELL = 40


def grid(data: Any) -> Figure:
    """Rows are devices or claims; columns are named by number where they are many, with the names below."""
    rows, columns, cells = [str(r) for r in data["rows"]], [str(c) for c in data["columns"]], data["cells"]
    inner = style.WIDTH - 2 * style.MARGIN
    cell = min(CELL, inner * 0.6 / max(len(columns), 1))
    label_room = inner - cell * len(columns) - 8
    top = style.MARGIN + 52
    figure = style.canvas(top + ROW * len(rows) + 26 + 24 * len(columns) + style.MARGIN)
    ax = style.paper(figure)
    style.legend(ax, [(f"{letter} {verdict}", fill, hatch) for verdict, (fill, hatch, letter) in LOOKS.items()], style.MARGIN, style.MARGIN - 4, inner)
    left = style.MARGIN + label_room + 8
    for index in range(len(columns)):
        ax.text(left + cell * (index + 0.5), top - 10, str(index + 1), fontsize=style.SMALL, color=style.MUTED, ha="center", va="center")
    for row, label in enumerate(rows):
        y = top + ROW * row
        ax.text(style.MARGIN, y + ROW / 2, style.fitted(label, label_room), color=style.INK, ha="left", va="center")
        for column, verdict in enumerate(cells[row]):
            fill, hatch, letter = LOOKS.get(verdict, ("#eeeeee", "", "?"))
            ax.add_patch(Rectangle((left + cell * column + 1, y + 2), cell - 2, ROW - 4, facecolor=fill, hatch=hatch, edgecolor=style.PAPER, linewidth=0))
            ax.text(left + cell * (column + 0.5), y + ROW / 2, letter, fontsize=style.SMALL, fontweight="bold", color=style.INK, ha="center", va="center",
                    bbox={"facecolor": fill, "edgecolor": "none", "pad": 1.5})
    y = top + ROW * len(rows) + 22
    for index, label in enumerate(columns):
        ax.text(style.MARGIN, y + 24 * index, style.fitted(f"{index + 1}  {label}", inner, style.SMALL), fontsize=style.SMALL, color=style.INK, ha="left", va="center")
    return figure
