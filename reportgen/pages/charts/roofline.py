"""Roofline: FLOP/s over arithmetic intensity, under the ceilings measured in the same run. Points carry their names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import style
from .palettes import GRID, INK, MUTED, of_variant

MARKERS = "os^Dv<>PX*"
LEFT, PLOT = 86, 300


@dataclass(frozen=True)
class _Scale:
    """Both axes logarithmic, in px of the sheet."""

    left: float
    right: float
    low: float
    high: float
    top: float

    def x(self, value: float) -> float:
        return LEFT + (style.WIDTH - LEFT - style.MARGIN) * math.log10(value / self.left) / math.log10(self.right / self.left)

    def y(self, value: float) -> float:
        return self.top + PLOT * (1 - math.log10(value / self.low) / math.log10(self.high / self.low))


def roofline(data: Any) -> Figure:
    """The slanted ceiling is the copy's bytes per second; flat ones are matmuls."""
    points = [p for p in data["points"] if p[2] and p[3] and p[2] > 0 and p[3] > 0]
    ceilings = [(str(name), float(value)) for name, value in data["ceilings_flop"] if value]
    slope = float(data["ceiling_bytes"])
    key = style.LINE * len(points) + (10 if points else 0)
    ax, top = style.sheet(data, PLOT + 58 + key)
    scale = _scaled(points, [value for _, value in ceilings] or [slope * 10], slope, top)
    _axis(ax, scale)
    ridge = max([value for _, value in ceilings] or [slope * 10])
    style.line(ax, [scale.x(scale.left), scale.x(ridge / slope)], [scale.y(max(slope * scale.left, scale.low)), scale.y(ridge)], INK, 2, title="copy: bytes per second")
    _slope_name(ax, scale, slope)
    taken = [(scale.x(p[2]), scale.y(p[3])) for p in points]
    for name, value in ceilings:
        _ceiling(ax, scale, name, value, slope, taken)
    for index, (label, name, intensity, rate) in enumerate(points):
        _point(ax, scale.x(intensity), scale.y(rate), index, str(name), f"{label}: {style.number(intensity)} FLOP per byte, {_rate(rate, 3)}")
        y = top + PLOT + 62 + style.LINE * index
        _point(ax, style.MARGIN + 10, y, index, str(name), "")
        style.say(ax, style.MARGIN + 26, y, style.fitted(f"{index + 1} {label}", style.INNER - 26))
    _numbers(ax, taken)
    return ax.figure


def _scaled(points: list[Any], rates: list[float], slope: float, top: float) -> _Scale:
    left = min([style.decade(p[2], up=False) for p in points] + [style.decade(min(rates) / slope / 3, up=False)])
    right = max([style.decade(p[2], up=True) for p in points] + [style.decade(max(rates) / slope, up=True)])
    low = min([style.decade(p[3], up=False) for p in points] + [style.decade(slope * left, up=False)])
    return _Scale(left, right, low, max([*rates, *(p[3] for p in points)]) * 3, top)


def _point(ax: Axes, x: float, y: float, index: int, name: str, title: str) -> None:
    ax.plot([x], [y], marker=MARKERS[index % len(MARKERS)], markersize=11, color=of_variant(name).light, markeredgecolor=INK.light, markeredgewidth=1, linestyle="",
            clip_on=False, zorder=5, gid=style.over(title) if title else None)


def _numbers(ax: Axes, places: list[tuple[float, float]]) -> None:
    """Each point's number at its side: where another point is near, on the side that is free."""
    for index, (x, y) in enumerate(places):
        others = [(a, b) for other, (a, b) in enumerate(places) if other != index]
        crowded = any(0 < a - x < 24 and abs(b - y) < 14 for a, b in others) or x > style.WIDTH - 40
        style.small(ax, x - 10 if crowded else x + 10, y + (0 if crowded else 0), str(index + 1), ha="right" if crowded else "left", colour=INK)


def _ceiling(ax: Axes, scale: _Scale, name: str, value: float, slope: float, points: list[tuple[float, float]]) -> None:
    y, right, width = scale.y(value), scale.x(scale.right), style.text_width(name, style.SMALL)
    style.line(ax, [scale.x(value / slope), right], [y, y], INK, 2, title=f"{name}: {_rate(value, 3)}")
    covered = any(right - x < width + 14 and -32 < py - y < 8 for x, py in points)
    style.small(ax, right, y + 12 if covered else y - 12, name, ha="right", colour=INK)


def _slope_name(ax: Axes, scale: _Scale, slope: float) -> None:
    """`copy` along the slanted ceiling, above its lower end, where points below the roof cannot reach it."""
    across, up = (style.WIDTH - LEFT - style.MARGIN) / math.log10(scale.right / scale.left), PLOT / math.log10(scale.high / scale.low)
    x, y = LEFT + 10, scale.y(slope * scale.left) - 10 * up / across - 6
    ax.text(x, y, "copy", fontsize=style.SMALL, color=INK.light, ha="left", va="bottom", rotation=math.degrees(math.atan2(up, across)), rotation_mode="anchor")


def _rate(value: float, digits: int = 0) -> str:
    """`100 TFLOP/s`: a rate with its prefix; a decade without digits behind it."""
    size, prefix = next((pair for pair in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")) if value >= pair[0] * 0.999), (1.0, ""))
    return f"{style.number(value / size) if digits else style.tick(value / size)} {prefix}FLOP/s"


def _axis(ax: Axes, scale: _Scale) -> None:
    bottom, right = scale.top + PLOT, scale.x(scale.right)
    for power in range(round(math.log10(scale.left)), round(math.log10(scale.right)) + 1):
        x = scale.x(10.0**power)
        style.line(ax, [x, x], [scale.top, bottom], GRID, order=0)
        style.small(ax, x, bottom + 12, style.tick(10.0**power), ha="right" if x > style.WIDTH - 30 else "center")
    for power in range(math.ceil(math.log10(scale.low) - 1e-9), math.floor(math.log10(scale.high)) + 1):
        y = scale.y(10.0**power)
        style.line(ax, [LEFT, right], [y, y], GRID, order=0)
        number, unit = _rate(10.0**power).split(" ")
        style.small(ax, LEFT - 8, y - 8, number, ha="right", colour=MUTED)
        style.small(ax, LEFT - 8, y + 7, unit, ha="right", colour=MUTED)
    style.small(ax, style.WIDTH - style.MARGIN, bottom + 34, "FLOP per byte (arithmetic intensity)", ha="right")


