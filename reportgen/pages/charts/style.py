"""What all charts share: size, type, colours and the recipe that makes SVG reproducible.

The recipe is measured (fixed hash salt, no date, text kept as text, fixed limits and margins):
two draws of equal data are equal bytes, and one changed value changes a handful of lines.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import rc_context  # noqa: E402  (the backend must be chosen first)
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.patches import Polygon, Rectangle  # noqa: E402

from .paint import MARK, painted  # noqa: E402
from .palettes import GRID, HATCHING, INK, MUTED, PAPER, Look  # noqa: E402

WIDTH = 440
"""Width in px. On a phone of 390 px the picture is 358 px wide, so type of 14 is read at 11.4."""
FONT = 15
SMALL = 14
MARGIN = 14
INNER = WIDTH - 2 * MARGIN
LINE, SMALL_LINE = 20, 18
BOLD = 1.12
"""How much wider bold letters are."""

SETTINGS = {
    "svg.hashsalt": "attention-report",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "font.size": FONT,
    "hatch.linewidth": 0.6,
    "hatch.color": HATCHING.light,
    "axes.unicode_minus": False,
    "path.simplify": False,
    "text.parse_math": False,
}


def to_svg(draw: Callable[[], Figure], alt: str, table: str = "") -> bytes:
    """Runs `draw` under the shared settings; the picture's title is `alt`, and it carries `table` (CSV) along."""
    with rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # letters stay letters in the file
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        buffer = io.BytesIO()
        draw().savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return painted(buffer.getvalue().decode("utf-8").replace("\r\n", "\n"), alt, table).encode("utf-8")


def sheet(data: Any, height: float) -> tuple[Axes, float]:
    """Axes over the whole picture, in px and y downwards, with the title above and the device's line below.

    Args:
        data: its `title` and `foot` are drawn where they are given.
        height: px that the form itself needs.

    Returns:
        The axes, and the y at which the form begins.
    """
    title, foot = wrapped(str(data.get("title") or ""), INNER / BOLD, FONT), wrapped(str(data.get("foot") or ""), INNER, SMALL)
    top = MARGIN + (LINE * len(title) + 4 if title else 0)
    whole = top + height + (SMALL_LINE * len(foot) + 8 if foot else 0)
    figure = Figure(figsize=(WIDTH / 72, whole / 72), dpi=72, facecolor=PAPER.light)  # 1 px = 1 pt, so that sizes read alike
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set_xlim(0, WIDTH)
    ax.set_ylim(whole, 0)
    ax.set_axis_off()
    for index, text in enumerate(title):
        say(ax, MARGIN, MARGIN + 6 + LINE * index, text, weight="bold")
    for index, text in enumerate(foot):
        small(ax, MARGIN, top + height + 8 + SMALL_LINE * index, text)
    return ax, top


def say(ax: Axes, x: float, y: float, text: str, size: float = FONT, colour: Look = INK, ha: str = "left", weight: str = "normal") -> None:
    """Letters, centred on `y`."""
    ax.text(x, y, text, fontsize=size, color=colour.light, va="center", ha=ha, fontweight=weight)


def small(ax: Axes, x: float, y: float, text: str, ha: str = "left", colour: Look = MUTED) -> None:
    """Small letters: axes, keys, notes."""
    say(ax, x, y, text, SMALL, colour, ha)


def box(ax: Axes, x: float, y: float, width: float, height: float, look: Look, title: str = "", edge: Look = PAPER, line: float = 0.0, hatched: bool = True) -> None:
    """A filled rectangle; `title` is read over it."""
    patch = Rectangle((x, y), width, height, facecolor=look.light, hatch=look.hatch if hatched else "", edgecolor=edge.light, linewidth=line)
    _add(ax, patch, title)


def shape(ax: Axes, points: Sequence[tuple[float, float]], look: Look, title: str = "", edge: Look = PAPER, line: float = 0.0) -> None:
    """A filled polygon; `title` is read over it."""
    _add(ax, Polygon(points, closed=True, facecolor=look.light, edgecolor=edge.light, linewidth=line), title)


def _add(ax: Axes, patch: Any, title: str) -> None:
    if title:
        patch.set_gid(over(title))
    ax.add_patch(patch).set_clip_on(False)


def over(title: str) -> str:
    """The words that are read over a mark, as its gid, on one line."""
    return MARK + " ".join(title.split())


def line(ax: Axes, xs: Sequence[float], ys: Sequence[float], look: Look = GRID, width: float = 1.0, order: int = 2, title: str = "", dash: str = "-") -> None:
    """A line through points, in the axes' units."""
    ax.plot(xs, ys, color=look.light, linewidth=width, zorder=order, clip_on=False, gid=over(title) if title else None, linestyle=dash)


def lines(ax: Axes, ends: Sequence[tuple[float, float, float, float]], look: Look = GRID, width: float = 1.0, order: int = 2) -> None:
    """Many lines from (x, y) to (x, y) as one path, which takes a tenth of the room."""
    if ends:
        line(ax, [x for a, _, b, _ in ends for x in (a, b, math.nan)], [y for _, a, _, b in ends for y in (a, b, math.nan)], look, width, order)


def grid(ax: Axes, end: float, scale: float, top: float, bottom: float, unit: str, left: float = MARGIN) -> None:
    """Upright lines at round values from 0 to `end`, their numbers below, and the unit at the right. scale: px per unit."""
    last, room = -1.0, WIDTH - MARGIN - text_width(unit, SMALL) - 8
    for value in ticks(end):
        x, text = left + value * scale, tick(value)
        line(ax, [x, x], [top, bottom], order=0)
        half = text_width(text, SMALL) / 2
        middle = max(x, MARGIN + half)
        if (middle - half > last + 8 or last < 0) and middle + half < room:
            small(ax, middle, bottom + 12, text, ha="center")
            last = middle + half
    small(ax, WIDTH - MARGIN, bottom + 12, unit, ha="right")


def text_width(text: str, size: float = FONT) -> float:
    """Width in px of `text`, measured with the widest font of the stack."""
    return sum(_advance(character) for character in text) * size


@cache
def _advance(character: str) -> float:
    """Advance of one character at size 1; outlines would be exact, and fifty times slower."""
    from matplotlib.font_manager import findfont, get_font

    font = get_font(findfont("DejaVu Sans"))
    font.set_size(100, 72)
    if not font.get_char_index(ord(character)):  # the reader's browser has another font for it, in which no sign is wider than high
        return 1.0
    return float(font.load_char(ord(character)).linearHoriAdvance) / 65536 / 100


def fitted(text: str, width: float, size: float = FONT) -> str:
    """`text`, cut with … so that it is at most `width` px wide."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def wrapped(text: str, width: float, size: float = FONT) -> list[str]:
    """`text` in lines of at most `width` px, broken between words; a word that is wider is cut."""
    lines: list[str] = []
    for word in text.split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(fitted(word, width, size))
    return lines


def step_above(value: float, steps: Sequence[float] = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)) -> float:
    """The next round number at or above `value`, so that a small change moves no axis."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in steps if step * power >= value * 0.999999), 10 * power)


def decade(value: float, up: bool) -> float:
    """The power of ten at or beyond `value`."""
    return 10.0 ** (math.ceil(math.log10(value) - 1e-9) if up else math.floor(math.log10(value) + 1e-9))


COUNTS = {"activities": "activity", "kernels": "kernel", "ops": "op"}
"""Units that are things, not measures → one of them."""


def number(value: float, unit: str = "") -> str:
    """A value as `units` prints it, with its unit; a count has no decimals, and one thing is no several."""
    from ...saying.units import Bytes, significant

    if unit == "MiB":  # as tables say sizes: 2.53 GiB, not 2,590 MiB
        return str(Bytes(value * 2**20))

    space = "" if unit in ("", "×") else " "
    if unit in COUNTS and float(value).is_integer():
        return f"{int(value):,} {COUNTS[unit] if value == 1 else unit}"
    return f"{significant(value)}{space}{unit}"


def tick(value: float) -> str:
    """A round axis value without trailing zeros: `0.1`, `10`, `2,000`."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def ticks(top: float, count: int = 4) -> list[float]:
    """Round tick values from 0 to `top`."""
    step = step_above(top / count, (1, 2, 2.5, 5, 10))
    return [step * i for i in range(int(top / step + 1e-9) + 1)]


def legend(ax: Axes, entries: Sequence[tuple[str, Look]], y: float) -> float:
    """Swatches with labels over the whole width; returns the next free y."""
    for place, (label, look) in zip(_places(entries), entries):
        row, x = place
        box(ax, MARGIN + x, y + SMALL_LINE * 1.2 * row + 1, 16, 14, look)
        small(ax, MARGIN + x + 22, y + SMALL_LINE * 1.2 * row + 8, fitted(label, INNER - 30, SMALL), colour=INK)
    return y + legend_height(entries)


def legend_height(entries: Sequence[tuple[str, Look]]) -> float:
    """How many px `legend` will take."""
    return SMALL_LINE * 1.2 * (_places(entries)[-1][0] + 1) + 4 if entries else 0.0


def _places(entries: Sequence[tuple[str, Look]]) -> list[tuple[int, float]]:
    """Row and x of each entry."""
    places, row, x = [], 0, 0.0
    for label, _ in entries:
        size = 22 + text_width(fitted(label, INNER - 30, SMALL), SMALL) + 14
        if x and x + size - 14 > INNER:
            row, x = row + 1, 0.0
        places.append((row, x))
        x += size
    return places
