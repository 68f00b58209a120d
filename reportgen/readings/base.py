"""What readings share: rates over their GPU time, shares in percent."""

from __future__ import annotations

from ..analysis import VariantFacts
from ..saying.units import BytesPerSecond, Percent, Seconds


def time(variant: VariantFacts) -> float | None:
    """Seconds of GPU time of one forward: the replay's, which decides; `None` where it was not taken."""
    return variant.gpu_time.median if variant.gpu_time else None


def rate(amount: float, variant: VariantFacts) -> float | None:
    """`amount` per second of GPU time."""
    seconds = time(variant)
    return amount / seconds if seconds else None


def percent(part: float | None, whole: float | None) -> Percent | None:
    """`part ÷ whole` in percent with one decimal; `None` where either is not known."""
    return None if part is None or not whole else Percent(round(100 * part / whole, 1))


def us(seconds: float | None) -> str | None:
    """Microseconds without their unit, for a column whose head carries it."""
    return None if seconds is None else Seconds(seconds).us()


def per_second(value: float | None) -> BytesPerSecond | None:
    return None if value is None else BytesPerSecond(value)
