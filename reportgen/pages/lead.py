"""What the front page says beside the ranking's sentences (`questions.lead`): what to change in one's code."""

from __future__ import annotations

from dataclasses import dataclass

from ..analysis import RunFacts
from ..questions import why_words
from ..questions.lead import by_hand, by_hand_saves, picks_the_fastest
from ..questions.model import Advised, Leads
from ..questions.right_words import CAUSAL, unless, unsafe_list
from ..run import DEFAULT
from .finding import worth
from .site import Site

RIGHT = "default-right"
"""The claim whose advice stands before all other: right before fast."""
ACTIONABLE = ("flash-fastest", "sdpa-pin", "cudnn-cpu-cost", "math-slower", "memcpy-hidden", "compiled-faster", "baddbmm-faster", "scaled-q-faster", "mask-broadcast", "math-mask-rebuilt",
              "math-safe-softmax")
"""The claims whose advice a busy engineer can act on today, in that order; the rest is on the findings' pages."""


@dataclass(frozen=True)
class Step:
    """A piece of advice on the front page, with the finding behind it; `saves` is empty where this run shows no saving per forward."""

    text: str
    saves: str
    title: str
    target: str
    worth: float


def advice(site: Site, facts: RunFacts) -> list[Step]:
    """What to change in one's code, each once: what saves most stands first. What comes out wrong stands in the page's own list; where there are traps alone, before all else.

    Nobody is told to pin what PyTorch picks by itself.
    """
    outcomes, hand = site.outcomes[facts.slot], by_hand(facts)
    steps = []
    if hand and any(finding.slug == "fastest" for finding in site.findings):
        gain = by_hand_saves(facts)
        steps.append(_step(site, "flash-fastest", Advised(hand, "", saves=gain)))
    for claim in ACTIONABLE:
        if claim in outcomes and outcomes[claim].pieces and not (claim == "flash-fastest" and picks_the_fastest(facts)):
            steps.append(_step(site, claim, min(outcomes[claim].pieces, key=worth)))
    steps += _asked(site, facts)
    first = [_step(site, RIGHT, outcomes[RIGHT].pieces[0])] if RIGHT in outcomes and outcomes[RIGHT].pieces and not unsafe_list(facts) else []
    return list({step.text: step for step in [*first, *sorted(steps, key=lambda step: step.worth)]}.values())


def _asked(site: Site, facts: RunFacts) -> list[Step]:
    """What helps at most of the calls that torch was asked about on this device, with this torch; its saving is that of one call."""
    found = next((one.answers for one in site.folders if one.slug == facts.device.slug and one.answers), None)
    if found is None or found.header.software.get("torch") != facts.software.get("torch"):
        return []
    often = why_words.most_helpful(found.answers)
    if often is None:
        return []
    saves = why_words.often_saves(often)
    limits = unless(facts, Leads(DEFAULT, CAUSAL if often.change.change == "is_causal" else frozenset()), {})
    return [Step(f"{why_words.often_said(often, len(found.answers))} {limits}".rstrip(), saves.short, "Why not flash?", "why.md", -saves.seconds)]


def _step(site: Site, claim: str, piece: Advised) -> Step:
    finding = site.finding_of(claim)
    return Step(piece.says, piece.saves.short if piece.saves else "", finding.title, f"findings/{finding.slug}.md#what-to-do-in-your-code", worth(piece))
