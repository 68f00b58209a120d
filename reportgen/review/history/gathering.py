"""From git to the history of a device: every state that can be read, and the typed comparison of each with the one before."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from variants.backends import BY_OP

from ...analysis import RunFacts, VariantFacts
from ...errors import ReportError
from ...numbers.statistics import Estimate
from ...questions.right_words import named
from ...run import RUN_FILE
from ...run.history import DECIDING, SCHEMA_VERSION, Around, Condition, Exact, Flip, Header, Held, History, Past, ProbeTurn, Step, Timing
from .. import diff
from ..diff import RunDiff, Side, StructureChange
from ..diff.conditions import clocks, neighbours
from ..diff.model import ConditionChange, Status
from .repository import RUNS, Repository, Visit

DIGITS = 7
"""Of a time, significant; what is beyond noise was decided with all of them."""
_LAUNCH = ("launch_api", "grid", "block", "registers", "shared_memory", "bytes")


@dataclass(frozen=True)
class Gathered:
    """read: slot → states that git or the work tree has; kept: slot → states that the former file alone has
    cut: slots whose beginning is not in this clone; dropped: slot → states of the former file that a whole clone does not know
    """

    history: History
    read: dict[str, int]
    kept: dict[str, int]
    cut: tuple[str, ...]
    dropped: dict[str, int]


def gather(root: Path, slug: str, before: History | None, say: Callable[[str], None] = lambda line: None) -> Gathered:
    """Reads every slot of a device.

    Args:
        before: the history as it was written last: what a shallow clone does not have is taken from it.

    Raises:
        ReportError: this is no checkout, or git is not installed.
    """
    repository = Repository(root)
    former = before.slots if before else {}
    there = {file.parent.name for file in (root / RUNS / slug).glob(f"*/{RUN_FILE}")}
    states: list[Past] = []
    read: dict[str, int] = {}
    kept: dict[str, int] = {}
    dropped: dict[str, int] = {}
    cut: list[str] = []
    device = before.header.device if before else slug
    for slot in sorted({*there, *repository.slots(slug), *(former if repository.shallow else ())}):
        known = repository.known(slug, slot)
        visits, held = known.visits, former.get(slot, ())
        say(f"{slug}/{slot}: {len(visits)} in git")
        older = _older(held, visits) if repository.shallow and (known.cut or not visits) else ()
        fresh, name = _states(repository, slug, slot, visits, known.cut)
        device = name or device
        if older and fresh:
            fresh[0] = _joined(fresh[0], held)
        states += [*older, *fresh]
        read[slot], kept[slot] = len(fresh), len(older)
        lost = len({one.blob for one in held} - {one.blob for one in (*older, *fresh)})
        dropped |= {slot: lost} if lost else {}
        cut += [slot] if known.cut else []
    return Gathered(History(Header(SCHEMA_VERSION, device), tuple(states)), read, kept, tuple(cut), dropped)


def _older(held: tuple[Past, ...], visits: tuple[Visit, ...]) -> tuple[Past, ...]:
    """What the former file has before the first state that this clone has; all that it has, where it does not have that one."""
    place = next((index for index, one in enumerate(held) if visits and one.blob == visits[0].blob), len(held))
    return tuple(one for one in held[:place] if place < len(held) or one.blob not in {visit.blob for visit in visits})


def _joined(first: Past, held: tuple[Past, ...]) -> Past:
    """The first state that this clone has, with what the former file says came before it."""
    same = next((one for one in held if one.blob == first.blob), None)
    return first if same is None else replace(first, before=same.before, cut=same.cut, committed=same.committed)


def _states(repository: Repository, slug: str, slot: str, visits: tuple[Visit, ...], cut: bool) -> tuple[list[Past], str | None]:
    """The states of a slot and the device's name; only two of them are in memory at a time."""
    found: list[Past] = []
    last: tuple[str, Side] | None = None
    for visit in visits:
        with repository.evidence(slug, slot, visit) as folder:
            begins = cut and not found
            try:
                side = diff.load(folder)
            except ReportError as error:
                found.append(Past(slot, visit.blob, visit.day, _recorded_on(folder), problem=error.problem, cut=begins))
                continue
            found.append(_state(slot, visit, side, _step(*last, side) if last else None, begins))
            last = (visit.blob, side)
    return found, last[1].facts.device.name if last else None


def _recorded_on(folder: Path) -> str:
    """When a run that cannot be read was recorded, where that alone can be told."""
    try:
        said = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))["recorded_on"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return said if isinstance(said, str) and len(said) <= 40 and said.isprintable() else ""


def _state(slot: str, visit: Visit, side: Side, step: Step | None, cut: bool) -> Past:
    facts = side.facts
    default = facts.probes.default_backend
    variants = {name: _held(variant, facts.has_gpu_lane) for name, variant in diff.present(facts).items()}
    return Past(slot, visit.blob, visit.day, facts.recorded_on, dict(facts.software), default.name if default else None, variants, cut=cut, before=step)


def _held(variant: VariantFacts, on_gpu: bool) -> Held:
    backend = next((BY_OP[op.name] for op in variant.ops if op.name in BY_OP), None)
    times = {name: Estimate(tuple(float(f"{value:.{DIGITS}g}") for value in estimate.samples)) for name in DECIDING if (estimate := variant.time(name)) is not None}
    return Held(variant.title, variant.state.value, backend, bool(variant.activities if on_gpu else variant.ops), variant.timer, times)


def _step(since: str, old: Side, new: Side) -> Step:
    """The comparison that `make diff` makes, as it is written down."""
    seen = diff.compare(old, new)
    return Step(since, tuple(Around(one.part, one.key, one.name, one.old, one.new, one.baseline) for one in seen.environment), _conditions(seen),
                tuple(_exact(one, old.facts, new.facts) for one in seen.structure),
                tuple(Timing(one.variant, one.quantity, one.significant and one.decides, one.threshold, *(one.interval or (None, None))) for one in seen.timings if one.quantity in DECIDING),
                tuple(Flip(one.claim, str(one.old.verdict), str(one.new.verdict)) for one in seen.flipped),
                tuple(ProbeTurn(named(one.probe), one.choice, one.old, one.new) for one in seen.probes), seen.added, seen.removed)


def _conditions(seen: RunDiff) -> tuple[Condition, ...]:
    old, new = seen.old.facts, seen.new.facts
    clock, company = set(clocks(old, new)), set(neighbours(old, new))

    def of(one: ConditionChange) -> Condition:
        return Condition("clock" if one in clock else "neighbours" if one in company else "evidence", one.name, one.old, one.new)

    return tuple(of(one) for one in seen.conditions)


def _exact(change: StructureChange, old: RunFacts, new: RunFacts) -> Exact:
    plain = [str(value) if isinstance(value, Status) else value for value in (change.old, change.new)]
    launched = [_launches(facts, change.variant, str(name)) for facts, name in ((old, change.old), (new, change.new))]
    renamed = change.kind == "replaced" and launched[0] == launched[1] != []
    return Exact(change.variant, change.kind, change.what, plain[0], plain[1], change.times, change.subject, renamed)  # type: ignore[arg-type]


def _launches(facts: RunFacts, variant: str, name: str) -> list[tuple[object, ...]]:
    """How the activities of that name were launched, in order."""
    return [tuple(getattr(activity, field) for field in _LAUNCH) for activity in facts.variants[variant].activities if activity.name == name]
