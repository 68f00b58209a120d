"""What all charts share: size, type, colours and the recipe that makes SVG reproducible.

The recipe is measured (fixed hash salt, no date, text kept as text, fixed limits and margins):
two draws of equal data are equal bytes, and one changed value changes a handful of lines.
"""

from __future__ import annotations

import html
import io
import math
import re
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import rc_context  # noqa: E402  (the backend must be chosen first)
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

WIDTH = 560
"""Width in px. On a phone of 390 px the picture shrinks to about two thirds, so type starts at 15."""
FONT = 15
SMALL = 13
INK = "#1b1b1b"
MUTED = "#5a5a5a"
PAPER = "#ffffff"
GRID = "#dddddd"
MARGIN = 14

# Okabe and Ito, Color Universal Design (2008): distinguishable with common colour blindness.
# Hatches carry the same difference without colour.
VARIANTS = {
    "naive": ("#D55E00", ""),
    "naive_inplace": ("#E69F00", "//"),
    "sdpa_math": ("#CC79A7", "xx"),
    "sdpa_efficient": ("#56B4E9", "\\\\"),
    "sdpa_flash": ("#0072B2", ""),
    "sdpa_cudnn": ("#009E73", "||"),
    "naive_compiled": ("#F0E442", "++"),
}
SERIES = (("#0072B2", ""), ("#E69F00", "//"), ("#009E73", "||"), ("#CC79A7", "xx"), ("#56B4E9", "\\\\"),
          ("#D55E00", "--"), ("#F0E442", "++"), ("#999999", "/"), ("#555555", "\\\\"), ("#BBBBBB", "x"))
OTHER = ("#8c8c8c", "")

SETTINGS = {
    "svg.hashsalt": "attention-report",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial"],
    "font.size": FONT,
    "hatch.linewidth": 0.6,
    "hatch.color": "#ffffff",
    "axes.unicode_minus": False,
    "path.simplify": False,
    "text.parse_math": False,
}


def to_svg(draw: Callable[[], Figure], alt: str) -> bytes:
    """Runs `draw` under the shared settings; the picture's title is `alt`."""
    with rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)  # letters stay letters in the file
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        buffer = io.BytesIO()
        draw().savefig(buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = buffer.getvalue().decode("utf-8").replace("\r\n", "\n")
    head, start, rest = text.partition("<svg ")
    tag, end, body = rest.partition(">")
    tag = re.sub(r'(width|height)="([0-9.]+)pt"', r'\1="\2"', tag)
    title = f"\n <title>{html.escape(alt, quote=False)}</title>" if alt else ""
    lines = "\n".join(line.rstrip() for line in (head + start + 'role="img" ' + tag + end + title + body).split("\n"))
    return lines.encode("utf-8")


def canvas(height: float, width: float = WIDTH) -> Figure:
    """An opaque light card of `width` × `height` px (1 px = 1 pt, so that sizes read alike)."""
    return Figure(figsize=(width / 72, height / 72), dpi=72, facecolor=PAPER)


def axes(figure: Figure, left: float, top: float, right: float, bottom: float) -> Axes:
    """Axes inside fixed margins, given in px."""
    width, height = figure.get_figwidth() * 72, figure.get_figheight() * 72
    ax = figure.add_axes((left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height))
    ax.set_facecolor(PAPER)
    for side in ax.spines.values():
        side.set_visible(False)
    ax.tick_params(length=0, labelsize=SMALL, labelcolor=MUTED, pad=4)
    return ax


def colour(ids: Sequence[str | None] | None, index: int) -> tuple[str, str]:
    """Fill and hatch of a bar: the variant's own, wherever it appears."""
    name = ids[index] if ids else None
    return VARIANTS.get(name, OTHER) if name else VARIANTS["sdpa_flash"]


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


def step_above(value: float, steps: Sequence[float] = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)) -> float:
    """The next round number at or above `value`, so that a small change moves no axis."""
    if value <= 0 or not math.isfinite(value):
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in steps if step * power >= value * 0.999999), 10 * power)


def decade(value: float, up: bool) -> float:
    """The power of ten at or beyond `value`."""
    return 10.0 ** (math.ceil(math.log10(value) - 1e-9) if up else math.floor(math.log10(value) + 1e-9))


COUNTS = ("activities", "kernels", "ops")
"""Units that are things, not measures."""


def number(value: float, unit: str = "") -> str:
    """A value as `units` prints it, with its unit as given; a count has no decimals."""
    from ...saying.units import significant

    space = "" if unit in ("", "×") else " "
    counted = unit in COUNTS and float(value).is_integer()
    return f"{int(value):,}{space}{unit}" if counted else f"{significant(value)}{space}{unit}"


def tick(value: float) -> str:
    """A round axis value without trailing zeros: `0.1`, `10`, `2,000`."""
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def ticks(top: float, count: int = 4) -> list[float]:
    """Round tick values from 0 to `top`."""
    step = step_above(top / count, (1, 2, 2.5, 5, 10))
    return [step * i for i in range(int(top / step + 1e-9) + 1)]


def legend(ax: Any, entries: Sequence[tuple[str, str, str]], x: float, y: float, width: float) -> float:
    """Swatches with labels in px of `ax` (whose limits are px, y down); returns the next free y."""
    from matplotlib.patches import Rectangle

    left = x
    for label, fill, hatch in entries:
        label = fitted(label, width - 30, SMALL)
        size = 24 + text_width(label, SMALL) + 16
        if x + size > left + width and x > left:
            x, y = left, y + 24
        ax.add_patch(Rectangle((x, y), 16, 14, facecolor=fill, hatch=hatch, edgecolor=PAPER, linewidth=0))
        ax.text(x + 22, y + 7, label, fontsize=SMALL, color=INK, va="center", ha="left")
        x += size
    return y + 24


def legend_rows(entries: Sequence[tuple[str, str, str]], width: float) -> int:
    """How many rows `legend` will take."""
    rows, x = 1, 0.0
    for label, _, _ in entries:
        size = 24 + text_width(fitted(label, width - 30, SMALL), SMALL) + 16
        if x + size > width and x > 0:
            rows, x = rows + 1, 0.0
        x += size
    return rows if entries else 0


def paper(figure: Figure) -> Axes:
    """Axes over the whole card in px, y downwards: forms that place everything themselves draw here."""
    ax = axes(figure, 0, 0, 0, 0)
    ax.set_xlim(0, figure.get_figwidth() * 72)
    ax.set_ylim(figure.get_figheight() * 72, 0)
    ax.set_axis_off()
    return ax
