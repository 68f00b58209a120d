"""Lines with markers over a numeric axis, named in a key above."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from . import style

PLOT = 280
MARKERS = "os^Dv<>PX*"
DASHES = ("-", "--", ":", "-.")


def curve(data: Any) -> Figure:
    """One line per series; axes start at zero unless logarithmic."""
    series = [(str(label), name, [float(v) for v in x], [float(v) for v in y]) for label, name, x, y in data["series"]]
    entries = [(label, *_look(name, index)) for index, (label, name, _, _) in enumerate(series)]
    inner = style.WIDTH - 2 * style.MARGIN
    top = style.MARGIN + 24 * style.legend_rows(entries, inner) + 30
    figure = style.canvas(top + PLOT + 56)
    ax = style.axes(figure, 78, top, style.MARGIN + 10, 56)
    for index, (_, name, x, y) in enumerate(series):
        ax.plot(x, y, color=_look(name, index)[0], linewidth=2.5, linestyle=DASHES[index % len(DASHES)],
                marker=MARKERS[index % len(MARKERS)], markersize=9, markeredgecolor=style.INK, markeredgewidth=0.8, clip_on=False)
    _axis(ax, "x", [v for s in series for v in s[2]], bool(data.get("log_x")))
    _axis(ax, "y", [v for s in series for v in s[3]], bool(data.get("log_y")))
    ax.grid(color=style.GRID, linewidth=1)
    ax.set_axisbelow(True)
    ax.set_xlabel(str(data["x"]), fontsize=style.SMALL, color=style.MUTED, labelpad=8)
    page = style.paper(figure)
    page.set_zorder(-1)
    style.legend(page, entries, style.MARGIN, style.MARGIN, inner)
    page.text(style.MARGIN, top - 14, str(data["y"]), fontsize=style.SMALL, color=style.MUTED, ha="left", va="center")
    return figure


def _look(name: str | None, index: int) -> tuple[str, str]:
    return style.VARIANTS[name] if name in style.VARIANTS else style.SERIES[index % len(style.SERIES)]


def _axis(ax: Any, which: str, values: list[float], logarithmic: bool) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = getattr(ax, f"{which}axis")
    limit = getattr(ax, f"set_{which}lim")
    if logarithmic and values and min(values) > 0:
        getattr(ax, f"set_{which}scale")("log")
        low, high = style.decade(min(values), up=False), style.decade(max(values), up=True)
        limit(low, high if high > low else low * 10)
        axis.set_minor_locator(NullLocator())
    else:
        high = style.step_above(max(values, default=1.0))
        limit(0, high)
        axis.set_major_locator(FixedLocator(style.ticks(high)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: style.tick(value)))
