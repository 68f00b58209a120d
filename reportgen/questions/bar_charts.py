"""Bar charts of one quantity over variants, with alt text that says the numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ..analysis import VariantFacts
from ..numbers.statistics import Estimate
from ..saying.units import Seconds
from .model import Chart


@dataclass(frozen=True)
class Total:
    """An end of a waterfall: what is measured, in seconds. id: of the variant, which gives the bar its colour."""

    label: str
    seconds: float
    id: str | None = None


@dataclass(frozen=True)
class Step:
    """What one cause adds to a total (above 0) or takes from it (below 0), in seconds."""

    label: str
    seconds: float


@dataclass(frozen=True)
class Waterfall:
    """The way from one measured total to another. The steps are drawn in the order given; what they leave over is the caller's to name.

    Raises:
        ValueError: the steps do not lead from start to end, to a thousandth of the larger total.
    """

    start: Total
    steps: tuple[Step, ...]
    end: Total

    def __post_init__(self) -> None:
        off = self.start.seconds + sum(step.seconds for step in self.steps) - self.end.seconds
        if abs(off) > max(self.start.seconds, self.end.seconds) / 1000:
            raise ValueError(f"the steps of a waterfall end {off * 1e6:.1f} µs beside its end; name the rest as a step")


def time_bars(name: str, shown: Sequence[tuple[VariantFacts, Estimate | None]], what: str, caption: str,
              reference: Sequence[float | None] | None = None, reference_label: str | None = None, reference_as: str = "mark") -> tuple[Chart, ...]:
    """Median times with their lowest and highest process, the shortest first; nothing where nothing was measured.

    Args:
        what: the quantity with a capital (`GPU time per forward`), the alt text's first words.
        reference: seconds per variant, as a mark on each bar's row, or in words `beside` its label.
    """
    if all(time is None for _, time in shown):
        return ()
    marks = dict(zip((variant.id for variant, _ in shown), reference or ()))
    shown = sorted(shown, key=lambda pair: math.inf if pair[1] is None else pair[1].median)
    known = [(variant, time) for variant, time in shown if time is not None]
    least = min(known, key=lambda pair: pair[1].median)
    said = "; ".join(f"{variant.title} {Seconds(time.median)}" for variant, time in known)
    data = {
        "labels": [variant.title for variant, _ in shown],
        "values": [_us(time.median if time else None) for _, time in shown],
        "low": [_us(time.low if time else None) for _, time in shown],
        "high": [_us(time.high if time else None) for _, time in shown],
        "unit": "µs",
        "ids": [variant.id for variant, _ in shown],
        "reference": [_us(marks[variant.id]) for variant, _ in shown] if reference else None,
        "reference_label": reference_label,
        "reference_as": reference_as,
    }
    return (Chart(name, "bars", data, alt=f"{what}: {said}. {least[0].title} has the smallest median.", caption=caption),)


def number_bars(name: str, shown: Sequence[tuple[VariantFacts, float | None]], unit: str, alt: str, caption: str,
                reference: Sequence[float | None] | None = None, reference_label: str | None = None) -> tuple[Chart, ...]:
    """Exact numbers (counts, percent) over variants, the least first; nothing where none is known."""
    if all(value is None for _, value in shown):
        return ()
    marks = dict(zip((variant.id for variant, _ in shown), reference or ()))
    shown = sorted(shown, key=lambda pair: math.inf if pair[1] is None else pair[1])
    data = {"labels": [variant.title for variant, _ in shown], "values": [value for _, value in shown], "low": None, "high": None,
            "unit": unit, "ids": [variant.id for variant, _ in shown], "reference": [marks[variant.id] for variant, _ in shown] if reference else None,
            "reference_label": reference_label}
    return (Chart(name, "bars", data, alt=alt, caption=caption),)


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e6


def waterfall(name: str, shown: Waterfall, alt: str, caption: str) -> tuple[Chart, ...]:
    """A waterfall in µs: a bar from zero for each total, floating bars for the steps between them."""
    data = {"start": (shown.start.label, shown.start.seconds * 1e6, shown.start.id), "end": (shown.end.label, shown.end.seconds * 1e6, shown.end.id),
            "steps": [(step.label, step.seconds * 1e6) for step in shown.steps], "unit": "µs"}
    return (Chart(name, "waterfall", data, alt=alt, caption=caption),)
