"""What a recorded map shows: per point who wins, what torch's default loses, where the host is the limit, where the winner changes.

Numbers and enums, without a sentence. A backend wins at a point only if it gave a right result, has all its rounds, beats every other in
every round, and by more than the map can mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from statistics import median

from variants.backends import BACKENDS

from ..shapes import Call
from ..shapes.record import Header, Point, Reading, ShapeMap

LEAST_MARGIN = 0.03
"""Two medians that lie closer are never told apart."""
QUIET = 0.9
"""The share of readings whose five rounds lie within the map's floor."""
LEAST_ROUNDS = 5
FAR_BEHIND = 6.0
"""A backend that was timed once is told to lose where it takes so many times the fastest one's time; else it counts as untimed."""


class Standing(Enum):
    """How a point came out."""

    WINNER = "one beats every other"
    TIE = "the first ones are not told apart"
    ALONE = "one backend alone gives a right result"
    UNDECIDED = "a right one has no time, and could win"
    NOBODY = "no backend gives a right result in a known time"


class Default(Enum):
    """What becomes of a call with nothing pinned."""

    BEST = "torch picks the winner, or one that is not told apart from it"
    LOSES = "torch picks one that another beats"
    WRONG = "what torch picks gives a wrong result"
    UNTIMED = "what torch picks has no time to compare"
    NOTHING = "torch takes no backend"


@dataclass(frozen=True)
class Timed:
    """A right backend's times at a point, in seconds per call.

    rounds: per round; on a GPU of the GPU alone, on a CPU of the call
    host: median that a call costs the CPU; `None` on a CPU, or where it was not timed
    """

    backend: str
    rounds: tuple[float, ...]
    host: float | None

    @property
    def median(self) -> float:
        return median(self.rounds)


@dataclass(frozen=True)
class Spot:
    """One point judged.

    order: right and timed backends, fastest first
    leaders: the fastest, and those that it does not beat
    margin: how much longer the next one takes than the winner, as a share of the winner's time; `None` where there is no winner or no next one
    loss: how much longer torch's default takes than the fastest, as a share of the fastest one's time; 0 where it is the fastest, `None` where unknown
    wrong, untimed: backends, in the map's order
    """

    point: Point
    standing: Standing
    order: tuple[Timed, ...]
    leaders: tuple[str, ...]
    margin: float | None
    default: Default
    loss: float | None
    wrong: tuple[str, ...] = ()
    untimed: tuple[str, ...] = ()

    @property
    def call(self) -> Call:
        return self.point.call

    @property
    def best(self) -> Timed | None:
        return self.order[0] if self.order else None

    @property
    def winner(self) -> str | None:
        return self.leaders[0] if self.standing in (Standing.WINNER, Standing.ALONE) else None

    @property
    def picked(self) -> Timed | None:
        return self.timed(self.point.picked)

    @property
    def lost(self) -> float | None:
        """Seconds per call that torch's default takes longer than the fastest."""
        return self.picked.median - self.best.median if self.picked and self.best else None

    @property
    def host_bound(self) -> bool | None:
        """Whether queueing the fastest one costs the CPU at least as long as the GPU needs to run it; `None` where it is not known."""
        return self.best.host >= self.best.median if self.best and self.best.host is not None else None

    def timed(self, backend: str | None) -> Timed | None:
        return next((one for one in self.order if one.backend == backend), None)


@dataclass(frozen=True)
class MapFacts:
    """slug: the device's folder; floor: share within which five rounds of the same code lie in nine of ten readings

    spots: in the order in which they were measured
    """

    slug: str
    header: Header
    floor: float
    spots: tuple[Spot, ...]

    @property
    def threshold(self) -> float:
        """Beyond which two medians are told apart."""
        return max(LEAST_MARGIN, self.floor)

    @property
    def on_gpu(self) -> bool:
        return self.header.device.kind != "cpu"

    @cached_property
    def by_call(self) -> dict[Call, Spot]:
        return {spot.call: spot for spot in self.spots}

    def won(self, backend: str) -> int:
        """Points that it wins, those where it alone is right included."""
        return sum(spot.winner == backend for spot in self.spots)

    def at(self, standing: Standing) -> tuple[Spot, ...]:
        return tuple(spot for spot in self.spots if spot.standing is standing)

    def default_is(self, default: Default) -> tuple[Spot, ...]:
        """Spots of which that is true; those that lose most first."""
        return tuple(sorted((spot for spot in self.spots if spot.default is default), key=lambda spot: -(spot.loss or 0.0)))

    @property
    def regret(self) -> float | None:
        """How much longer torch's default takes than the fastest, on average over the points where both times are known, as a share."""
        known = [spot.loss for spot in self.spots if spot.loss is not None]
        return sum(known) / len(known) if known else None


def build(shape_map: ShapeMap, slug: str) -> MapFacts:
    """Judges every point of a map. slug: the device's folder, where the map lies."""
    floor = spread(reading for point in shape_map.points for reading in point.readings)
    return MapFacts(slug, shape_map.header, floor, tuple(judged(point, max(LEAST_MARGIN, floor)) for point in shape_map.points))


def spread(readings: Iterable[Reading]) -> float:
    """The share within which the rounds of the same code lie, of nine in ten readings: (slowest − fastest) ÷ median; 0 where none has all its rounds."""
    found = sorted((max(one.gpu) - min(one.gpu)) / median(one.gpu) for one in readings if len(one.gpu) >= LEAST_ROUNDS and median(one.gpu) > 0)
    return found[min(len(found) - 1, int(QUIET * len(found)))] if found else 0.0


def judged(point: Point, threshold: float) -> Spot:
    """One point by the rule. threshold: share beyond which two medians are told apart."""
    ours = [one for one in point.readings if one.backend in BACKENDS]
    order, untimed = _ordered([one for one in ours if one.state == "ok"])
    leaders = tuple(one.backend for one in order if one is order[0] or not beats(order[0], one, threshold))
    standing = _standing(order, leaders, untimed)
    margin = order[1].median / order[0].median - 1 if standing is Standing.WINNER else None
    wrong = tuple(one.backend for one in ours if one.state == "wrong")
    default, loss = _default(point.picked, order, wrong, leaders)
    return Spot(point, standing, order, leaders, margin, default, loss, wrong, untimed)


def beats(fast: Timed, slow: Timed, threshold: float) -> bool:
    """Whether `fast` is faster in every round, and its median by more than the threshold. Rounds are paired where both have as many."""
    if slow.median <= fast.median * (1 + threshold):
        return False
    if len(fast.rounds) == len(slow.rounds):
        return all(a < b for a, b in zip(fast.rounds, slow.rounds))
    return max(fast.rounds) < min(slow.rounds)


def _ordered(right: list[Reading]) -> tuple[tuple[Timed, ...], tuple[str, ...]]:
    """The right ones that have a time to compare, fastest first, and the names of those that have none.

    Too few rounds are a time only far behind one that has all of them.
    """
    full = [one for one in right if len(one.gpu) >= LEAST_ROUNDS]
    least = min((median(one.gpu) for one in full), default=None)
    kept = [one for one in right if one in full or least is not None and one.gpu and min(one.gpu) >= FAR_BEHIND * least]
    timed = (Timed(one.backend, one.gpu, median(one.host) if one.host else None) for one in kept)
    return tuple(sorted(timed, key=lambda one: one.median)), tuple(one.backend for one in right if one not in kept)


def _standing(order: tuple[Timed, ...], leaders: tuple[str, ...], untimed: tuple[str, ...]) -> Standing:
    if not order:
        return Standing.NOBODY
    if untimed:
        return Standing.UNDECIDED
    if len(order) == 1:
        return Standing.ALONE
    return Standing.WINNER if len(leaders) == 1 else Standing.TIE


def _default(picked: str | None, order: tuple[Timed, ...], wrong: tuple[str, ...], leaders: tuple[str, ...]) -> tuple[Default, float | None]:
    if picked is None:
        return Default.NOTHING, None
    if picked in wrong:
        return Default.WRONG, None
    own = next((one for one in order if one.backend == picked), None)
    if own is None:
        return Default.UNTIMED, None
    return Default.BEST if picked in leaders else Default.LOSES, own.median / order[0].median - 1
