"""Two runs → one comparison. Pure."""

from __future__ import annotations

from ...analysis import RunFacts, State, VariantFacts
from .conditions import conditions
from .environment import environment
from .flips import flips
from .model import RunDiff, Side, VerdictChange
from .structure import structure
from .timings import timings

ABSENT = (State.RECORDED_BEFORE, State.NOT_TRIED)
"""What a run has nothing to say about."""


def compare(old: Side, new: Side) -> RunDiff:
    """Compares what both runs have; variants that only one has are named, and compared with nothing.

    Both sides are judged by the rules of the code that runs now, so a verdict that differs
    differs because of the evidence.
    """
    before, after = present(old.facts), present(new.facts)
    pairs = [(before[name], after[name]) for name in after if name in before]
    floors = (old.noise, new.noise)
    return RunDiff(
        old, new,
        environment=environment(old.facts, new.facts),
        verdicts=tuple(VerdictChange(claim, before, new.outcomes[claim]) for claim, before in old.outcomes.items()
                       if claim in new.outcomes and (before.verdict, before.case) != (new.outcomes[claim].verdict, new.outcomes[claim].case)),
        structure=tuple(change for pair in pairs for change in structure(*pair)),
        timings=tuple(change for pair in pairs for change in timings(*pair, floors)),
        added=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        probes=flips(old.facts, new.facts),
        conditions=conditions(old.facts, new.facts, [one for one, _ in pairs], [other for _, other in pairs]),
    )


def present(facts: RunFacts) -> dict[str, VariantFacts]:
    """The variants that the run has something to say about; one that was not asked for is as good as absent."""
    return {name: variant for name, variant in facts.variants.items() if variant.state not in ABSENT}
