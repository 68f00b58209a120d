"""The GPU lanes of several forwards under each other, on one time axis: how many steps each takes, and how long they are."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from . import style
from .palettes import MUTED, distinct

ROW, BAR = 46, 20
LEAST = 1.0
"""px: a step that is shorter on the axis is drawn so wide."""


def forwards(data: Any) -> Figure:
    """A lane per forward from the begin of its first activity, in µs; what stands between two boxes is a gap."""
    rows = [(str(label), str(said), [(str(role), float(start), float(duration)) for role, start, duration in steps]) for label, said, steps in data["forwards"]]
    roles = list(dict.fromkeys(role for _, _, steps in rows for role, _, _ in steps))
    looks = dict(zip(roles, distinct([f"role:{role}" for role in roles])))
    key = [(role, looks[role]) for role in roles]
    ax, top = style.sheet(data, style.legend_height(key) + ROW * max(len(rows), 1) + 30)
    top = style.legend(ax, key, top)
    end = style.step_above(max([start + duration for _, _, steps in rows for _, start, duration in steps] + [1e-3]))
    scale = style.INNER / end
    style.grid(ax, end, scale, top, top + ROW * len(rows), "µs")
    for index, (label, said, steps) in enumerate(rows):
        y = top + ROW * index
        style.say(ax, style.MARGIN, y + 10, style.fitted(label, style.INNER - style.text_width(said, style.SMALL) - 12))
        style.small(ax, style.WIDTH - style.MARGIN, y + 10, said, ha="right")
        style.line(ax, [style.MARGIN, style.MARGIN + style.INNER], [y + 21 + BAR] * 2, MUTED, 0.5, 1)
        for role, start, duration in steps:
            style.box(ax, style.MARGIN + start * scale, y + 21, max(duration * scale, LEAST), BAR, looks[role], title=f"{label}, {role}: {style.number(duration, 'µs')}", line=0.4)
    return ax.figure
