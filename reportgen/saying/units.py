"""Typed quantities in base units, and the only place that turns a number into text.

Inside the program times are seconds, sizes bytes, work FLOP, rates per second. A quantity is a
`float` (or `int`) that knows how to print itself, so a sentence can say `"{saving} saved"` and
JSON still carries the number. Three significant figures everywhere; `None` prints as an em dash.

>>> str(Seconds(0.00009344))
'93.4 µs'
>>> str(Ratio(2.7731))
'2.77×'
>>> str(Bytes(268435456))
'256 MiB'
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MISSING = "—"


def significant(value: float, digits: int = 3) -> str:
    """`value` with `digits` significant figures, never in exponent form below 10⁶.

    >>> significant(1234.5), significant(12.345), significant(0.012345), significant(99.96)
    ('1,230', '12.3', '0.0123', '100')
    """
    if not math.isfinite(value):
        return str(float(value))
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    rounded = round(value, digits - 1 - magnitude)
    magnitude = math.floor(math.log10(abs(rounded)))
    decimals = max(0, digits - 1 - magnitude)
    return f"{rounded:,.{decimals}f}" if magnitude >= -4 else f"{value:.{digits - 1}e}"


class _Float(float):
    def __str__(self) -> str:  # pragma: no cover - abstract
        raise NotImplementedError

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({float(self)!r})"


def _scaled(value: float, base: float, names: tuple[str, ...]) -> str:
    index = 0
    while index + 1 < len(names) and abs(value) >= base * (1 - 0.0005):
        value /= base
        index += 1
    return f"{significant(value)} {names[index]}"


class Seconds(_Float):
    """A duration in seconds; prints as ns, µs, ms or s."""

    def __str__(self) -> str:
        if not self:
            return "0 µs"
        if abs(self) < 0.9995e-6:
            return f"{significant(self * 1e9)} ns"
        return _scaled(self * 1e6, 1000.0, ("µs", "ms", "s"))

    def us(self) -> str:
        """The number of microseconds without its unit, for a column whose head carries it."""
        return significant(self * 1e6)


class Bytes(_Float):
    """A size in bytes; prints with binary prefixes."""

    def __str__(self) -> str:
        number, unit = _scaled(float(self), 1024.0, ("B", "KiB", "MiB", "GiB", "TiB")).split(" ")
        return f"{number.removesuffix('.00').removesuffix('.0')} {unit}"


class BytesPerSecond(_Float):
    """A rate; prints with decimal prefixes (TB/s), as datasheets do."""

    def __str__(self) -> str:
        return _scaled(float(self) / 1e9, 1000.0, ("GB/s", "TB/s"))


class Flop(_Float):
    """A number of floating-point operations (a count, not a rate)."""

    def __str__(self) -> str:
        if not self:
            return "0 FLOP"
        return _scaled(float(self) / 1e6, 1000.0, ("MFLOP", "GFLOP", "TFLOP"))


class FlopPerSecond(_Float):
    """A rate of floating-point operations."""

    def __str__(self) -> str:
        return _scaled(float(self) / 1e9, 1000.0, ("GFLOP/s", "TFLOP/s", "PFLOP/s"))


class Ratio(_Float):
    """A factor; prints as 2.77×."""

    def __str__(self) -> str:
        return f"{significant(self)}×"


class Percent(_Float):
    """A share, already in percent (12.5 means 12.5 %); what is negative has a true minus sign."""

    def __str__(self) -> str:
        value = float(self)
        text = f"{value:.2f}".rstrip("0").rstrip(".") if abs(value) < 99.995 else f"{value:.0f}"
        return f"{text.replace('-', '−')} %"


@dataclass(frozen=True)
class Saving:
    """What a change saves: seconds, and the share (0 to 1) of what they are taken from; `of` names that, `per` what is counted.

    said: the seconds as `difference` rounds them, so that they add up with the two times beside them, or a range; share: `None` where nothing is left to compare with

    >>> str(Saving(127e-6, 0.12, "Naive"))
    '127 µs per forward (12 % of Naive)'
    >>> str(Saving(0.039, None, "SDPA cuDNN", per="new shape", said="39.0 to 62.5 ms"))
    '39.0 to 62.5 ms per new shape (SDPA cuDNN)'
    """

    seconds: float
    share: float | None
    of: str
    per: str = "forward"
    said: str = ""

    def __str__(self) -> str:
        return f"{self.said or Seconds(self.seconds)} per {self.per} ({f'{self.percent} of ' if self.percent else ''}{self.of})"

    @property
    def percent(self) -> str:
        """The share with two figures at most; empty without one."""
        return "" if self.share is None else f"{significant(100 * self.share, 2)} %"

    @property
    def short(self) -> str:
        """`−127 µs (−12 %)`, `−39.0 to 62.5 ms per new shape`: for a place whose head says of what."""
        return f"−{self.said or Seconds(self.seconds)}{f' (−{self.percent})' if self.percent else f' per {self.per}'}"


class Count(int):
    """An exact number of things."""

    def __str__(self) -> str:
        return format(int(self), ",")

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else str(self)


def text(value: object) -> str:
    """Any table cell or sentence argument as text; `None` is an em dash."""
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not isinstance(value, _Float):
        return significant(value)
    if isinstance(value, int) and not isinstance(value, Count):
        return format(value, ",")
    return str(value)


def added(seconds: float, unit: bool = True) -> str:
    """A difference of two durations with its sign; without its unit, in microseconds.

    >>> added(0.000789), added(-0.000092), added(-0.00000234, unit=False)
    ('+789 µs', '−92.0 µs', '−2.34')
    """
    sign = "+" if seconds > 0 else "−" if seconds < 0 else ""
    size = Seconds(abs(seconds))
    return f"{sign}{size if unit else size.us()}"


MOST_DIGITS = 5
"""No duration that is one of two in a difference is printed with more digits: processes differ long before."""


def difference(larger: float, smaller: float, digits: int = 3) -> tuple[str, str, str]:
    """Two durations in seconds and what lies between them, in one unit and rounded so that they add up as printed.

    The least of the three sets the unit and the decimals, but the greatest has at most five digits.

    Args:
        digits: significant digits of the least.

    >>> difference(0.0010548, 0.0009283), difference(0.0010501, 0.0000464)
    (('1,055 µs', '928 µs', '127 µs'), ('1,050.1 µs', '46.4 µs', '1,003.7 µs'))
    """
    gap, most = larger - smaller, max(larger, smaller)
    if gap == 0:
        return str(Seconds(larger)), str(Seconds(smaller)), str(Seconds(0))
    least = max(min(abs(gap), larger, smaller), most * 10.0 ** (2 - MOST_DIGITS))
    size, unit = next(((size, unit) for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")) if least >= size), (1e-9, "ns"))
    decimals = digits - 1 - math.floor(math.log10(least / size))
    decimals = max(0, min(decimals, MOST_DIGITS - 1 - math.floor(math.log10(most / size))))
    first, second = (round(value / size, decimals) for value in (larger, smaller))
    return tuple(f"{value:,.{decimals}f} {unit}" for value in (first, second, first - second + 0.0))  # type: ignore[return-value]


def extent(low: float, high: float) -> str:
    """Two durations in seconds as a range, the unit said once where both share it.

    >>> extent(0.0661, 0.1028), extent(0.0009, 0.0011)
    ('66.1 to 103 ms', '900 µs to 1.10 ms')
    """
    first, second = str(Seconds(low)), str(Seconds(high))
    number, unit = first.split(" ")
    if first == second:
        return first
    return f"{number} to {second}" if second.endswith(f" {unit}") else f"{first} to {second}"


def listed(names: list[str] | tuple[str, ...], last: str = "and") -> str:
    """Names as prose: `a`, `a and b`, `a, b and c`.

    >>> listed(["flash", "cuDNN", "efficient"])
    'flash, cuDNN and efficient'
    """
    names = list(names)
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def plural(count: int, noun: str, plural_noun: str | None = None) -> str:
    """`1 kernel`, `20 kernels`."""
    return f"{Count(count)} {noun if count == 1 else plural_noun or noun + 's'}"


def verb(of: int | list[str] | tuple[str, ...], one: str, many: str) -> str:
    """The form of a verb that agrees with a number, or with how many names stand before it.

    >>> verb(1, "costs", "cost"), verb(["flash", "cuDNN"], "costs", "cost")
    ('costs', 'cost')
    """
    return one if (of if isinstance(of, int) else len(of)) == 1 else many


_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def number_word(value: int) -> str:
    """A small whole number in words, a larger one in digits: `seven`, `15`."""
    return _NUMBER_WORDS[value] if 0 <= value < len(_NUMBER_WORDS) else str(Count(value))


def multiple(value: int) -> str:
    """How many times as much, in words: `twice`, `four times`, `15 times`."""
    return {1: "once", 2: "twice"}.get(value) or f"{number_word(value)} times"


MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")


def day(stamp: str) -> str:
    """The day of an ISO 8601 time, in words; nothing of what is none.

    >>> day("2026-12-03T04:14:36Z"), day("yesterday")
    ('3 December 2026', '')
    """
    parts = stamp[:10].split("-")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts) or not 1 <= int(parts[1]) <= 12:
        return ""
    return f"{int(parts[2])} {MONTHS[int(parts[1]) - 1]} {int(parts[0])}"
