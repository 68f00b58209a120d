"""Points of a map that differ in their length alone, where the winner changes between two of them, and the models' calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from itertools import pairwise

from ..shapes import Call
from ..shapes.presets import PRESETS, Preset
from .maps import MapFacts, Spot, Standing


class Along(Enum):
    """What stays the same while the length grows."""

    TOKENS = "batch × length"
    BATCH = "batch"
    CACHE = "batch and queries"


@dataclass(frozen=True)
class Series:
    """spots: in the order of their length, at least two; fixed: the product or the number that `along` names (of CACHE the batch)"""

    along: Along
    fixed: int
    spots: tuple[Spot, ...]

    @property
    def family(self) -> Call:
        """The call without lengths, which are 1."""
        return family(self.spots[0].call)

    @property
    def queries(self) -> int:
        """Of CACHE: the queries of each of its calls."""
        return self.spots[0].call.queries


@dataclass(frozen=True)
class Crossover:
    """The winner changes between two points of a series; between them lie only points at which nobody wins.

    before, after: the last point that the one wins and the first that the other wins
    """

    series: Series
    before: Spot
    after: Spot


@dataclass(frozen=True)
class HostLimit:
    """The shortest lengths of a series, at which the CPU takes at least as long to queue the fastest backend as the GPU to run it.

    until: the longest of them; whole: the series has no longer one
    """

    series: Series
    until: Spot
    whole: bool


@dataclass(frozen=True)
class ModelCalls:
    """A preset's calls with their spots; `None` where the map does not hold one yet."""

    preset: Preset
    spots: tuple[tuple[Call, Spot | None], ...]


def family(call: Call) -> Call:
    return replace(call, batch=1, queries=1, keys=1)


def length(call: Call) -> int:
    """What grows along a series: the keys, of which there are as many as queries where the call is square."""
    return call.keys


def series(facts: MapFacts) -> tuple[Series, ...]:
    """Every series of at least two lengths, in the order in which its first point was measured.

    A point may be of two: at the longest length a constant number of tokens leaves a batch of one.
    """
    groups: dict[tuple[Call, Along, int, int], list[Spot]] = {}
    for spot in facts.spots:
        call = spot.call
        if call.queries == call.keys:
            groups.setdefault((family(call), Along.TOKENS, call.batch * call.queries, 0), []).append(spot)
            groups.setdefault((family(call), Along.BATCH, call.batch, 0), []).append(spot)
        else:
            groups.setdefault((family(call), Along.CACHE, call.batch, call.queries), []).append(spot)
    return tuple(Series(along, fixed, tuple(sorted(spots, key=lambda spot: length(spot.call))))
                 for (_, along, fixed, _), spots in groups.items() if len(spots) > 1)


def crossovers(found: Iterable[Series]) -> tuple[Crossover, ...]:
    """Where one backend wins at a length and another one at the next longer length that anybody wins."""
    out = []
    for one in found:
        won = [spot for spot in one.spots if spot.standing is Standing.WINNER]
        out += [Crossover(one, before, after) for before, after in pairwise(won) if before.winner != after.winner]
    return tuple(out)


def host_limits(found: Iterable[Series]) -> tuple[HostLimit, ...]:
    """The series whose shortest lengths are limited by the host."""
    out = []
    for one in found:
        bound = []
        for spot in one.spots:
            if not spot.host_bound:
                break
            bound.append(spot)
        if bound:
            out.append(HostLimit(one, bound[-1], len(bound) == len(one.spots)))
    return tuple(out)


def models(facts: MapFacts) -> tuple[ModelCalls, ...]:
    """The presets of which the map holds at least one call."""
    all_of_them = (ModelCalls(preset, tuple((call, facts.by_call.get(call)) for call in preset.calls)) for preset in PRESETS)
    return tuple(one for one in all_of_them if any(spot for _, spot in one.spots))
