"""Who is fastest in a run: the one place that decides it. Pages, claims, README, terminal and advice ask here.

Only right results are ranked, among the article's six. A variant that ran and has no comparable time
(none at all, or one taken by another timer than the leader's) may be the fastest all the same, unless
its own trace says that it cannot be: then nobody is called the fastest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import combinations

from variants import SIX

from ..numbers.quantities import QUANTITIES, Quantity
from ..numbers.statistics import MINIMUM_EFFECT, PROCESSES, Estimate
from .model import FUSED, RunFacts, VariantFacts
from .states import State

TIMER_AGREEMENT = 0.05
"""The activities' sum in the trace and the timed replay may lie this far apart; beyond it the trace excludes a rival."""
TIMED_ON_GPU = ("gpu_time", "gpu_time_cold")
UNSTEADY = 1.5
"""Where the per-process ratios of two variants lie further apart than this factor, their medians are no summary."""


class Standing(Enum):
    """How the question "who is fastest" comes out."""

    ONE = "one is faster than all others"
    TIE = "several cannot be told apart"
    ALONE = "only one can be ranked"
    OPEN = "a variant without a comparable time could be faster"
    UNSTEADY = "the processes lie too far apart"
    FEW = "too few processes to tell anything apart"
    NOBODY = "nothing was timed"


@dataclass(frozen=True)
class Pair:
    """Two variants in one quantity.

    winner: the id of the one that needs less, beyond the floor of the pair; `None` for a tie
    ratio: first ÷ second, process by process; `None` where the processes cannot be paired
    comparable: one timer took both, or the slower one's trace confirms the order; else nobody wins
    threshold: the least relative difference that would have counted
    """

    first: str
    second: str
    winner: str | None
    ratio: Estimate | None
    threshold: float
    comparable: bool = True

    @property
    def unsteady(self) -> bool:
        return self.ratio is None or self.ratio.high > UNSTEADY * self.ratio.low


@dataclass(frozen=True)
class Rival:
    """A variant that ran, is right and has no time to compare with the leader's.

    timer: what timed it, or `None` where nothing did; reason: why, as recorded
    trace_time: seconds that its activities take in its trace, or `None`
    could_win: nothing in the run says that it is slower than the leader
    """

    variant: str
    timer: str | None
    reason: str | None
    trace_time: float | None
    could_win: bool


@dataclass(frozen=True)
class Place:
    """How one ranked variant stands: ids that need more, need less, and cannot be told from it."""

    slower: tuple[str, ...]
    faster: tuple[str, ...]
    ties: tuple[str, ...]


@dataclass(frozen=True)
class Ranking:
    """One quantity over some variants of a run; smaller is better. Ids throughout.

    order: right and timed, by median, smallest first
    leaders: the first of them and all that cannot be told apart from it
    rivals: right, and not comparable with the leader (see `Rival`)
    out: those that are not ranked, by state
    timers: what timed the ranked ones → ids; more than one where timers are mixed
    """

    quantity: Quantity
    standing: Standing
    order: tuple[str, ...]
    leaders: tuple[str, ...]
    rivals: tuple[Rival, ...]
    out: Mapping[State, tuple[str, ...]]
    timers: Mapping[str, tuple[str, ...]]
    pairs: Mapping[tuple[str, str], Pair]
    processes: int

    @property
    def winner(self) -> str | None:
        """The one that is faster than all others, or the only one; `None` where nobody may be called so."""
        return self.leaders[0] if self.standing in (Standing.ONE, Standing.ALONE) else None

    @property
    def open(self) -> tuple[Rival, ...]:
        """The rivals that could be the fastest."""
        return tuple(rival for rival in self.rivals if rival.could_win)

    @property
    def mixed_timers(self) -> bool:
        return len(self.timers) > 1

    @property
    def apart(self) -> float:
        """By which factor the per-process ratios among the leaders lie apart at most; 1 where there is one leader."""
        ratios = [self.pair(a, b).ratio for a, b in combinations(self.leaders, 2)]
        return max((ratio.high / ratio.low for ratio in ratios if ratio), default=1.0)

    def pair(self, first: str, second: str) -> Pair:
        """Raises: KeyError: one of them is not ranked."""
        return self.pairs[first, second]

    def ratio(self, first: str, second: str) -> float | None:
        """first ÷ second, the median of the per-process ratios: the one number by which a pair is told."""
        if first == second:
            return 1.0
        ratio = self.pair(first, second).ratio
        return None if ratio is None else ratio.median

    def place(self, name: str) -> Place:
        """Raises: KeyError: `name` is not ranked."""
        others = [self.pair(name, other) for other in self.order if other != name]
        return Place(tuple(pair.second for pair in others if pair.winner == name), tuple(pair.second for pair in others if pair.winner == pair.second),
                     tuple(pair.second for pair in others if pair.winner is None))


def deciding(facts: RunFacts) -> Quantity:
    """The time that decides who is faster: GPU time, or on a CPU, which has none, wall time."""
    return QUANTITIES["wall_time" if facts.device.kind == "cpu" else "gpu_time"]


def drawn(facts: RunFacts) -> Quantity:
    """The time that pictures and small tables show: the deciding one, or wall time where the run has none of it. Showing is no ranking."""
    row = deciding(facts)
    return row if any(v.time(row.name) for v in facts.six) else QUANTITIES["wall_time"]


def rank(facts: RunFacts, quantity: str | None = None, names: Sequence[str] = SIX) -> Ranking:
    """Ranks those of `names` that the run has, by the deciding time where no quantity is named."""
    row = QUANTITIES[quantity] if quantity else deciding(facts)
    held = [facts.variants[name] for name in names if name in facts.variants]
    timed = sorted((v for v in held if v.ok and v.time(row.name)), key=lambda v: _median(v, row.name))
    pairs = {(a.id, b.id): _pair(facts, row.name, a.id, b.id) for a in timed for b in timed if a.id != b.id}
    order = tuple(v.id for v in timed)
    leaders = tuple(name for name in order if name == order[0] or pairs[order[0], name].winner is None)
    rivals = _rivals(held, timed, row.name) if timed else tuple(_rival(v, None, row.name) for v in held if v.ok)
    out = {state: tuple(v.id for v in held if v.state is state) for state in State if not state.right}
    timers: dict[str, tuple[str, ...]] = {}
    for variant in timed if row.name in TIMED_ON_GPU else ():
        timers[variant.timer or "unrecorded"] = (*timers.get(variant.timer or "unrecorded", ()), variant.id)
    processes = min((len(v.times[row.name].samples) for v in timed), default=0)
    standing = _standing(order, leaders, rivals, pairs, processes)
    return Ranking(row, standing, order, leaders, rivals, {state: ids for state, ids in out.items() if ids}, timers, pairs, processes)


def faster(facts: RunFacts, than: str, names: Sequence[str] = FUSED) -> tuple[str, ...]:
    """Those of `names` whose result is right and which need less of the deciding time than `than`, beyond noise; the quickest first."""
    ranking = rank(facts, names=(than, *names))
    place = ranking.place(than) if than in ranking.order else None
    return tuple(name for name in ranking.order if place and name in place.faster)


def _median(variant: VariantFacts, quantity: str) -> float:
    return variant.times[quantity].median


def _pair(facts: RunFacts, quantity: str, first: str, second: str) -> Pair:
    found = facts.compare(quantity, first, second)
    if found is None:
        return Pair(first, second, None, None, max(MINIMUM_EFFECT, facts.floor_of(quantity, first, second)))
    winner = {"first": first, "second": second, "tie": None}[found.winner]
    one, other = facts.variants[first], facts.variants[second]
    if quantity in TIMED_ON_GPU and one.timer != other.timer:
        fast, slow = (one, other) if winner == first else (other, one)
        sure = winner is not None and _excluded(slow, _median(fast, quantity))
        return Pair(first, second, winner if sure else None, found.ratio, found.threshold, comparable=sure)
    return Pair(first, second, winner, found.ratio, found.threshold)


def _excluded(variant: VariantFacts, time: float) -> bool:
    """Whether the variant's own trace says that its activities take longer than `time` seconds, beyond what timer and trace may differ by."""
    traced = variant.trace_gpu_time
    return traced is not None and traced > (1 + TIMER_AGREEMENT) * (1 + MINIMUM_EFFECT) * time


def _rivals(held: Sequence[VariantFacts], timed: Sequence[VariantFacts], quantity: str) -> tuple[Rival, ...]:
    """Those without the quantity, and those that another timer than the leader's took it with."""
    leader = timed[0]
    return tuple(_rival(v, leader, quantity) for v in held
                 if v.ok and v is not leader and (v.time(quantity) is None or (quantity in TIMED_ON_GPU and v.timer != leader.timer)))


def _rival(variant: VariantFacts, leader: VariantFacts | None, quantity: str) -> Rival:
    reason = next((lost.reason for lost in variant.lost if lost.what == "GPU time"), variant.timer_note)
    slower = leader is not None and quantity == "gpu_time" and _excluded(variant, _median(leader, quantity))
    return Rival(variant.id, variant.timer if variant.time(quantity) else None, reason, variant.trace_gpu_time, not slower)


def _standing(order: tuple[str, ...], leaders: tuple[str, ...], rivals: tuple[Rival, ...], pairs: Mapping[tuple[str, str], Pair], processes: int) -> Standing:
    if not order:
        return Standing.NOBODY
    if any(rival.could_win for rival in rivals):
        return Standing.OPEN
    if len(order) == 1:
        return Standing.ALONE
    if processes < PROCESSES:
        return Standing.FEW
    if len(leaders) == 1:
        return Standing.ONE
    unsteady = any(pairs[a, b].unsteady for a, b in combinations(leaders, 2))
    return Standing.UNSTEADY if unsteady else Standing.TIE


class DefaultIs(Enum):
    """What an unpinned call gets, held against the ranking."""

    UNKNOWN = "the run did not try"
    WRONG = "its result is wrong"
    WINNER = "the fastest"
    LEVEL = "not told apart from the fastest"
    SLOWER = "slower than the fastest"
    UNRANKED = "it has no time to rank it by"
    OPEN = "nobody is called the fastest"


@dataclass(frozen=True)
class Default:
    """What torch picks without a pin, for the run's shape, without a mask of one's own and without gradients.

    variant: the id of the variant that pins the same backend; name: torch's own name for it; op: the op that it dispatches
    """

    variant: str | None
    name: str | None
    op: str | None
    standing: DefaultIs


def default(facts: RunFacts, ranking: Ranking) -> Default:
    """The unpinned choice and where it stands."""
    probe = facts.probes.default_backend
    name, op = (probe.name, probe.op) if probe else (None, None)
    variant = facts.variants.get(f"sdpa_{name}") if name else None
    if variant is None:
        return Default(None, name, op, DefaultIs.UNKNOWN)
    return Default(variant.id, name, op, _default_standing(variant, ranking))


def _default_standing(variant: VariantFacts, ranking: Ranking) -> DefaultIs:
    if variant.state is State.WRONG:
        return DefaultIs.WRONG
    if variant.id not in ranking.order:
        return DefaultIs.UNRANKED
    if ranking.standing not in (Standing.ONE, Standing.TIE, Standing.ALONE):
        return DefaultIs.OPEN
    if variant.id not in ranking.leaders:
        return DefaultIs.SLOWER
    return DefaultIs.WINNER if ranking.winner == variant.id else DefaultIs.LEVEL
