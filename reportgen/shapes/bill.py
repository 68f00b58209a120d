"""The bill of a new shape: what the first call at a length costs that no call had before, beside the calls that follow. As data.

A `Bill` is recorded beside the map. What it predicts is a sum: the first call at every new length, and the later price of each other call.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

from ..errors import RunInvalid
from ..run import scrub
from ..run.decode import Misfit, decode
from ..run.ranges import Extent, Seconds
from ..run.write import known
from .call import Call
from .record import Header

BILL_FILE = "bill.json"
SWITCH = "TORCH_CUDNN_SDPA_AVOID_RECOMPILE"
HONOURED: Literal["bhsd", "bshd"] = "bshd"
"""The layout that q, k and v must have for torch to heed the switch: for any other it warns and compiles as without it
(aten/src/ATen/native/cudnn/MHA.cpp of torch 2.11)."""
"""torch's environment variable: cuDNN then builds plans that serve several lengths. Read once, at the first call."""
CURE = "record it anew with `make map ARGS=\"--parts bill --anew\"`, or restore the file from version control"
LENGTHS = (640, 512, 896, 333, 768, 1024, 451, 705, 384, 577, 832, 256, 619, 872, 291, 967, 448, 523, 680, 401, 746, 811, 280, 359, 993, 488, 901, 661, 704, 482, 984, 376)
"""None of them twice, in no order: half are odd or nearly, as lengths of texts are; of multiples of 8, of 64 and of 128 there are at least three each."""
FEW = 12
"""How many of them a CPU is given, a quarter as long."""
BUCKETS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Lengths are rounded up to a multiple of one of these."""


@dataclass(frozen=True)
class Row:
    """One way of calling, in a process of its own that had called nothing before.

    avoid: with `SWITCH` set; layout: how q, k and v are stored (see `Call`); lengths: in the order in which they were called, queries and keys
    first: seconds of the first call at each, waited for; later: of the median later call, waited for; gpu: of a later call on the GPU
    reason: why there are no seconds
    """

    backend: str
    mask: bool
    gradients: bool
    avoid: bool = False
    lengths: tuple[Extent, ...] = ()
    first: tuple[Seconds, ...] = ()
    later: tuple[Seconds, ...] = ()
    gpu: tuple[Seconds, ...] = ()
    reason: str | None = None
    layout: Literal["bhsd", "bshd"] = "bhsd"

    @property
    def id(self) -> str:
        parts = [self.backend, "mask" if self.mask else "causal", "forward and backward" if self.gradients else "forward", *(["avoiding"] if self.avoid else [])]
        return ", ".join(parts)

    @property
    def new(self) -> tuple[float, ...]:
        """Seconds that a new length costs more than a later call, but for the very first one of the process."""
        return tuple(first - later for first, later in zip(self.first[1:], self.later[1:]))

    def at(self, length: int) -> float:
        """Seconds of a later call at any length: between the measured ones on a straight line, below them as at the shortest.

        Above them they grow with the square of the length, as the scores do.
        """
        known_ = sorted(zip(self.lengths, self.later))
        position = bisect_left([one for one, _ in known_], length)
        if position == 0:
            return known_[0][1]
        if position == len(known_):
            longest, seconds = known_[-1]
            return seconds * (length / longest) ** 2
        (low, below), (high, above) = known_[position - 1], known_[position]
        return below + (above - below) * (length - low) / (high - low)


@dataclass(frozen=True)
class Bill:
    """call: the shape of all rows, whose lengths are each row's own"""

    header: Header
    call: Call
    rows: tuple[Row, ...]

    def row(self, backend: str, mask: bool, gradients: bool, avoid: bool = False) -> Row | None:
        return next((one for one in self.rows if (one.backend, one.mask, one.gradients, one.avoid) == (backend, mask, gradients, avoid)), None)


def prices(found: Bill) -> int:
    """How many of its ways of calling have one."""
    return sum(bool(row.first) for row in found.rows)


def predict(row: Row, lengths: Sequence[int], begun: bool = True) -> float:
    """Seconds of one waited call at each of `lengths`, in a process in which none of them was called before.

    begun: whether the process has called this way already, so that what only its very first call costs is not in it

    >>> row = Row("cudnn", False, False, lengths=(100, 200, 300), first=(9.0, 1.2, 1.3), later=(0.1, 0.2, 0.3))
    >>> round(predict(row, [100, 100, 150]), 6), round(predict(row, [100], begun=False), 6)
    (2.35, 9.0)
    """
    extra, total = new_length(row), 0.0
    seen: set[int] = set()
    for length in lengths:
        total += row.at(length) + (0.0 if length in seen else extra(len(seen)))
        seen.add(length)
    return total if begun or not lengths else total + row.first[0] - row.later[0] - extra(0)


def new_length(row: Row) -> Any:
    """A function from how many lengths were new before to the seconds that the next new one costs more.

    Where every new length costs about the same it is their mean. Where the first few cost and the rest do not (a plan that serves several
    lengths), each early one costs what it did, and the others the median of the later half.
    """
    new = row.new
    if not new:
        return lambda before: 0.0
    half = max(1, len(new) // 2)
    if max(new[:half]) > 5 * max(median(new[half:]), 1e-9) and max(new[half:]) < 0.2 * max(new[:half]):
        return lambda before: new[before] if before < half else median(new[half:])
    return lambda before: fmean(new)


def calls_to_earn(row: Row, other: Row) -> float | None:
    """How often a length must be called before `row`, dearer at a new length and faster later, is the cheaper one; `None` where it never is.

    >>> slow = Row("flash", False, False, lengths=(8, 16), first=(0.001, 0.001), later=(0.001, 0.001))
    >>> quick = Row("cudnn", False, False, lengths=(8, 16), first=(0.05, 0.0507), later=(0.0007, 0.0007))
    >>> round(calls_to_earn(quick, slow)), calls_to_earn(slow, quick)
    (167, None)
    """
    if not row.new or not other.new:
        return None
    mine, others = row.gpu or row.later, other.gpu or other.later
    pairs = [(one, two) for length, one in zip(row.lengths, mine) for far, two in zip(other.lengths, others) if far == length]
    saved = fmean(two - one for one, two in pairs) if pairs else 0.0
    return max(0.0, fmean(row.new) - fmean(other.new)) / saved if saved > 0 else None


def bucketed(lengths: Sequence[int], bucket: int) -> list[int]:
    """Each length rounded up to a multiple of `bucket`."""
    return [-(-length // bucket) * bucket for length in lengths]


def best_bucket(row: Row, lengths: Sequence[int], buckets: Sequence[int] = BUCKETS) -> tuple[int, float]:
    """The bucket with the smallest predicted sum, the smaller one of two that tie, and that sum in seconds."""
    return min(((bucket, predict(row, bucketed(lengths, bucket))) for bucket in buckets), key=lambda pair: (pair[1], pair[0]))


def write(file: Path, content: Mapping[str, Any]) -> None:
    """Writes the fields of a `Bill`, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    beside = file.with_name(f".{file.name}.new")
    beside.write_text(json.dumps(known(scrub.content(dict(content), scrub.Machine.here())), indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    beside.replace(file)


def read(file: Path) -> Bill:
    """The bill in `file`.

    Raises:
        RunInvalid: names the file and the field.
    """
    try:
        bill: Bill = decode(Bill, json.loads(file.read_text(encoding="utf-8")))
    except Misfit as misfit:
        raise RunInvalid(str(misfit), where=str(file), cure=CURE) from None
    except (OSError, ValueError, RecursionError) as error:
        raise RunInvalid(f"cannot be read ({error})", where=str(file), cure=CURE) from None
    for row in bill.rows:
        if not len(row.lengths) == len(row.first) == len(row.later) or row.gpu and len(row.gpu) != len(row.lengths):
            raise RunInvalid(f"the row {row.id!r} has unequal numbers of lengths and seconds", where=str(file), cure=CURE)
    return bill
