"""What each step of a slot's history did, and what carries it. Typed, and without a sentence.

The comparison itself is `review.diff`'s, as the history has it written down. Here follows what it means: which times may be held against each
other at all, which moved, what was seen to change with them, and whether a verdict turned because of that or because more was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from ...analysis import State
from ...numbers.statistics import Estimate
from ...run.history import Around, Condition, Exact, Flip, Held, Past, Step


class Standing(Enum):
    """What a state is beside the one before it."""

    FIRST = "first"
    CUT = "the clone begins here"
    UNREADABLE = "cannot be read"
    APART = "measured otherwise"
    CHANGED = "changed"
    QUIET = "nothing but noise"


class Cause(Enum):
    """What was seen to change together with a time, the most direct first."""

    CODE = "the variant's own code"
    STATE = "what became of it"
    BACKEND = "backend"
    KERNELS = "kernels"
    LAUNCH = "launch"
    NOT_SEEN = "not seen"
    RENAMED = "kernels renamed"
    OPS = "ops"
    CLOCK = "clock"
    NEIGHBOURS = "neighbours"
    DEVICE = "device"
    SETTING = "setting"
    SOFTWARE = "software"
    NOTHING = "nothing recorded"


class FlipCause(Enum):
    """Why a claim has another verdict."""

    EVIDENCE = "measured on one side only"
    APART = "measured otherwise"
    CHANGED = "something changed in the same step"
    QUIET = "nothing that decides changed"


@dataclass(frozen=True)
class Move:
    """A deciding time that moved beyond noise. low, high: new ÷ old with 99 % confidence; exact: the changes that carry it; cause: see `Cause`"""

    variant: str
    quantity: str
    old: Estimate
    new: Estimate
    low: float | None
    high: float | None
    cause: Cause
    exact: tuple[Exact, ...]

    @property
    def ratio(self) -> float:
        return self.new.median / self.old.median


@dataclass(frozen=True)
class Judged:
    """A state of a slot.

    number: counted from 1; since: number of the state that it is compared with
    apart: why no time is compared; untold: variants whose GPU time was taken by another timer
    came: software, settings and the device, where they differ; conditions: clocks and neighbours likewise
    exact: every exact change, whether a time moved with it or not; unseen: variants of which one side does not know what ran
    few: variants that ran in too few processes for any of their times to be told from noise
    """

    number: int
    state: Past
    standing: Standing
    since: int | None = None
    apart: tuple[Around, ...] = ()
    untold: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()
    exact: tuple[Exact, ...] = ()
    came: tuple[Around, ...] = ()
    conditions: tuple[Condition, ...] = ()
    flips: tuple[tuple[Flip, FlipCause], ...] = ()
    picks: tuple[str | None, str | None] = (None, None)
    unseen: tuple[str, ...] = ()
    few: tuple[str, ...] = ()

    @property
    def least(self) -> float:
        """The least relative change that would have counted for every time."""
        return max((one.threshold for one in self.state.before.timings), default=0.0) if self.state.before else 0.0

    @property
    def repicked(self) -> bool:
        """Unpinned, torch picks another backend."""
        return None not in self.picks and self.picks[0] != self.picks[1]


def judged(states: Sequence[Past]) -> tuple[Judged, ...]:
    """Every state of one slot, the oldest first."""
    return tuple(_judged(number, state, states[:number - 1]) for number, state in enumerate(states, start=1))


def _judged(number: int, state: Past, earlier: Sequence[Past]) -> Judged:
    if state.problem is not None:
        return Judged(number, state, Standing.UNREADABLE)
    place = next((index for index in range(len(earlier) - 1, -1, -1) if state.before and earlier[index].blob == state.before.since), None)
    if state.before is None or place is None:
        return Judged(number, state, Standing.CUT if state.cut else Standing.FIRST)
    old, step = earlier[place], state.before
    apart = tuple(_apart(step))
    untold = tuple(name for name, held in state.variants.items() if name in old.variants and held.timer != old.variants[name].timer)
    other = any(one.part in ("workload", "device") for one in apart)
    unseen = tuple(name for name, held in state.variants.items() if name in old.variants and not (held.seen and old.variants[name].seen))
    exact = () if other else step.exact
    moves = () if apart else tuple(_moves(step, old, state, untold))
    told = bool(moves or exact or step.probes) or (not other and _picks(old, state)[0] != _picks(old, state)[1])
    flips = tuple((flip, _why(flip, bool(apart), told)) for flip in step.flips)
    standing = Standing.APART if apart else Standing.CHANGED if told else Standing.QUIET
    return Judged(number, state, standing, place + 1, apart, untold, moves, exact, tuple(_came(step)), tuple(one for one in step.conditions if one.about != "evidence"), flips,
                  _picks(old, state), unseen, _few(step))


def _few(step: Step) -> tuple[str, ...]:
    told = {one.variant for one in step.timings if one.low is not None}
    return tuple(dict.fromkeys(one.variant for one in step.timings if one.variant not in told))


def _picks(old: Past, new: Past) -> tuple[str | None, str | None]:
    both = (old.default_backend, new.default_backend)
    return both if None not in both else (None, None)


def _apart(step: Step) -> Iterator[Around]:
    """What makes times of the two sides no measurements of the same thing. The timer is a variant's own, see `untold`."""
    for one in step.around:
        if one.part == "workload" or (one.part == "protocol" and one.key != "timer") or (one.part == "device" and one.baseline and one.key in ("name", "gfx", "compute_capability", "sm_count", "mig_profile")):
            yield one


def _came(step: Step) -> Iterator[Around]:
    """What makes a new baseline and leaves times comparable."""
    apart = set(_apart(step))
    yield from (one for one in step.around if one.baseline and one not in apart)


def _moves(step: Step, old: Past, new: Past, untold: Sequence[str]) -> Iterator[Move]:
    for one in step.timings:
        if not one.significant or (one.variant in untold and one.quantity.startswith("gpu_")):
            continue
        before, after = old.variants[one.variant], new.variants[one.variant]
        if before.state == after.state == State.WRONG.value:
            continue
        cause, exact = _cause(step, before, after, one.variant)
        yield Move(one.variant, one.quantity, before.times[one.quantity], after.times[one.quantity], one.low, one.high, cause, exact)


def _cause(step: Step, old: Held, new: Held, variant: str) -> tuple[Cause, tuple[Exact, ...]]:
    """The most direct thing that was seen to change with the variant, and the exact changes that it is."""
    own = tuple(one for one in step.exact if one.variant == variant)
    kernels = tuple(one for one in own if one.kind in ("replaced", "removed", "added"))
    otherwise = tuple(one for one in kernels if not one.renamed)
    launched = tuple(one for one in own if one.kind == "launch")
    ops = tuple(one for one in own if one.kind == "count")
    parts, about = {one.part for one in _came(step)}, {one.about for one in step.conditions}
    found: list[tuple[bool, Cause, tuple[Exact, ...]]] = [
        (any(one.kind == "source" for one in own), Cause.CODE, ()),
        (old.state != new.state, Cause.STATE, ()),
        (None not in (old.backend, new.backend) and old.backend != new.backend, Cause.BACKEND, otherwise),
        (bool(otherwise), Cause.KERNELS, otherwise),
        (bool(launched), Cause.LAUNCH, launched),
        (not (old.seen and new.seen), Cause.NOT_SEEN, ()),
        (bool(kernels), Cause.RENAMED, kernels),
        (bool(ops), Cause.OPS, ops),
        ("clock" in about, Cause.CLOCK, ()),
        ("neighbours" in about, Cause.NEIGHBOURS, ()),
        ("device" in parts, Cause.DEVICE, ()),
        ("setting" in parts, Cause.SETTING, ()),
        ("software" in parts, Cause.SOFTWARE, ()),
    ]
    return next(((cause, exact) for is_so, cause, exact in found if is_so), (Cause.NOTHING, ()))


def _why(flip: Flip, apart: bool, told: bool) -> FlipCause:
    if "not measurable" in (flip.old, flip.new):
        return FlipCause.EVIDENCE
    return FlipCause.APART if apart else FlipCause.CHANGED if told else FlipCause.QUIET
