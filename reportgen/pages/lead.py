"""What the front page says beside the ranking's sentences (`questions.lead`): where its numbers come from, what to change in one's code."""

from __future__ import annotations

from ..analysis import RunFacts
from ..questions.lead import by_hand, picks_the_fastest
from .site import Site, device_name, software


def introduction(facts: RunFacts) -> str:
    """Where the numbers on the page come from."""
    return f"{device_name(facts)}, {software(facts)}; {facts.workload.describe()}."


ACTIONABLE = ("flash-fastest", "sdpa-pin", "cudnn-cpu-cost", "math-slower", "memcpy-hidden", "math-mask-rebuilt", "math-safe-softmax")
"""The claims whose advice a busy engineer can act on today, in that order; the rest is on the findings' pages."""


def advice(site: Site, facts: RunFacts) -> list[tuple[str, str, str]]:
    """What to change in one's code: (the first piece of a claim's advice, finding's title, page), each once.

    Nobody is told to pin what PyTorch picks by itself.
    """
    outcomes = site.outcomes[facts.slot]
    out: dict[str, tuple[str, str, str]] = {}
    hand = by_hand(facts)
    if hand and any(finding.slug == "fastest" for finding in site.findings):
        out[hand] = (hand, site.finding_of("flash-fastest").title, "findings/fastest.md#what-to-do-in-your-code")
    for claim in ACTIONABLE:
        if claim == "flash-fastest" and picks_the_fastest(facts):
            continue
        if claim in outcomes and outcomes[claim].pieces:
            finding, first = site.finding_of(claim), outcomes[claim].pieces[0].says
            out.setdefault(first, (first, finding.title, f"findings/{finding.slug}.md#what-to-do-in-your-code"))
    return list(out.values())
