"""Roofline: FLOP/s over arithmetic intensity, under the ceilings measured in the same run."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.figure import Figure

from . import style

MARKERS = "os^Dv<>PX*"
PLOT = 300


def roofline(data: Any) -> Figure:
    """The slanted ceiling is the copy's bytes per second; flat ones are matmuls. Points are named in the key below."""
    points = [p for p in data["points"] if p[2] and p[3] and p[2] > 0 and p[3] > 0]
    ceilings = [(str(name), float(value)) for name, value in data["ceilings_flop"] if value]
    figure = style.canvas(style.MARGIN + PLOT + 56 + 26 * len(points) + 8)
    ax = style.axes(figure, 92, style.MARGIN, style.MARGIN + 8, 56 + 26 * len(points) + 8)
    ax.set_xscale("log")
    ax.set_yscale("log")
    slope = float(data["ceiling_bytes"])
    rates = [value for _, value in ceilings] or [slope * 10]
    left = min([style.decade(p[2], up=False) for p in points] + [style.decade(min(rates) / slope / 3, up=False)])
    right = max([style.decade(p[2], up=True) for p in points] + [style.decade(max(rates) / slope, up=True)])
    low = min([style.decade(p[3], up=False) for p in points] + [style.decade(slope * left, up=False)])
    high = max([*rates, *(p[3] for p in points)]) * 3
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    ax.plot([left, max(rates) / slope], [slope * left, max(rates)], color=style.INK, linewidth=2)
    _ceilings(ax, ceilings, slope, right, [(p[2], p[3]) for p in points])
    _axis(ax)
    key = figure.add_axes((0, 0, 1, 1), zorder=5)
    height = figure.get_figheight() * 72
    key.set_xlim(0, style.WIDTH)
    key.set_ylim(height, 0)
    key.set_axis_off()
    _slope_name(key, left, right, low, high, slope)
    for index, (label, name, intensity, rate) in enumerate(points):
        fill, marker = style.VARIANTS.get(name, style.OTHER)[0], MARKERS[index % len(MARKERS)]
        ax.plot([intensity], [rate], marker=marker, markersize=12, color=fill, markeredgecolor=style.INK, markeredgewidth=1, linestyle="")
        y = style.MARGIN + PLOT + 64 + 26 * index
        key.plot([26], [y], marker=marker, markersize=11, color=fill, markeredgecolor=style.INK, markeredgewidth=1, linestyle="")
        key.text(44, y, style.fitted(str(label), style.WIDTH - 60), color=style.INK, va="center", ha="left")
    return figure


def _slope_name(key: Any, left: float, right: float, low: float, high: float, slope: float) -> None:
    """`copy` along the slanted ceiling, above its lower end, where points below the roof cannot reach it."""
    across, up = (style.WIDTH - 92 - style.MARGIN - 8) / math.log10(right / left), PLOT / math.log10(high / low)
    x, y = 92 + 10, style.MARGIN + PLOT - math.log10(slope * left / low) * up - 10 * up / across - 6
    key.text(x, y, "copy", fontsize=style.SMALL, color=style.INK, ha="left", va="bottom", rotation=math.degrees(math.atan2(up, across)), rotation_mode="anchor")


def _ceilings(ax: Any, ceilings: list[tuple[str, float]], slope: float, right: float, points: list[tuple[float, float]]) -> None:
    for name, value in ceilings:
        ax.plot([value / slope, right], [value, value], color=style.INK, linewidth=2)
        above = not _covered(ax, name, value, right, points)
        ax.text(right, value * (1.12 if above else 1 / 1.12), name, fontsize=style.SMALL, color=style.INK, ha="right", va="bottom" if above else "top")


def _covered(ax: Any, name: str, value: float, right: float, points: list[tuple[float, float]]) -> bool:
    """True if a point's mark would lie on the name written above its ceiling, at the right."""
    (left, _), (low, high) = ax.get_xlim(), ax.get_ylim()
    across, up = (style.WIDTH - 92 - style.MARGIN) / math.log10(right / left), PLOT / math.log10(high / low)
    width = style.text_width(name, style.SMALL)
    return any(math.log10(right / x) * across < width + 12 and -8 < math.log10(y / value) * up < 30 for x, y in points)


def _rate(value: float) -> str:
    """`100 TFLOP/s`: a decade with its prefix."""
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= size * 0.999:
            return f"{style.tick(value / size)} {prefix}FLOP/s"
    return f"{style.tick(value)} FLOP/s"


def _axis(ax: Any) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    ax.grid(color=style.GRID, linewidth=1)
    ax.set_axisbelow(True)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: style.tick(10.0 ** round(math.log10(value)))))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _rate(10.0 ** round(math.log10(value)))))
    ax.tick_params(axis="x", pad=12)
    ax.set_xlabel("FLOP per byte (arithmetic intensity)", fontsize=style.SMALL, color=style.MUTED, labelpad=8)
