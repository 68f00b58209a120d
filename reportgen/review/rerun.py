"""Quiet reruns: whether a fresh run replaces the recorded one, and why.

A fresh run of the same code and software either confirms the recorded one, and no file changes, or
shows a change that a second pass must show again. Other software is a new baseline. What is worse
evidence than the recorded run (a lost trace, a neighbour on the GPU) replaces nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from .. import run as run_room
from ..analysis import RunFacts
from ..errors import ReportError
from ..numbers import quantities
from ..numbers.statistics import PROCESSES
from ..run import slots
from ..saying.units import plural
from . import diff
from .diff import RunDiff, Side, render, words
from .diff.conditions import lacks

Outcome = Literal["first", "confirmed", "not repeated", "changed", "new baseline", "accepted", "partial"]
REPLACING = ("first", "changed", "new baseline", "accepted")


@dataclass(frozen=True)
class Decision:
    """outcome: what the fresh run means
    reason: one sentence for the terminal
    diff: the comparison it rests on, or `None` where nothing was compared
    second: the decision rests on the second pass, and that run is the one to keep
    """

    outcome: Outcome
    reason: str
    diff: RunDiff | None = None
    second: bool = False

    @property
    def replaces(self) -> bool:
        return self.outcome in REPLACING


def decide(recorded: Side, fresh: Side, again: Callable[[], Side], accept: bool = False) -> Decision:
    """What a fresh run says about the recorded run of its slot.

    Args:
        again: makes the second pass; called only when the first one shows a measured change.
        accept: replace whatever the comparison says.
    """
    seen = diff.compare(recorded, fresh)
    if accept:
        return Decision("accepted", "replaced as asked (ACCEPT=1)", seen)
    return _partial(seen) or _worse(seen, "the fresh run") or _without_measuring(seen) or _measured(recorded, seen, again)


def _worse(seen: RunDiff, who: str, second: bool = False) -> Decision | None:
    """A run that lacks what the recorded one has, or was taken under worse conditions, does not replace it."""
    found = lacks(seen.conditions)
    return Decision("partial", f"{who} is worse evidence than the recorded one: {'; '.join(found)}", seen, second) if found else None


def _partial(seen: RunDiff) -> Decision | None:
    """A run of some variants or few processes was never meant to replace a whole one."""
    new = seen.new.facts
    missing = [name for name in seen.removed if name in new.variants]
    if missing:
        return Decision("partial", f"the fresh run left out {', '.join(missing)}, so it cannot stand in for the recorded one", seen)
    if _few(new):
        return Decision("partial", f"the fresh run has fewer than {PROCESSES} processes, so it cannot be compared", seen)
    return None


def _few(facts: RunFacts) -> bool:
    return (facts.protocol.processes or 0) < PROCESSES


def _without_measuring(seen: RunDiff) -> Decision | None:
    """What follows from which code and software ran; `None` if the numbers must speak."""
    causes = [change.name for change in seen.environment if change.baseline]
    causes += [f"the code of {change.variant}" for change in seen.structure if change.kind == "source"]
    causes += [f"the new variant {name}" for name in seen.added] + [f"{name} is gone" for name in seen.removed]
    if _few(seen.old.facts):
        causes.append(f"the recorded run has fewer than {PROCESSES} processes")
    causes += _newly_measured(seen)
    return Decision("new baseline", f"new baseline: {', '.join(causes)}", seen) if causes else None


def _newly_measured(seen: RunDiff) -> list[str]:
    """Kinds of evidence that the recorded run has of no variant and the fresh one has."""
    old, new = seen.old.facts, seen.new.facts
    found = [quantities.QUANTITIES[quantity].label for quantity in quantities.recorded()
             if not any(v.time(quantity) for v in old.variants.values()) and any(v.time(quantity) for v in new.variants.values())]
    counted = [any(a.counters for v in facts.variants.values() for a in v.activities) for facts in (old, new)]
    found += ["hardware counters"] if counted == [False, True] else []
    found += ["the rightness of publicly reported cases"] if [old.watch.taken, new.watch.taken] == [False, True] else []
    return [f"{name} was not recorded before" for name in found]


def _measured(recorded: Side, seen: RunDiff, again: Callable[[], Side]) -> Decision:
    if seen.unchanged:
        return Decision("confirmed", "confirmed: same structure, and no timing beyond noise", seen)
    second = diff.compare(recorded, again())
    worse = _worse(second, "the second pass", second=True)
    if worse:
        return worse
    repeated = keys(seen) & keys(second)
    if not repeated:
        return Decision("not repeated", f"confirmed: {_what(seen)} in the first pass and not in the second", seen)
    return Decision("changed", f"changed: {_what(second)}, in two passes", second, second=True)


def keys(seen: RunDiff) -> set[tuple[str, ...]]:
    """What a comparison shows, without its size: the second pass must share some of it."""
    found: set[tuple[str, ...]] = {change.key for change in seen.structure}
    return found | {change.key for change in seen.decisive} | {change.key for change in seen.probes}


def _what(seen: RunDiff) -> str:
    slower, faster = words.speeds(seen)
    structural = len({change.variant for change in seen.structure})
    parts = ([f"{plural(len(seen.probes), 'probe')} of wrong results"] if seen.probes else []) + ([f"structure of {plural(structural, 'variant')}"] if structural else []) + ([f"{plural(slower, 'timing')} slower"] if slower else [])
    return " and ".join(parts + ([f"{plural(faster, 'timing')} faster"] if faster else []))


def settle(folder: Path, again: Callable[[], Path], runs_root: Path, say: Callable[[str], None], accept: bool = False,
           aside: Path | None = None) -> tuple[Path, Decision]:
    """Compares a captured run with the recorded one of its slot, and replaces that only where it must.

    Args:
        folder: the fresh run, outside `runs_root`.
        again: records a second pass elsewhere and returns its folder.
        say: prints lines for the user.
        aside: where a run that cannot stand in for the recorded one is kept, below its slot's name; where
            it was if not given.

    Returns:
        The folder of the run that is now recorded in the slot, and the decision.

    Raises:
        ReportError: one of the runs cannot be read; both are still where they were.
    """
    fresh = diff.load(folder)
    target = runs_root / fresh.facts.slot
    passes = [folder]

    def second_pass() -> Side:
        say("this differs from the recorded run; a second pass will tell whether it stays so")
        passes.append(again())
        return diff.load(passes[-1])

    if (target / run_room.RUN_FILE).is_file():
        recorded = _recorded(target, folder, accept)
        decision = decide(recorded, fresh, second_pass, accept) if recorded else Decision("accepted", "replaced a run that cannot be read, as asked (ACCEPT=1)")
    else:
        decision = Decision("first", f"first run of {fresh.facts.slot}")
    if decision.diff is not None and decision.outcome != "confirmed":
        say(render.run_markdown(decision.diff, f"`{fresh.facts.slot}`", folded=False))
    say(decision.reason)
    if decision.replaces:
        return slots.place(passes[-1] if decision.second else folder, runs_root), decision
    if decision.outcome == "partial":
        decided = passes[-1] if decision.second else folder
        kept = slots.place(decided, aside) if aside else decided
        say(f"the recorded run stays; the fresh one lies in {kept}, and `make merge DIRS={kept} ACCEPT=1` takes it in all the same")
    return target, decision


def _recorded(target: Path, fresh: Path, accept: bool) -> Side | None:
    """The recorded run; `None` where it cannot be read and may be replaced all the same."""
    try:
        return diff.load(target)
    except ReportError as error:
        if accept:
            return None
        raise ReportError(f"the recorded run cannot be read, so the fresh one was not compared and replaced nothing\n  {error.problem}", where=error.where or str(target),
                          cure=f"restore it from version control, or give ACCEPT=1 to replace it; the fresh run lies in {fresh}") from None
