"""Reads what Nsight Compute prints with `--csv --page raw`: one row per kernel, one column per metric.

The table lies between lines of the tool's own (`==PROF==`, `==WARNING==`). A second head row holds
the units. Numbers are written for people, with the separators of some locale.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..run.counters import over_full

RANGE_PREFIX = "attn_"
"""Each annotated forward lies in an NVTX range of this prefix and the variant's id."""
MASK_STEP = "mask_step_"
"""What the ranges of the mask step's ops have before the op's name."""
KERNEL, GRID, BLOCK = "Kernel Name", "Grid Size", "Block Size"
_RANGE = re.compile(rf"{RANGE_PREFIX}(\w+)")
_SPACES = re.compile(r"[\s'’_\u00a0\u2009\u202f]")
_MISSING = {"", "n/a", "nan", "-nan", "(!) n/a", "no data", "<error>"}
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_TIMES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "nsecond": 1e-9, "usecond": 1e-6, "msecond": 1e-3, "second": 1.0}


class Unreadable(ValueError):
    """The text holds no table of kernels; the message says what was looked for."""


@dataclass(frozen=True)
class Notation:
    """How a file writes numbers. decimal: `.` or `,`; the other one, if there, groups thousands."""

    decimal: str = "."

    def number(self, text: str) -> float | None:
        """The value of a cell, or `None` where the tool has none.

        >>> Notation().number("33,606,656"), Notation(",").number("33.606,5"), Notation().number("n/a")
        (33606656.0, 33606.5, None)
        """
        if text.strip().lower() in _MISSING:
            return None
        plain = _SPACES.sub("", text).rstrip("%")
        plain = plain.replace("," if self.decimal == "." else ".", "").replace(self.decimal, ".")
        try:
            return float(plain)
        except ValueError:
            return None


def notation(cells: Iterable[str]) -> Notation:
    """Which mark is the decimal one, from cells that leave no doubt.

    `1,980` alone could be either; `1,980,000`, `0.59` and `700,138.67` could not. English where
    nothing decides.
    """
    votes = {".": 0, ",": 0}
    for cell in cells:
        text = _SPACES.sub("", cell).rstrip("%")
        for mark, other in ((".", ","), (",", ".")):
            grouped = re.fullmatch(rf"\d{{1,3}}(?:\{other}\d{{3}})+\{mark}\d+|\d{{1,3}}(?:\{other}\d{{3}}){{2,}}", text)
            fraction = re.fullmatch(rf"\d+\{mark}(?:\d{{1,2}}|\d{{4,}})|0\{mark}\d+", text)
            votes[mark] += bool(grouped or fraction)
    return Notation("," if votes[","] > votes["."] else ".")


def factor(unit: str) -> float:
    """What a value of this unit is multiplied with: to bytes, seconds, or left as it is.

    >>> factor("byte/block"), factor("Mbyte"), factor("us"), factor("%")
    (1.0, 1000000.0, 1e-06, 1.0)
    """
    head = unit.strip().split("/")[0]
    match = re.fullmatch(r"([KMGT]?)byte", head)
    return _PREFIXES[match[1]] if match else _TIMES.get(head, 1.0)


def parse(text: str, metrics: Sequence[str]) -> dict[str, Any]:
    """`{"metrics", "missing", "variants": {id: [kernel, …]}}`, kernels in the order of their launch.

    kernel: `{"kernel", "grid", "block", "metrics": {name: number or None}}`; bytes, seconds, percent,
    counts; a share of more than all is no value. `metrics` are those of which at least one kernel has a value, `missing` the others.

    Raises:
        Unreadable: there is no such table, or no kernel lies in a range of ours.
    """
    rows = _table(text)
    if len(rows) < 2 or KERNEL not in rows[0]:
        raise Unreadable(f"no table with a column {KERNEL!r}")
    head, rest = rows[0], rows[1:]
    units = dict(zip(head, rest[0])) if not rest[0][head.index(KERNEL)].strip() else {}
    body = [dict(zip(head, row)) for row in (rest[1:] if units else rest)]
    written = notation(row.get(name, "") for row in body for name in metrics)
    variants: dict[str, list[dict[str, Any]]] = {}
    for row in body:
        variant = _variant(row)
        if variant is not None:
            values = {name: _scaled(written.number(row.get(name, "")), units.get(name, "")) for name in metrics}
            values = {name: None if over_full(name, value) else value for name, value in values.items()}
            variants.setdefault(variant, []).append(
                {"kernel": row[KERNEL], "grid": _triple(row.get(GRID)), "block": _triple(row.get(BLOCK)), "metrics": values})
    if not variants:
        raise Unreadable("no kernel inside an annotated forward")
    seen = [name for name in metrics if any(kernel["metrics"][name] is not None for kernels in variants.values() for kernel in kernels)]
    return {"metrics": seen, "missing": [name for name in metrics if name not in seen], "variants": variants}


def passes(said: str) -> int | None:
    """How often the tool ran a kernel at most, by what it says of its progress; `None` where it says nothing.

    >>> passes('==PROF== Profiling "mul": 0%....50%....100% - 2 passes')
    2
    """
    return max((int(number) for number in re.findall(r"(\d+) pass(?:es)?\b", said)), default=None)


def _table(text: str) -> list[list[str]]:
    """The CSV rows from the head row on, without the tool's own lines and rows of another length."""
    lines = [line for line in text.replace("\x00", "").splitlines() if line.strip() and not line.startswith("==")]
    start = next((index for index, line in enumerate(lines) if KERNEL in line and line.lstrip('\ufeff"').startswith("ID")), None)
    if start is None:
        return []
    lines[start] = lines[start].lstrip("\ufeff")
    delimiter = max(",;\t", key=lines[start].count)
    try:
        rows = list(csv.reader(lines[start:], delimiter=delimiter))
    except csv.Error as error:
        raise Unreadable(f"no CSV ({error})") from None
    return [row for row in rows if len(row) == len(rows[0])]


def _variant(row: dict[str, str]) -> str | None:
    """The id in the row's NVTX columns, whose heads name a kind of range."""
    for column, cell in row.items():
        match = _RANGE.search(cell) if "Range" in column else None
        if match:
            return match[1]
    return None


def _scaled(value: float | None, unit: str) -> float | int | None:
    if value is None:
        return None
    value *= factor(unit)
    return int(value) if value.is_integer() else value


def _triple(text: str | None) -> list[int] | None:
    """`(2, 66, 1)` → `[2, 66, 1]`."""
    numbers = re.findall(r"\d+", text or "")
    return [int(number) for number in numbers] if len(numbers) == 3 else None
