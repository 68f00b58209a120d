"""What the probes and the gradients of a run show: what gives a wrong result here, for which call, and what cures it. Typed values only.

A probe is a public report of a wrong result (`Kind.WRONG`) or something that torch documents and many do not expect
(`Kind.TRAP`); the two are never counted together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from ..probes import KEYS_AT_ONCE, TILE, Needs
from ..run import DEFAULT, Compared
from ..run.workload import Workload
from .model import RunFacts, VariantFacts
from .pins import PINNED
from .watch import PINS, ProbeFacts, Standing

_MASKED_NEEDS = frozenset({Needs.OTHER_TYPE, Needs.EMPTY_ROWS, Needs.MASK_GRADIENT})
"""Needs that say of a mask what it must be, and so say that there is one."""


def reports(facts: RunFacts) -> tuple[ProbeFacts, ...]:
    """The reports of wrong results that the run tried."""
    return tuple(one for one in facts.watch.probes if not one.trap and one.run is not None)


def traps(facts: RunFacts) -> tuple[ProbeFacts, ...]:
    """The documented traps that the run tried."""
    return tuple(one for one in facts.watch.probes if one.trap and one.run is not None)


def wrong(facts: RunFacts, choice: str = DEFAULT) -> tuple[ProbeFacts, ...]:
    """The reports that reproduce for a choice."""
    return tuple(one for one in reports(facts) if one.wrong(choice))


def caught(facts: RunFacts) -> tuple[ProbeFacts, ...]:
    """The traps into which an unpinned call falls here."""
    return tuple(one for one in traps(facts) if one.wrong(DEFAULT))


def marks(facts: RunFacts, variant: str) -> tuple[ProbeFacts, ...]:
    """The reports that a variant's backend reproduces here, although the variant is right at the run's own shape."""
    if variant not in PINNED or not facts.ok(variant):
        return ()
    return wrong(facts, variant.removeprefix("sdpa_"))


def without_implied(needs: frozenset[Needs]) -> frozenset[Needs]:
    """The needs without `MASK` where another says it as well."""
    return needs - {Needs.MASK} if needs & _MASKED_NEEDS else needs


def unsafe_needs(facts: RunFacts, choice: str = DEFAULT, without: frozenset[Needs] = frozenset()) -> tuple[frozenset[Needs], ...]:
    """What a call must have to be given a wrong result by a choice: each condition once, without those that a wider one holds.

    Args:
        without: what the call in question has not; a condition that needs one of these does not concern it.
    """
    found = [whole(one.probe.needs) for one in wrong(facts, choice) if not whole(one.probe.needs) & without]
    return tuple(dict.fromkeys(needs for needs in found if not any(other < needs for other in found)))


@dataclass(frozen=True)
class UnsafeCall:
    """A kind of call that does not give what its writer meant: the row of the one list to which advice refers by number, from 1.

    needs: what the call must have, with what that implies
    choices: for which it goes wrong: `default` for the unpinned call, names of backends
    probes: the reports that show it, or the traps
    """

    number: int
    needs: frozenset[Needs]
    choices: tuple[str, ...]
    probes: tuple[ProbeFacts, ...]

    @property
    def trap(self) -> bool:
        return self.probes[0].trap


def unsafe_calls(facts: RunFacts) -> tuple[UnsafeCall, ...]:
    """Every kind of call that goes wrong here for some choice: what the unpinned call meets first, then what pins meet, then traps."""
    choices = (DEFAULT, *PINS)
    held = [(one, tuple(choice for choice in choices if one.wrong(choice))) for one in (*reports(facts), *traps(facts))]
    met = [(one, fallen) for one, fallen in held if fallen]
    met.sort(key=lambda item: (item[0].trap, DEFAULT not in item[1]))
    grouped: dict[tuple[bool, frozenset[Needs]], list[tuple[ProbeFacts, tuple[str, ...]]]] = {}
    for one, fallen in met:
        grouped.setdefault((one.trap, whole(one.probe.needs)), []).append((one, fallen))
    return tuple(UnsafeCall(number, needs, tuple(choice for choice in choices if any(choice in fallen for _, fallen in group)), tuple(one for one, _ in group))
                 for number, ((_, needs), group) in enumerate(grouped.items(), start=1))


def whole(needs: frozenset[Needs]) -> frozenset[Needs]:
    """The needs with what they imply: a mask in another type, or one that empties rows, is a mask."""
    return needs | {Needs.MASK} if needs & _MASKED_NEEDS else needs


def concerned(probes: Iterable[ProbeFacts], without: frozenset[Needs]) -> tuple[ProbeFacts, ...]:
    """Those of `probes` that a call without these needs may still be."""
    return tuple(one for one in probes if not whole(one.probe.needs) & without)


def cures(facts: RunFacts) -> tuple[ProbeFacts, ...]:
    """Reports and traps that reproduce here with some choice, and whose probe has a cure: those that an unpinned call meets come first."""
    found = [one for one in (*reports(facts), *traps(facts)) if one.probe.cure is not None and one.standing in (Standing.DEFAULT, Standing.ELSEWHERE)]
    return tuple(sorted(found, key=lambda one: one.standing is Standing.ELSEWHERE))


HUGE_BATCH = 65_535
"""What a dimension of a launch grid may have at most: a batch beyond it is a huge one."""
LARGE_HEAD_DIM = 256
LARGE_TENSOR = 2**31


def not_of(workload: Workload) -> frozenset[Needs]:
    """What a call of the run's own shape has not."""
    never = {Needs.UNEQUAL_LENGTHS, Needs.GROUPED, Needs.OTHER_HEAD_DIM}
    elements = workload.batch * workload.heads * workload.sequence * max(workload.sequence, workload.head_dim)
    ruled_out = {Needs.ONE_QUERY: workload.sequence > 1, Needs.ODD_LENGTH: workload.sequence % TILE == 0, Needs.ONE_ABOVE: workload.sequence % KEYS_AT_ONCE != 1, Needs.ODD_HEAD_DIM: workload.head_dim % 8 == 0,
                 Needs.LARGE_HEAD_DIM: workload.head_dim <= LARGE_HEAD_DIM, Needs.EXTREME_BATCH: 0 < workload.batch * workload.heads <= HUGE_BATCH,
                 Needs.LARGE_TENSORS: elements < LARGE_TENSOR}
    return frozenset(never | {need for need, out in ruled_out.items() if out})


class Gradients(Enum):
    """How a variant's gradients come out."""

    RIGHT = "right"
    WRONG = "wrong"
    NOT_COMPARED = "not compared with FP64"
    NO_MASK = "the backend takes no `attn_mask`"
    REFUSED = "refused"
    FAILED = "broke off"


_TRAINED: Mapping[str, Gradients] = {"wrong": Gradients.WRONG, "unavailable": Gradients.REFUSED, "failed": Gradients.FAILED}
_MASKED: Mapping[str, Gradients] = {"right": Gradients.RIGHT, "wrong": Gradients.WRONG, "refused": Gradients.REFUSED, "failed": Gradients.FAILED,
                                    "takes-no-mask": Gradients.NO_MASK}


def own_gradients(variant: VariantFacts) -> Gradients:
    """The gradients at the run's own shape."""
    training = variant.training
    if training is None:
        return Gradients.NOT_COMPARED
    if training.status == "ok":
        return Gradients.RIGHT if training.compared and not off(training.compared) else Gradients.WRONG if training.compared else Gradients.NOT_COMPARED
    return _TRAINED[training.status]


def masked_gradients(variant: VariantFacts) -> Gradients:
    """Output and gradients under the same causal mask given as a mask."""
    own = variant.own_mask
    if own is None:
        return Gradients.NOT_COMPARED
    return Gradients.WRONG if own.outcome == "right" and off(own.compared) else _MASKED[own.outcome]


def off(compared: Iterable[Compared]) -> tuple[Compared, ...]:
    """Those tensors that are not right."""
    return tuple(one for one in compared if not one.right)
