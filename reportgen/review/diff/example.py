"""The worked example of the page on reviewing: two recorded runs of one device, under two settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...analysis import RunFacts
from ...questions.model import Outcome
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


def find(runs: Sequence[RunFacts], outcomes: Mapping[str, Mapping[str, Outcome]]) -> Example | None:
    """The first pair of a plain and a labelled run of one device and workload, one that shows a change if there is any.

    Args:
        outcomes: slot → claim → outcome.
    """
    pairs = [(plain, other) for plain in runs for other in runs
             if plain.label is None and other.label and (plain.device.slug, plain.workload) == (other.device.slug, other.workload)]
    diffs = [compare(*(Side(facts, outcomes[facts.slot], facts.extras.get("noise")) for facts in pair)) for pair in pairs]
    best = next((diff for diff in diffs if diff.structure or diff.flipped), diffs[0] if diffs else None)
    return None if best is None else _example(best)


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
