"""Gates: which differences make the command end with status 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from . import words
from .model import RunDiff
from .trees import TreeDiff

GATES: Mapping[str, Callable[[RunDiff], list[str]]] = {
    "probe": lambda run: [words.flip(change) for change in run.probes if change.worse],
    "verdict": lambda run: [f"{change.claim}: {change.old.verdict} → {change.new.verdict}" for change in run.flipped],
    "structure": lambda run: list(dict.fromkeys(f"{change.variant}: {change.kind}" for change in run.structure)),
    "slower": lambda run: [f"{change.variant}: {change.quantity}" for change in run.decisive if change.slower],
}


def failed(diff: TreeDiff, gates: Sequence[str]) -> list[str]:
    """One line per difference that a gate catches, and per run that could not be read; none without gates."""
    lines = [f"{gate}: {slot}: {line}" for gate in gates for slot, run in diff.changed.items() for line in GATES[gate](run)]
    return lines + ([f"unreadable: {slot}: {why}" for slot, why in diff.unreadable.items()] if gates else [])
