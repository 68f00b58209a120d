"""Two maps of one device: where the choice changed, what came out wrong, what became slower. Pure but for reading the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from ...analysis import maps as maps_room
from ...analysis import policy
from ...analysis.maps import MapFacts, Spot, beats
from ...saying.units import Ratio, listed, plural
from ...shapes import Call, record

MOST = 12
"""Changes of one kind that are named; the rest is counted."""


class Choice(Enum):
    """What changed at a call, in the order in which it is told; the value is its head."""

    WRONG = "Wrong now, and right before"
    WRITE = "What to write changed"
    PICKED = "torch picks another backend"
    WINNER = "Another backend wins"
    RIGHT = "Right now, and wrong before"


@dataclass(frozen=True)
class ChoiceChange:
    """old, new: a backend's name, for WRITE `torch` where nothing is pinned; for WRONG and RIGHT the backend on both sides"""

    choice: Choice
    call: Call
    old: str | None
    new: str | None


@dataclass(frozen=True)
class MapDiff:
    """changes: by their kind; slower, faster: calls whose fastest time changed beyond both maps' thresholds in every round, with new ÷ old, largest change first

    common: calls of both maps; added, removed: how many only one has; software: name → old and new version
    """

    slug: str
    changes: tuple[ChoiceChange, ...]
    slower: tuple[tuple[Call, float], ...]
    faster: tuple[tuple[Call, float], ...]
    common: int
    added: int
    removed: int
    software: Mapping[str, tuple[str | None, str | None]]


def files(slots: Mapping[str, Path]) -> dict[str, Path]:
    """Device → the map beside its runs, where there is one."""
    found = {folder.parent.name: folder.parent / record.MAP_FILE for folder in slots.values()}
    return {slug: file for slug, file in sorted(found.items()) if file.is_file()}


def load(file: Path) -> MapFacts:
    """Raises:
        RunInvalid: the map cannot be read.
    """
    return maps_room.build(record.read(file), file.parent.name)


def compare(old: MapFacts, new: MapFacts) -> MapDiff:
    """The calls that both maps have."""
    before, after = policy.build(old), policy.build(new)
    both = [(old.by_call[spot.call], spot) for spot in new.spots if spot.call in old.by_call]
    changes = sorted((change for pair in both for change in _changes(*pair, before, after)), key=lambda change: list(Choice).index(change.choice))
    threshold = max(old.threshold, new.threshold)
    moved = [(b.call, b.order[0].median / a.order[0].median) for a, b in both if a.order and b.order and (beats(a.order[0], b.order[0], threshold) or beats(b.order[0], a.order[0], threshold))]
    names = [name for name in {**old.header.software, **new.header.software} if old.header.software.get(name) != new.header.software.get(name)]
    return MapDiff(new.slug, tuple(changes), tuple(sorted((one for one in moved if one[1] > 1), key=lambda one: -one[1])), tuple(sorted((one for one in moved if one[1] < 1), key=lambda one: one[1])),
                   len(both), len(new.spots) - len(both), len(old.spots) - len(both), {name: (old.header.software.get(name), new.header.software.get(name)) for name in names})


def _changes(a: Spot, b: Spot, before: policy.Policy, after: policy.Policy) -> Iterator[ChoiceChange]:
    yield from (ChoiceChange(Choice.WRONG, b.call, name, name) for name in b.wrong if name not in a.wrong)
    yield from (ChoiceChange(Choice.RIGHT, b.call, name, name) for name in a.wrong if b.timed(name))
    first, second = (next(iter(rules.order(b.call)), policy.LEAVE) for rules in (before, after))
    if first != second:
        yield ChoiceChange(Choice.WRITE, b.call, first, second)
    if a.point.picked != b.point.picked:
        yield ChoiceChange(Choice.PICKED, b.call, a.point.picked, b.point.picked)
    if a.winner and b.winner and a.winner != b.winner:
        yield ChoiceChange(Choice.WINNER, b.call, a.winner, b.winner)


def markdown(diff: MapDiff) -> str:
    """One comparison under a heading of level 3, a changed choice first."""
    from ...questions.map_words import said
    from ...saying.tables import prose

    blocks = [f"### The map of `{diff.slug}`", _headline(diff)]
    for choice in Choice:
        found = [change for change in diff.changes if change.choice is choice]
        if found:
            lines = [f"- {_turn(change)}: {said(change.call)}" for change in found[:MOST]]
            more = [f"- and {plural(len(found) - MOST, 'call')} more"] if len(found) > MOST else []
            blocks.append("\n".join([f"#### {choice.value}: {plural(len(found), 'call')}", "", *(prose(line) for line in [*lines, *more])]))
    for head, moved in (("Slower", diff.slower), ("Faster", diff.faster)):
        if moved:
            blocks.append("\n".join([f"#### {head}, by the fastest backend: {plural(len(moved), 'call')}", "", *(f"- {Ratio(ratio)} the time: {prose(said(call))}" for call, ratio in moved[:MOST])]))
    return "\n\n".join(blocks)


def _headline(diff: MapDiff) -> str:
    turned = sum(change.choice is not Choice.RIGHT for change in diff.changes)
    software = listed([f"{name} {old or 'none'} → {new or 'none'}" for name, (old, new) in diff.software.items()])
    rest = [f"{plural(diff.added, 'call')} new"] * bool(diff.added) + [f"{plural(diff.removed, 'call')} gone"] * bool(diff.removed)
    said = f"{'**A choice changed.**' if turned else 'No choice changed.'} {plural(diff.common, 'call')} in both{', ' if rest else ''}{', '.join(rest)}."
    return f"{said} Other software: {software}." if software else said


def _turn(change: ChoiceChange) -> str:
    from ...questions.map_words import title

    old, new = (title(name) if name else "nothing" for name in (change.old, change.new))
    return old if change.choice in (Choice.WRONG, Choice.RIGHT) else f"{old} → {new}"


def as_json(diff: MapDiff) -> dict[str, object]:
    return {"changes": [{"what": change.choice.name.lower(), "call": change.call.id, "old": change.old, "new": change.new} for change in diff.changes],
            "slower": {call.id: round(ratio, 4) for call, ratio in diff.slower}, "faster": {call.id: round(ratio, 4) for call, ratio in diff.faster},
            "calls": {"both": diff.common, "added": diff.added, "removed": diff.removed}, "software": {name: list(pair) for name, pair in diff.software.items()}}
