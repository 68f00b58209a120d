"""What the front page says beside the ranking's sentences (`questions.lead`): where its numbers come from, what to change in one's code."""

from __future__ import annotations

from collections.abc import Mapping

from ..analysis import RunFacts
from ..questions.lead import by_hand, picks_the_fastest
from ..questions.model import Outcome
from .site import Site, device_name, software


def introduction(facts: RunFacts) -> str:
    """Where the numbers on the page come from."""
    return f"{device_name(facts)}, {software(facts)}; {facts.workload.describe()}."


RIGHT = "default-right"
"""The claim whose advice stands before all other: right before fast."""
ACTIONABLE = ("flash-fastest", "sdpa-pin", "cudnn-cpu-cost", "math-slower", "memcpy-hidden", "math-mask-rebuilt", "math-safe-softmax")
"""The claims whose advice a busy engineer can act on today, in that order; the rest is on the findings' pages."""


def advice(site: Site, facts: RunFacts) -> list[tuple[str, str, str]]:
    """What to change in one's code: (the first piece of a claim's advice, finding's title, page), each once; what comes out wrong stands first.

    Nobody is told to pin what PyTorch picks by itself.
    """
    outcomes = site.outcomes[facts.slot]
    out: dict[str, tuple[str, str, str]] = {}
    hand = by_hand(facts)
    out |= _first_piece(site, outcomes, RIGHT)
    if hand and any(finding.slug == "fastest" for finding in site.findings):
        out[hand] = (hand, site.finding_of("flash-fastest").title, "findings/fastest.md#what-to-do-in-your-code")
    for claim in ACTIONABLE:
        if claim == "flash-fastest" and picks_the_fastest(facts):
            continue
        out |= _first_piece(site, outcomes, claim)
    return list(out.values())


def _first_piece(site: Site, outcomes: Mapping[str, Outcome], claim: str) -> dict[str, tuple[str, str, str]]:
    if claim not in outcomes or not outcomes[claim].pieces:
        return {}
    finding, first = site.finding_of(claim), outcomes[claim].pieces[0].says
    return {first: (first, finding.title, f"findings/{finding.slug}.md#what-to-do-in-your-code")}
