"""The bill of a new shape: what the first call at a length costs that no call had before, beside the calls that follow. As data.

A `Bill` is recorded beside the map. What it predicts is a sum: the first call at every new length, and the later price of each other call.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal

from ..errors import RunInvalid
from ..run import scrub
from ..run.decode import Misfit, decode
from ..run.ranges import Count, Extent, Seconds
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
LENGTHS = ((640, 333, 1024, 451, 897, 577, 320, 705, 257, 832, 1016),
           (768, 291, 512, 967, 619, 401, 1023, 448, 811, 960, 680),
           (704, 359, 993, 384, 746, 482, 1000, 896, 661, 271, 576))
"""Of each process, no length twice. A long one and a short one first, so that a plan which serves many lengths is met by the same ones in each. Most are no
multiple of 64, as lengths of texts are, and every process has some that are."""
FEW = 4
"""How many of each a CPU is given, a quarter as long."""
ALIGNED = 64
"""Kernels work in tiles: multiples of this cost less than their neighbours."""
BUCKETS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)
"""Lengths are rounded up to a multiple of one of these."""


@dataclass(frozen=True)
class Row:
    """One way of calling, in a process of its own that had called nothing before.

    avoid: with `SWITCH` set; layout: how q, k and v are stored (see `Call`); lengths: in the order in which they were called, queries and keys
    first: seconds of the first call at each, waited for; later: of the median later call, waited for; gpu: of a later call on the GPU
    passes: which process each length is of, where there were several; empty in older bills, which had one
    begun: seconds of each process's very first call, at a length of no row; where it is empty the first length was that call
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
    passes: tuple[Count, ...] = ()
    begun: tuple[Seconds, ...] = ()

    @property
    def id(self) -> str:
        parts = [self.backend, "mask" if self.mask else "causal", "forward and backward" if self.gradients else "forward", *(["avoiding"] if self.avoid else [])]
        return ", ".join(parts)

    @property
    def split(self) -> tuple[Row, ...]:
        """A row per process."""
        numbers = sorted(set(self.passes))
        if not numbers:
            return (self,)

        def of(values: tuple[Any, ...], number: int) -> tuple[Any, ...]:
            return tuple(value for value, own in zip(values, self.passes) if own == number)

        return tuple(replace(self, lengths=of(self.lengths, number), first=of(self.first, number), later=of(self.later, number), gpu=of(self.gpu, number), passes=(),
                             begun=self.begun[place:place + 1]) for place, number in enumerate(numbers))

    @property
    def new(self) -> tuple[float, ...]:
        """Seconds that a new length costs more than a later call, but for the very first call of a process."""
        if self.passes:
            return tuple(price for row in self.split for price in row.new)
        return tuple(first - later for first, later in zip(self.first, self.later))[0 if self.begun else 1:]

    def at(self, length: int) -> float:
        """Seconds of a later call at any length: between the measured ones of its kind (`ALIGNED` or not) on a straight line, below them as at the shortest.

        Above them they grow with the square of the length, as the scores do.
        """
        alike = [(one, seconds) for one, seconds in zip(self.lengths, self.later) if (one % ALIGNED == 0) == (length % ALIGNED == 0)]
        known_ = sorted(alike if len(alike) > 2 else zip(self.lengths, self.later))
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


def predict(row: Row, lengths: Sequence[int]) -> float:
    """Seconds of one waited call at each of `lengths`, in a process that has called this way already, at a length that is none of them.

    >>> row = Row("cudnn", False, False, lengths=(100, 200, 300), first=(9.0, 1.2, 1.3), later=(0.1, 0.2, 0.3))
    >>> round(predict(row, [100, 100, 150]), 6)
    2.35
    """
    extra, total = new_length(row), 0.0
    seen: set[int] = set()
    for length in lengths:
        total += row.at(length) + (0.0 if length in seen else extra(len(seen)))
        seen.add(length)
    return total


def between(row: Row, lengths: Sequence[int]) -> tuple[float, float] | None:
    """The least and the most that the processes would predict, each at its own pace; `None` where there was one."""
    found = paces(row, lengths)
    return (min(found), max(found)) if len(found) > 1 else None


def paces(row: Row, lengths: Sequence[int]) -> list[float]:
    """What each process would predict at its own pace. A price far beyond what the processes show at its place is one that it alone paid, and no pace."""
    parts = row.split
    if len(parts) == 1:
        return [predict(row, lengths)]
    early = [median(places) for places in zip(*(one.new for one in parts))]
    found = []
    for one in parts:
        own = [price if price <= ALONE * middle else middle for price, middle in zip(one.new, early)]
        rest, seen = median(one.new[len(one.new) // 2:]), set(lengths)
        found.append(sum(one.at(length) for length in lengths) + sum(own[:len(seen)]) + rest * max(0, len(seen) - len(own)))
    return found


ALONE = 3.0
"""Times the median of the processes at a place that a price must be to be one process's own."""


def new_length(row: Row) -> Callable[[int], float]:
    """A function from how many lengths were new before to the seconds that the next new one costs more.

    The first ones cost the median of the processes at that place: what one of them alone paid (a file that was read for the first time) is not in it.
    The others cost what the processes settled at. Of one process alone, each early one costs what it did only where the first few cost and the rest do not
    (a plan that serves several lengths).
    """
    new = [one.new for one in row.split if one.new]
    if not new:
        return lambda before: 0.0
    rest = settled(row)
    if len(new) > 1:
        early = [median(places) for places in zip(*new)]
        return lambda before: early[before] if before < len(early) else rest
    half = max(1, len(new[0]) // 2)
    if max(new[0][:half]) > 5 * max(rest, 1e-9) and max(new[0][half:], default=0.0) < 0.2 * max(new[0][:half]):
        return lambda before: new[0][before] if before < half else rest
    return lambda before: price(row)


def price(row: Row) -> float:
    """Seconds that a new length costs more: the median of each process, and their mean."""
    return fmean(_medians(row))


def settled(row: Row) -> float:
    """The same of the later half of each process's lengths."""
    return fmean(median(one.new[len(one.new) // 2:]) for one in row.split if one.new)


def spread(row: Row) -> tuple[float, float] | None:
    """The least and the most of the processes' medians; `None` where there was one."""
    found = _medians(row)
    return (min(found), max(found)) if len(found) > 1 else None


def slower(row: Row, other: Row) -> float:
    """How many times as long as one of `other` a later call of `row` takes, by their medians."""
    return median(row.later) / median(other.later)


def _medians(row: Row) -> list[float]:
    return [median(one.new) for one in row.split if one.new]


def calls_to_earn(row: Row, other: Row) -> float | None:
    """How often a length must be called before `row`, dearer at a new length and faster later, is the cheaper one; `None` where it never is.

    Later calls count as a loop pays for them: waited for, queuing included.

    >>> slow = Row("flash", False, False, lengths=(8, 16), first=(0.001, 0.001), later=(0.001, 0.001))
    >>> quick = Row("cudnn", False, False, lengths=(8, 16), first=(0.05, 0.0507), later=(0.0007, 0.0007))
    >>> round(calls_to_earn(quick, slow)), calls_to_earn(slow, quick)
    (167, None)
    """
    if not row.new or not other.new:
        return None
    pairs = [(one, two) for length, one in zip(row.lengths, row.later) for far, two in zip(other.lengths, other.later) if far == length]
    saved = fmean(two - one for one, two in pairs) if pairs else 0.0
    return max(0.0, price(row) - price(other)) / saved if saved > 0 else None


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
        if row.passes and (len(row.passes) != len(row.lengths) or len(row.begun) != len(set(row.passes))):
            raise RunInvalid(f"the row {row.id!r} has unequal numbers of lengths and processes", where=str(file), cure=CURE)
    return bill
