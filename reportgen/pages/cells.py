"""Cells and sentences that carry markup of our own, beside the plain values that `tables` knows."""

from __future__ import annotations

from dataclasses import dataclass

from ..numbers.statistics import Estimate
from ..saying.markup import sentence
from ..saying.units import Seconds, significant
from .charts.palettes import of_variant


@dataclass(frozen=True)
class Badge:
    """A verdict as a word in a coloured box, so that the colour is never alone."""

    verdict: str | None

    def __str__(self) -> str:
        return f'<span class="verdict {(self.verdict or "").replace(" ", "-")}">{self.verdict}</span>'


@dataclass(frozen=True)
class Sentence:
    """A sentence in a table cell; its `code` stays code."""

    text: str

    def __str__(self) -> str:
        return sentence(self.text).replace("|", "&#124;")


@dataclass(frozen=True)
class Linked:
    """A sentence that links to a page below the docs root."""

    text: str
    target: str
    root: str

    def __str__(self) -> str:
        return f"[{sentence(self.text)}]({self.root}{self.target})".replace("|", "&#124;")


@dataclass(frozen=True)
class Lines:
    """Cells stacked in one cell; each is Markdown already."""

    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "<br>".join(self.lines)


@dataclass(frozen=True)
class Marked:
    """Markdown of our own making."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Anchored:
    """A sentence that other pages link to."""

    anchor: str
    text: str

    def __str__(self) -> str:
        return f'<a id="{self.anchor}"></a>{Sentence(self.text)}'


BLOCKS = " ▏▎▍▌▋▊▉"
"""A cell in eighths, from nothing on; a whole one is █."""
LONGEST_BAR = 24


@dataclass(frozen=True)
class Bar:
    """A bar of block characters, which a forge shows as well; the number stands beside it. share: of the longest, 0 to 1."""

    id: str
    share: float

    def __str__(self) -> str:
        eighths = max(1, round(8 * LONGEST_BAR * self.share))
        drawn = "█" * (eighths // 8) + BLOCKS[eighths % 8].strip()
        return f'<span class="bar {of_variant(self.id).name}" aria-hidden="true">{drawn}</span>'


def us(value: Estimate | float | None) -> str | None:
    """A median in µs without its unit, for a column whose head carries it; `None` where there is none."""
    if value is None:
        return None
    return Seconds(value.median if isinstance(value, Estimate) else value).us()


def interval(value: Estimate | None) -> str | None:
    """`93.1 to 93.9`: lowest and highest process median in µs; of one process, or where both read alike, no range is made up."""
    if value is None:
        return None
    low, high = Seconds(value.low).us(), Seconds(value.high).us()
    if len(value.samples) == 1:
        return "one process"
    return f"{low} to {high}" if low != high else f"{low} in every process"


def signed(percent: float) -> str:
    """`+1.3 %`; what rounds to nothing has no sign."""
    return f"{percent:+.1f} %".replace("-", "−") if round(percent, 1) else "0.0 %"


def dims(value: tuple[int, ...] | None) -> str | None:
    """`2×66×1`: a grid or a block, in one word so that no cell breaks inside it."""
    return None if value is None else "×".join(str(v) for v in value)


def error(share: float | None) -> str | None:
    """A relative error in percent, two figures: 0.002 is `0.20 %`."""
    return None if share is None else f"{significant(share * 100, 2)} %"
