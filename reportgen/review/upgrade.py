"""What changes from side A to side B, call by call: state, backend, ops, kernels, bits and time, and what carries a change of time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from ..numbers import quantities
from ..numbers.ranks import detectable, interval
from ..numbers.statistics import PROCESSES, Estimate, changed
from ..shapes.upgrade import Pair, Seen, Upgrade

_RANK = {"ok": 0, "refused": 1, "failed": 1, "no memory": 1, "wrong": 2}
"""What is worse: a refusal is seen, a wrong result is not."""


class Change(Enum):
    """What can come out otherwise, the gravest first."""

    STATE = "state"
    SLOWER = "slower"
    FASTER = "faster"
    BACKEND = "backend"
    KERNELS = "kernels"
    OPS = "ops"
    BITS = "bits"


class Cause(Enum):
    """What was seen to change together with a time."""

    BACKEND = "backend"
    KERNELS = "kernels"
    OPS = "ops"
    SAME_KERNELS = "same kernels"
    NOT_SEEN = "not seen"


@dataclass(frozen=True)
class Shift:
    """One quantity, B ÷ A.

    ratio: of the medians in the first pass; low, high: the interval that belongs to the test, `None` where there are too few processes
    flagged: the rule calls the first pass changed; confirmed: and the second one too, in the same direction
    least: the smallest slowdown that the rule would have called one
    """

    quantity: str
    a: float
    b: float
    low: float | None
    high: float | None
    flagged: bool
    confirmed: bool
    least: float

    @property
    def ratio(self) -> float:
        return self.b / self.a


@dataclass(frozen=True)
class Judged:
    """A call with everything that changes at it. shifts: of all quantities that both sides have, those that decide first"""

    pair: Pair
    changes: tuple[Change, ...]
    shifts: tuple[Shift, ...]
    cause: Cause

    @property
    def worse(self) -> bool:
        """Slower, or with a graver state."""
        return Change.SLOWER in self.changes or _RANK[self.pair.b.state] > _RANK[self.pair.a.state]

    @property
    def better(self) -> bool:
        return not self.worse and (Change.FASTER in self.changes or _RANK[self.pair.b.state] < _RANK[self.pair.a.state])

    @property
    def unconfirmed(self) -> bool:
        """Called changed in the first pass, and not again in the second."""
        return any(shift.flagged and not shift.confirmed for shift in self.shifts)

    def shift(self) -> Shift | None:
        """The one to show: the first that is confirmed, on a GPU its own time before wall time; else the first that decides."""
        return next((shift for shift in self.shifts if shift.confirmed), self.shifts[0] if self.shifts else None)

    @property
    def untimed(self) -> bool:
        """Right on both sides, and without a time to compare."""
        return self.pair.a.state == self.pair.b.state == "ok" and not self.shifts


def judged(found: Upgrade) -> list[Judged]:
    """Every call, in the order in which they were asked."""
    return [_judged(pair) for pair in found.pairs]


def worse(found: list[Judged]) -> bool:
    """Whether any call is worse on side B: the exit status of `compare`."""
    return any(one.worse for one in found)


def flagged(a: Mapping[str, Estimate], b: Mapping[str, Estimate]) -> bool:
    """Whether the rule calls a deciding time changed: the call gets a second pass."""
    return any(_flag(a, b, quantity) for quantity in deciding(a, b))


def deciding(a: Mapping[str, Estimate], b: Mapping[str, Estimate]) -> list[str]:
    """Quantities that both sides have and that may replace a recorded run, in the order of columns."""
    return [name for name in quantities.QUANTITIES if name in a and name in b and quantities.may_replace(name)]


def _flag(a: Mapping[str, Estimate], b: Mapping[str, Estimate], quantity: str) -> int:
    """1 slower, −1 faster, 0 not told apart: fewer than seven processes decide nothing."""
    if quantity not in a or quantity not in b or min(len(a[quantity].samples), len(b[quantity].samples)) < PROCESSES:
        return 0
    if not changed(a[quantity], b[quantity]):
        return 0
    return 1 if b[quantity].median > a[quantity].median else -1


def _judged(pair: Pair) -> Judged:
    a, b = pair.a, pair.b
    shifts = _shifts(a, b)
    both = a.state == b.state == "ok"
    told = {
        Change.STATE: a.state != b.state,
        Change.SLOWER: any(shift.confirmed and shift.ratio > 1 for shift in shifts),
        Change.FASTER: any(shift.confirmed and shift.ratio < 1 for shift in shifts),
        Change.BACKEND: both and a.picked != b.picked,
        Change.KERNELS: both and other_kernels(a, b),
        Change.OPS: both and a.ops != b.ops,
        Change.BITS: both and other_bits(a, b) is True,
    }
    return Judged(pair, tuple(change for change, is_so in told.items() if is_so), shifts, _cause(a, b))


def other_kernels(a: Seen, b: Seen) -> bool:
    """Whether both sides' kernels are known and differ."""
    return a.kernels is not None and b.kernels is not None and a.kernels != b.kernels


def other_bits(a: Seen, b: Seen) -> bool | None:
    """Whether the same inputs gave another output; `None` where a side does not repeat its own, or the inputs are not the same."""
    if a.output is None or b.output is None or a.inputs is None or a.inputs != b.inputs:
        return None
    return a.output != b.output


def _cause(a: Seen, b: Seen) -> Cause:
    if a.picked != b.picked:
        return Cause.BACKEND
    if other_kernels(a, b):
        return Cause.KERNELS
    if a.ops != b.ops:
        return Cause.OPS
    return Cause.SAME_KERNELS if a.kernels is not None and b.kernels is not None else Cause.NOT_SEEN


def _shifts(a: Seen, b: Seen) -> tuple[Shift, ...]:
    decides = deciding(a.times, b.times)
    rest = [name for name in quantities.QUANTITIES if name in a.times and name in b.times and name not in decides]
    return tuple(_shift(a, b, name, name in decides) for name in (*decides, *rest))


def _shift(a: Seen, b: Seen, quantity: str, decides: bool) -> Shift:
    before, after = a.times[quantity], b.times[quantity]
    low, high = interval(before, after) or (None, None)
    first = _flag(a.times, b.times, quantity) if decides else 0
    second = _flag(a.again, b.again, quantity) if first else 0
    return Shift(quantity, before.median, after.median, low, high, bool(first), bool(first) and first == second, detectable(before.samples))
