"""The worked example of the page on reviewing: two recorded runs of one device, under two settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from . import words
from .compare import compare
from .model import RunDiff, Side
from .render import run_markdown


@dataclass(frozen=True)
class Example:
    """What the template prints; every sentence follows from `diff`.

    old, new: slots. settings: `name: old → new` for each setting that differs
    flips: `claim: old → new` for each flipped verdict; kernels: a line per replaced, added or removed activity, by variant
    slower, faster: how many deciding timings moved; quiet: how many timings are within noise
    markdown: the comparison as a pull request shows it
    """

    diff: RunDiff
    old: str
    new: str
    settings: tuple[str, ...]
    flips: tuple[str, ...]
    kernels: tuple[str, ...]
    slower: int
    faster: int
    quiet: int
    markdown: str


def find(pairs: Iterable[tuple[Side, Side]]) -> Example | None:
    """Of pairs of a plain and a labelled run, the first that shows a change if there is any, else the first."""
    first: RunDiff | None = None
    for pair in pairs:
        diff = compare(*pair)
        first = first or diff
        if diff.structure or diff.flipped:
            return _example(diff)
    return None if first is None else _example(first)


def _example(diff: RunDiff) -> Example:
    new = diff.new.facts.slot
    slower, faster = words.speeds(diff)
    exchanged = [change for change in diff.structure if change.kind in ("replaced", "added", "removed")]
    return Example(
        diff, diff.old.facts.slot, new,
        settings=tuple(f"{change.key}: {change.old} → {change.new}" for change in diff.environment if change.part == "setting"),
        flips=tuple(f"{change.claim}: {change.old.verdict} → {change.new.verdict}" for change in diff.flipped),
        kernels=tuple(f"`{change.variant}`: {words.structure(change)}" for change in exchanged),
        slower=slower, faster=faster, quiet=len(diff.timings) - len(diff.significant),
        markdown=run_markdown(diff, f"`{new}`"),
    )
