"""Probes that come out otherwise in two runs: the first thing that a comparison names."""

from __future__ import annotations

from ...analysis import RunFacts
from ...analysis.watch import PINS, ProbeFacts
from ...run import DEFAULT
from .model import ProbeFlip

SAID = {"right": "right", "reproduces": "wrong", "refused": "refused", "failed": "broke off"}


def flips(old: RunFacts, new: RunFacts) -> tuple[ProbeFlip, ...]:
    """What both runs tried and what came out otherwise: the unpinned calls first, and of those the ones that are wrong now."""
    before = {one.probe.id: one for one in old.watch.probes}
    found = [flip for one in new.watch.probes if one.probe.id in before for choice in (DEFAULT, *PINS) if (flip := _flip(before[one.probe.id], one, choice))]
    return tuple(sorted(found, key=lambda flip: (flip.choice != DEFAULT, not flip.worse, flip.trap)))


def _flip(old: ProbeFacts, new: ProbeFacts, choice: str) -> ProbeFlip | None:
    before, after = (_came(one, choice) for one in (old, new))
    if before is None or after is None or before == after:
        return None
    return ProbeFlip(new, choice, before, after)


def _came(probe: ProbeFacts, choice: str) -> str | None:
    """`right`, `reproduces`, `refused` or `failed`; a control that is wrong makes the probe wrong."""
    tried = probe.tried(choice)
    if tried is None:
        return None
    return "reproduces" if probe.wrong(choice) else tried.outcome
