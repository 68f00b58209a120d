"""A history in words: what each step did, what changed with it, and what a clone lacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from variants import backends

from ...numbers.quantities import QUANTITIES
from ...run import DEFAULT
from ...run.history import Around, Exact, Past, ProbeTurn
from ...run.noise import SAME
from ...saying.units import MONTHS, Percent, Seconds, listed, number_word, plural, verb
from ..diff import words as diff_words
from ..diff.flips import SAID
from ..diff.model import StructureChange
from .judging import Cause, FlipCause, Judged, Move, Standing

SOFTWARE = {"torch": "torch", "cuda": "CUDA", "hip": "ROCm", "cudnn": "cuDNN", "cublas": "cuBLAS", "triton": "Triton", "driver": "driver"}
"""Names of what decides which kernels run, in the order of sentences."""
TOLD = ("torch", "cudnn", "driver")
"""Of these a sentence says so where they stayed as they were."""
MOST = 3
"""Moves that an answer names."""


def when(state: Past) -> str:
    """`3 Dec 2026, 06:23`: the day in short, and the time of day where it is known, for states may lie minutes apart."""
    stamp = state.day
    parts = stamp[:10].split("-")
    if len(parts) != 3 or not all(part.isdecimal() for part in parts) or not 1 <= int(parts[1]) <= 12:
        return stamp or "at a time that is not known"
    return f"{int(parts[2])} {MONTHS[int(parts[1]) - 1][:3]} {int(parts[0])}" + (f", {stamp[11:16]}" if len(stamp) > 15 else "")


def around(one: Around) -> str:
    """`torch 2.10.0 → 2.11.0`."""
    name = SOFTWARE.get(one.key, one.name) if one.part == "software" else one.name
    return f"{name} {one.old if one.old is not None else 'not recorded'} → {one.new if one.new is not None else 'not recorded'}"


def came(judged: Judged) -> str:
    """What makes a new baseline, the software in the order of sentences, then clocks and company; empty where all is the same."""
    order = [*SAME]
    ordered = sorted(judged.came, key=lambda one: (one.part != "software", order.index(one.key) if one.key in order else len(order)))
    return "; ".join([", ".join(around(one) for one in ordered), *(said for about in ("clock", "neighbours") if (said := _conditions(judged, about)))]).removeprefix("; ")


def title(judged: Judged, variant: str) -> str:
    held = judged.state.variants.get(variant)
    return held.title if held else variant


def size(move: Move) -> str:
    """`−18.4 %`, from +900 % on a factor."""
    return diff_words.signed(move.ratio - 1)


def interval(move: Move) -> str | None:
    return None if move.low is None or move.high is None else f"{diff_words.signed(move.low - 1)} … {diff_words.signed(move.high - 1)}"


def exact(one: Exact) -> str:
    """An exact change as a line of Markdown, as `make diff` has it."""
    said = diff_words.structure(StructureChange(one.variant, one.kind, one.what, one.old, one.new, one.times, one.subject))  # type: ignore[arg-type]
    return f"{said}, launched alike" if one.renamed else said


def _first(found: Sequence[Exact], word: str) -> str:
    """The change itself where it is one; how many there are, else."""
    return exact(found[0]) if len(found) == 1 else f"{plural(sum(one.times for one in found), f'{word} change')}, listed below"


def _conditions(judged: Judged, about: str) -> str:
    return "; ".join(f"{one.name}: {one.old or 'not recorded'} → {one.new or 'not recorded'}" for one in judged.conditions if one.about == about)


def _parts(judged: Judged, part: str) -> str:
    return ", ".join(around(one) for one in judged.came if one.part == part)


def _backend(judged: Judged, move: Move) -> str:
    return "another backend runs" + (f": {_first(move.exact, 'kernel')}" if move.exact else "")


_SAID: dict[Cause, Callable[[Judged, Move], str]] = {
    Cause.CODE: lambda judged, move: "the variant's own code is another",
    Cause.STATE: lambda judged, move: f"its state is now: {judged.state.variants[move.variant].state}",
    Cause.BACKEND: _backend,
    Cause.KERNELS: lambda judged, move: _first(move.exact, "kernel"),
    Cause.LAUNCH: lambda judged, move: f"same kernels, launched otherwise: {_first(move.exact, 'launch')}",
    Cause.NOT_SEEN: lambda judged, move: "not known: on one side nobody saw what ran",
    Cause.RENAMED: lambda judged, move: f"no cause seen beside another name: {_first(move.exact, 'kernel')}",
    Cause.OPS: lambda judged, move: f"same kernels; {_first(move.exact, 'count')}",
    Cause.CLOCK: lambda judged, move: f"same kernels, other clocks: {_conditions(judged, 'clock')}",
    Cause.NEIGHBOURS: lambda judged, move: f"same kernels, other company: {_conditions(judged, 'neighbours')}",
    Cause.DEVICE: lambda judged, move: f"same kernels; with it came {_parts(judged, 'device')}",
    Cause.SETTING: lambda judged, move: f"same kernels; with it came {_parts(judged, 'setting')}",
    Cause.SOFTWARE: lambda judged, move: f"same kernels, launched alike; with it came {_parts(judged, 'software')}",
    Cause.NOTHING: lambda judged, move: "nothing that is recorded changed with it",
}


def why(judged: Judged, move: Move) -> str:
    """What was seen to change with a time."""
    return _SAID[move.cause](judged, move)


FLIPS = {FlipCause.EVIDENCE: "measurable on one side only", FlipCause.APART: "the two sides were measured otherwise",
         FlipCause.CHANGED: "something changed in the same step", FlipCause.QUIET: "no kernel and no deciding time changed with it"}


def probe(one: ProbeTurn) -> str:
    who = "unpinned" if one.choice == DEFAULT else backends.title(one.choice)
    return f"{one.name}, {who}: {SAID.get(one.old, one.old)} → {SAID.get(one.new, one.new)}"


def headline(judged: Judged) -> str:
    """What a step did, in a sentence without a full stop."""
    if judged.standing is Standing.FIRST:
        return "the first state"
    if judged.standing is Standing.CUT:
        return "the first state that was read: the clone did not go back to what the slot held before"
    if judged.standing is Standing.UNREADABLE:
        return f"cannot be read, so it is compared with nothing: {judged.state.problem}"
    if judged.standing is Standing.APART:
        return f"no time is compared with state {judged.since}: {', '.join(around(one) for one in judged.apart)}" + _beside(judged)
    if judged.standing is Standing.QUIET:
        return _quiet(judged) + _beside(judged)
    return _changed(judged) + _beside(judged)


def _quiet(judged: Judged) -> str:
    unseen = [title(judged, name) for name in judged.unseen]
    ran = f"what ran is the same as far as both sides saw it (not of {listed(unseen)})" if unseen else "what ran is the same"
    if not judged.least:
        return f"{ran}{_over(judged)}, and there is no deciding time that both states have"
    few = f"; {listed([title(judged, name) for name in judged.few])} ran in too few processes to tell" if judged.few else ""
    return f"nothing but noise{_over(judged)}: {ran}, and no deciding time moved ({Percent(round(100 * judged.least, 1))} would have counted{few})"


def _over(judged: Judged) -> str:
    return f" over an unreadable state, beside state {judged.since}" if judged.since is not None and judged.since != judged.number - 1 else ""


def _changed(judged: Judged) -> str:
    slower, faster = ([move for move in judged.moves if (move.ratio > 1) is longer] for longer in (True, False))
    parts = [f"{plural(len(moves), 'deciding time')} {word} ({listed(list(dict.fromkeys(title(judged, move.variant) for move in moves)))})"
             for moves, word in ((slower, "longer"), (faster, "shorter")) if moves]
    return listed(parts or ["no deciding time moved beyond noise"]) + _over(judged)


def _beside(judged: Judged) -> str:
    """What else a step did: exact changes and torch's pick."""
    other = [title(judged, name) for name in dict.fromkeys(one.variant for one in judged.exact if not one.renamed)]
    renamed = [name for name in dict.fromkeys(title(judged, one.variant) for one in judged.exact if one.renamed) if name not in other]
    said = f"; what ran is otherwise for {listed(other)}" if other else ""
    said += f"; a kernel of {listed(renamed)} has another name and is launched alike" if renamed else ""
    said += f"; the GPU time of {listed([title(judged, name) for name in judged.untold])} was taken by another timer, and is not compared" if judged.untold else ""
    old, new = judged.picks
    if judged.repicked and old and new:
        said += f"; unpinned, torch picks {backends.title(new)} instead of {backends.title(old)}"
    probes = judged.state.before.probes if judged.state.before else ()
    for word, found in (("new", judged.state.before.added), ("gone", judged.state.before.removed)) if judged.state.before else ():
        said += f"; {word}, and compared with nothing: {listed([title(judged, name) for name in found])}" if found else ""
    return said + (f"; {plural(len(probes), 'probe')} of wrong results came out otherwise" if probes else "")


def answer(slot: str, judged: Sequence[Judged], shown: Callable[[str], str] = lambda name: f"`{name}`") -> str:
    """What the history of a slot says, in a few sentences; `**` around the first."""
    states = [one.state for one in judged]
    counted = f"{shown(slot)}: {number_word(len(states))} {verb(len(states), 'state', 'states')}, recorded {span(states)}"
    steps = [one for one in judged if one.since is not None]
    moved = [(one, move) for one in steps for move in one.moves]
    if not steps:
        return f"**{counted}.** Nothing is compared yet."
    compared = [one for one in steps if one.standing is not Standing.APART]
    if not compared:
        said = "no two of them were measured alike"
    elif not moved:
        said = "no deciding time moved beyond noise" + (" where both sides were measured alike" if len(compared) < len(steps) else "")
    else:
        said = f"deciding times moved in {number_word(len({one.number for one, _ in moved}))} of {number_word(len(steps))} {verb(len(steps), 'step', 'steps')}"
    return " ".join([f"**{counted}; {said}.**", *_largest(moved), *_quiet_updates(compared), *_versions(states), *_verdicts(steps), *_lost(judged)])


def span(states: Sequence[Past]) -> str:
    """`from 30 Nov 2026 to 3 Dec 2026`."""
    return f"on {days(states)}" if _day(states[0]) == _day(states[-1]) else f"from {days(states)}"


def days(states: Sequence[Past]) -> str:
    """`30 Nov 2026 to 3 Dec 2026`, or the one day."""
    first, last = _day(states[0]), _day(states[-1])
    return first if first == last else f"{first} to {last}"


def _day(state: Past) -> str:
    return when(state).split(",")[0]


def _largest(moved: Sequence[tuple[Judged, Move]]) -> list[str]:
    """The moves that matter most, GPU time before others, a variant of a step once."""
    once: dict[tuple[int, str], tuple[Judged, Move]] = {}
    for one, move in moved:
        once.setdefault((one.number, move.variant), (one, move))
    order = sorted(once.values(), key=lambda pair: -max(pair[1].ratio, 1 / pair[1].ratio))
    lines = []
    for one, move in order[:MOST]:
        versions = _parts(one, "software") if move.cause is not Cause.SOFTWARE else ""
        lines.append(f"State {one.number}, {title(one, move.variant)}: {QUANTITIES[move.quantity].label} {Seconds(move.old.median)} → {Seconds(move.new.median)} ({size(move)}); {why(one, move)}{f' ({versions})' if versions else ''}.")
    if len(order) > MOST:
        lines.append(f"{plural(len(order) - MOST, 'more move')} {verb(len(order) - MOST, 'is', 'are')} in the table below.")
    return lines


def _quiet_updates(steps: Sequence[Judged]) -> list[str]:
    """Versions that changed and moved nothing."""
    quiet = [(one, said) for one in steps if one.standing is Standing.QUIET and (said := _parts(one, "software"))]
    return [f"State {one.number}: {said} changed nothing beyond noise." for one, said in quiet]


def _versions(states: Sequence[Past]) -> list[str]:
    """What all states share, where nothing of it changed."""
    known = [state for state in states if state.problem is None]
    shared = [f"{SOFTWARE[key]} {values.pop()}" for key in TOLD if len(values := {state.software.get(key) for state in known}) == 1 and None not in values]
    return [f"All of them have {listed(shared)}, so they say nothing of other versions."] if len(shared) == len(TOLD) and len(known) > 1 else []


def _verdicts(steps: Sequence[Judged]) -> list[str]:
    """How many verdicts turned, told apart from those that came with their evidence."""
    flips = [cause for one in steps for _, cause in one.flips]
    new, quiet, apart = (sum(cause is which for cause in flips) for which in (FlipCause.EVIDENCE, FlipCause.QUIET, FlipCause.APART))
    turned = len(flips) - new
    said = []
    if turned:
        parts = [f"{plural(turned, 'verdict')} turned"]
        parts += [f"{_of(quiet, turned)} with no kernel and no deciding time changed in the same step"] if quiet else []
        parts += [f"{_of(apart, turned)} between states that were measured otherwise"] if apart else []
        said.append(", ".join(parts) + ".")
    if new:
        said.append(f"{plural(new, 'verdict')} {verb(new, 'is', 'are')} another because what {verb(new, 'it needs', 'they need')} can be told on one side alone.")
    return said


def _of(some: int, every: int) -> str:
    return "and" if some == every else f"{some} of them"


def _lost(judged: Sequence[Judged]) -> list[str]:
    unread = [one.number for one in judged if one.standing is Standing.UNREADABLE]
    said = [f"State {listed([str(number) for number in unread])} cannot be read."] if unread else []
    return said + (["What came before the first of them was not in the clone that this was read from."] if any(one.state.cut for one in judged) else [])
