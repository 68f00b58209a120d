"""Which backends to give `sdpa_kernel`, in which order, by what a call is: a few rules from a map, each with what it rests on.

Calls of one class (mask, type, gradients, …) are split by length, queries and batch × heads only where one order would lose time at some of
them. A rule leaves the call to torch where torch's own pick is as fast. What no class covers is left to torch as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, sqrt
from statistics import fmean
from typing import Literal

from variants.backends import BACKENDS

from ..shapes import Call
from .maps import Default, MapFacts, Spot, Standing

MaskKind = Literal["none", "causal", "bool", "float"]
LEAVE = "torch"
"""The order of a rule that pins nothing."""
LEAST_GAIN = 0.02
"""Summed over the calls of a class, in shares of the fastest time: a split that saves less is not made."""
DEEPEST = 4
LAST = "math"
"""It takes every call, so an order ends with it."""


@dataclass(frozen=True)
class Kind:
    """What a class of calls shares. A window is a bool mask, and the two 16-bit types go together: torch tells neither apart.

    square: as many queries as keys
    same_dims: v is as wide as q and k
    head_dim: the smallest measured one that holds the call's
    """

    mask: MaskKind
    bits: int
    gradients: bool
    grouped: bool
    square: bool
    same_dims: bool
    head_dim: int


@dataclass(frozen=True)
class Span:
    """From low to high, both included; no bound where `None`."""

    low: int | None = None
    high: int | None = None

    def holds(self, value: int) -> bool:
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@dataclass(frozen=True)
class Evidence:
    """The measured calls that a rule rests on. Shares of the fastest time.

    default_mean, default_worst: how much longer torch's own pick takes; `None` where it has no time, and it is then wrong or not comparable
    own_mean, own_worst: how much longer the rule's order takes
    host_bound: calls at which the CPU is the limit
    """

    spots: tuple[Spot, ...]
    default_mean: float | None
    default_worst: float | None
    own_mean: float
    own_worst: float

    @property
    def host_bound(self) -> int:
        return sum(bool(spot.host_bound) for spot in self.spots)

    @property
    def keys(self) -> tuple[int, int]:
        found = [spot.call.keys for spot in self.spots]
        return min(found), max(found)


@dataclass(frozen=True)
class Rule:
    """order: backends, first to last; empty: leave the call to torch. spans: of `keys`, `queries`, `batch_heads`, those that bound the rule"""

    kind: Kind
    dims: Span
    spans: Mapping[str, Span]
    order: tuple[str, ...]
    evidence: Evidence

    def holds(self, call: Call) -> bool:
        return _kind_of(call, self.kind.head_dim) == self.kind and self.dims.holds(call.head_dim) and all(span.holds(FEATURES[name](call)) for name, span in self.spans.items())


@dataclass(frozen=True)
class Policy:
    """rules: of which at most one holds for a call"""

    facts: MapFacts
    rules: tuple[Rule, ...]

    def rule(self, call: Call) -> Rule | None:
        return next((rule for rule in self.rules if rule.holds(call)), None)

    def order(self, call: Call) -> tuple[str, ...]:
        """The backends to pin, first to last; empty: leave it to torch."""
        rule = self.rule(call)
        return rule.order if rule else ()

    def loses(self, spot: Spot) -> float | None:
        """How much longer a measured call takes by the rules, as a share of the fastest time; `None` where that is not known."""
        lost = regret(spot, self.order(spot.call))
        return lost if lost < inf else None

    @property
    def regret(self) -> float | None:
        """The mean of `loses` over the measured calls at which that and what torch's own pick loses are known: those the rules were made from."""
        lost = [own for spot in self.facts.spots if (own := self.loses(spot)) is not None and spot.loss is not None]
        return fmean(lost) if lost else None

    @property
    def pinning(self) -> tuple[Rule, ...]:
        """The rules that pin, those that save most first."""
        return tuple(sorted((rule for rule in self.rules if rule.order), key=lambda rule: -_saved(rule)))

    @property
    def leaving(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if not rule.order)


FEATURES: Mapping[str, Callable[[Call], int]] = {"keys": lambda call: call.keys, "queries": lambda call: call.queries, "batch_heads": lambda call: call.batch * call.heads}
"""What a class may be split by, in the order of preference among equals."""


def build(facts: MapFacts) -> Policy:
    """The rules of a map; none where it has no point that tells anything."""
    dims = sorted({spot.call.head_dim for spot in facts.spots})
    below = dict(zip(dims, [0, *dims]))
    classes: dict[Kind, list[Spot]] = {}
    for spot in facts.spots:
        if spot.standing not in (Standing.NOBODY, Standing.UNDECIDED):
            classes.setdefault(_kind_of(spot.call, spot.call.head_dim), []).append(spot)
    rules: list[Rule] = []
    for kind, spots in classes.items():
        banned = frozenset(name for spot in spots for name in spot.wrong)
        for spans, leaf in _split(spots, {}, banned):
            order = _order(leaf, banned)
            rules.append(Rule(kind, Span(below[kind.head_dim] + 1, kind.head_dim), spans, order, _evidence(leaf, order)))
    return Policy(facts, tuple(rules))


def _kind_of(call: Call, head_dim: int) -> Kind:
    mask: MaskKind = "bool" if call.mask in ("bool", "window") else call.mask  # type: ignore[assignment]
    return Kind(mask, 32 if call.dtype == "float32" else 16, call.gradients, call.grouped, call.queries == call.keys, call.value_dim == call.head_dim, head_dim)


def regret(spot: Spot, order: Sequence[str]) -> float:
    """How much longer a call takes that is given this order, as a share of the fastest time. Infinite where it gets no result, a wrong one, or one without a time."""
    if not order:
        return spot.loss if spot.loss is not None else inf
    for name in order:
        reading = spot.point.reading(name)
        if reading is not None and reading.state != "refused":
            timed = spot.timed(name)
            return timed.median / spot.order[0].median - 1 if timed else inf
    return inf


def _orders(spots: Sequence[Spot], banned: frozenset[str]) -> list[tuple[str, ...]]:
    """An order per backend that comes first; the others follow by what they lose, those that take none of the calls are left out."""
    lost: dict[str, float] = {}
    for name in BACKENDS:
        found = [regret(spot, (name,)) for spot in spots if spot.timed(name)]
        if found and name not in banned:
            lost[name] = fmean(found)
    ranked = sorted((name for name in lost if name != LAST), key=lambda name: lost[name])
    end = [LAST] if LAST not in banned else []
    return [(name, *(other for other in ranked if other != name), *(one for one in end if one != name)) for name in [*ranked, *end]]


def _order(spots: Sequence[Spot], banned: frozenset[str]) -> tuple[str, ...]:
    """Leave it to torch where that loses nothing that the map can tell; else the order that loses least on average, torch's own pick among equals."""
    if all(spot.default is Default.BEST for spot in spots):
        return ()
    found = [(), *_orders(spots, banned)]
    return min(found, key=lambda order: (_worst_first(spots, order), found.index(order)))


def _worst_first(spots: Sequence[Spot], order: Sequence[str]) -> tuple[int, float]:
    """Calls that would get nothing right, then the mean regret of the others, to a thousandth."""
    lost = [regret(spot, order) for spot in spots]
    finite = [value for value in lost if value < inf]
    return len(lost) - len(finite), round(fmean(finite), 3) if finite else 0.0


def _split(spots: Sequence[Spot], spans: dict[str, Span], banned: frozenset[str], depth: int = 0) -> Iterable[tuple[dict[str, Span], Sequence[Spot]]]:
    """Leaves: bounds and the calls within them."""
    whole = _cost(spots, banned)
    best: tuple[float, str, float] | None = None
    if whole >= LEAST_GAIN and depth < DEEPEST:
        for name, feature in FEATURES.items():
            for low, high in pairwise(sorted({feature(spot.call) for spot in spots})):
                border = sqrt(low * high)
                cost = sum(_cost([spot for spot in spots if (feature(spot.call) <= border) is below], banned) for below in (True, False))
                if whole - cost >= LEAST_GAIN and (best is None or cost < best[0] - 1e-9):
                    best = (cost, name, border)
    if best is None:
        yield spans, spots
        return
    _, name, border = best
    own = spans.get(name, Span())
    for below, span in ((True, Span(own.low, int(border))), (False, Span(int(border) + 1, own.high))):
        part = [spot for spot in spots if (FEATURES[name](spot.call) <= border) is below]
        yield from _split(part, {**spans, name: span}, banned, depth + 1)


def _cost(spots: Sequence[Spot], banned: frozenset[str]) -> float:
    """What the order of a leaf loses, summed over its calls; 10 for a call that gets no right result."""
    order = _order(spots, banned)
    return sum(min(regret(spot, order), 10.0) for spot in spots)


def _evidence(spots: Sequence[Spot], order: Sequence[str]) -> Evidence:
    default = [spot.loss for spot in spots if spot.loss is not None]
    own = [regret(spot, order) for spot in spots]
    return Evidence(tuple(spots), fmean(default) if len(default) == len(spots) else None, max(default) if len(default) == len(spots) else None, fmean(own), max(own))


def _saved(rule: Rule) -> float:
    return inf if rule.evidence.default_mean is None else rule.evidence.default_mean - rule.evidence.own_mean
