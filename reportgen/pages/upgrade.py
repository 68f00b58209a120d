"""The page of an upgrade: which calls change backend, kernels, result or time from one torch, or setting, to another on the same device."""

from __future__ import annotations

from collections.abc import Sequence

from ..numbers import quantities
from ..numbers.ranks import ALPHA
from ..numbers.statistics import MINIMUM_EFFECT
from ..review import upgrade as judging
from ..review import upgrade_words as words
from ..review.upgrade import Change, Judged, Shift
from ..saying.markup import escaped, label
from ..saying.tables import Code, Table, columns
from ..saying.units import Percent, Ratio, Seconds, day, plural, text
from ..shapes.upgrade import Pair, Upgrade
from .environment import page
from .site import Site

PATH = "upgrade.md"
INTERVAL = f"{text(Percent(100 * (1 - ALPHA)))} interval"
TITLE = "What does the upgrade change?"


def device_path(slug: str) -> str:
    return f"runs/{slug}/{PATH}"


def files(site: Site) -> dict[str, str | bytes]:
    """One page per device that has a comparison."""
    return {device_path(one.slug): render(one.upgrade, device_path(one.slug)) for one in site.folders if one.upgrade is not None}


def render(found: Upgrade, path: str) -> str:
    judged = judging.judged(found)
    groups = (("Worse", [one for one in judged if one.worse]), ("Better", [one for one in judged if one.better]),
              ("Otherwise, and neither", [one for one in judged if one.changes and not one.worse and not one.better]))
    passes = sum(one.again for one in found.ran)
    return page("upgrade.md.j2", path, title=TITLE, device=label(found.device.name), stands=stands(found, judged), answer=words.answer(found, judged),
                caveats=words.caveats(found), differs=_some(differs(found)), groups=[(title, changed(rows)) for title, rows in groups if rows],
                what_ran=[(f"{one.pair.asked.name}: {words.said(one)}", ran(one.pair), refused(one.pair)) for one in judged if told(one)],
                every=every(judged), processes=found.processes, again=bool(passes), on_gpu=found.device.kind != "cpu",
                same_bits=bits(judged), alpha=text(Percent(100 * ALPHA)), effect=text(Percent(100 * MINIMUM_EFFECT)))


def _some(table: Table) -> Table | None:
    return table if table.rows else None


def stands(found: Upgrade, judged: Sequence[Judged]) -> str:
    parts = (f"{words.name(found, 'a')} → {words.name(found, 'b')}", plural(len(judged), "call"), f"recorded {day(found.recorded_on) or found.recorded_on}")
    return " · ".join(escaped(part) for part in parts)


def differs(found: Upgrade) -> Table:
    """Software and switches that are not the same on both sides."""
    return Table(columns("What differs", "A", "B"), tuple(words.sides(found)))


def changed(rows: Sequence[Judged]) -> Table:
    """Calls that are not the same, those that changed most first."""
    ordered = sorted(rows, key=lambda one: (Change.STATE not in one.changes, -_size(one.shift())))
    return Table(columns("Call", "What changes", "Carried by", "Time", "#A", "#B", "#B ÷ A", INTERVAL), tuple(_row(one) for one in ordered))


def _size(shift: Shift | None) -> float:
    return max(shift.ratio, 1 / shift.ratio) if shift is not None and shift.confirmed else 0.0


def _row(one: Judged) -> tuple[object, ...]:
    return (one.pair.asked.name, words.said(one), words.caused(one), *_times(one.shift()))


def _times(shift: Shift | None) -> tuple[object, ...]:
    if shift is None:
        return (None,) * 5
    return (quantities.QUANTITIES[shift.quantity].label, Seconds(shift.a), Seconds(shift.b), Ratio(shift.ratio), words.interval(shift))


def told(one: Judged) -> bool:
    """Whether what ran is shown: it differs, or a side did not run."""
    return any(change in one.changes for change in (Change.STATE, Change.BACKEND, Change.KERNELS, Change.OPS))


def ran(pair: Pair) -> Table:
    """What ran on both sides, one beside the other: kernels on a GPU, ops on a CPU."""
    gpu = pair.a.kernels is not None or pair.b.kernels is not None
    sides = [words.kernels(seen) if gpu else list(seen.ops) for seen in (pair.a, pair.b)]
    length = max(map(len, sides), default=0)
    filled = [[Code(name) for name in side] + [None] * (length - len(side)) for side in sides]
    backends = (f"A: {words.backend(pair.a)}", f"B: {words.backend(pair.b)}")
    return Table(columns(*backends), tuple(zip(*filled)))


def refused(pair: Pair) -> list[str]:
    """torch's words where a side did not give a right result."""
    return [f"{side}: {words.STATES[seen.state]}{f', {seen.reason}' if seen.reason else ''}" for side, seen in (("A", pair.a), ("B", pair.b)) if seen.state != "ok"]


def every(judged: Sequence[Judged]) -> Table:
    """All calls, in the order in which they are asked, with the smallest slowdown that would have been found."""
    rows = []
    for one in judged:
        shift = one.shift()
        least = None if shift is None or shift.least == float("inf") else words.least(shift)
        rows.append((one.pair.asked.name, words.said(one), words.backend(one.pair.b), *_times(shift), least))
    return Table(columns("Call", "What changes", "torch picks on B", "Time", "#A", "#B", "#B ÷ A", INTERVAL, "#Least that counts"), tuple(rows))


def bits(judged: Sequence[Judged]) -> str:
    """At how many calls the outputs could be compared bit for bit."""
    known = [judging.other_bits(one.pair.a, one.pair.b) for one in judged]
    comparable = [one for one in known if one is not None]
    drawn = sum(one.pair.a.inputs != one.pair.b.inputs for one in judged if one.pair.a.inputs and one.pair.b.inputs)
    said = f"Bit for bit the outputs could be compared at {len(comparable)} of {plural(len(judged), 'call')}"
    return f"{said}; at {drawn} the two torches draw other inputs from the same seed." if drawn else f"{said}."
