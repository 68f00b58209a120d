"""The claim that the score matrix's round trips dominate: which steps take the time, and how much of it moving bytes accounts for."""

from __future__ import annotations

from dataclasses import replace

from ..analysis import RunFacts, VariantFacts
from ..analysis.ranking import faster
from ..analysis.roofline import arithmetic_share, forwards, ridge
from ..analysis.round_trips import Lead, RoundTrips, Slack, Weight, round_trips
from ..analysis.savings import saving
from ..analysis.traffic import scores_in_memory
from ..questions import needs
from ..questions.limit_words import BEYOND_CACHE, percent
from ..questions.model import Advice, Because, Case, Decision, Leads, Question, claim, decide, not_measurable
from ..questions.shared import OTHER_SHAPE, other_workload
from ..saying.units import Seconds, listed, significant
from .counted_bytes import COUNTED, counted_args

PAIR = ("naive_inplace", "sdpa_math")

_BECAUSE = (
    Because("inplace_slack", "Naive in place runs below copy speed in {inplace_slack}."),
    Because("math_slack", "SDPA math runs below copy speed in {math_slack}."),
    Because("inplace_flop", "At matmul speed, naive in place's FLOP would take {inplace_flop} of its time."),
    Because("math_flop", "At matmul speed, SDPA math's FLOP would take {math_flop} of its time."),
    Because("inplace_side", "Naive in place lies {inplace_side}."),
    Because("math_side", "SDPA math lies {math_side}."),
    *COUNTED,
)
_CAVEATS = (OTHER_SHAPE, Because("modelled", "No hardware counter ran: bytes are modelled from shapes."))
_USE_FUSED = Advice("Use a fused backend wherever you can. It makes no pass over the score matrix; the time of these passes grows with the square of the sequence length.",
                    needs="fused", leads=Leads("fused"), saves="saves")
_ALONE = Advice("Bandwidth alone does not predict this code's time: {far_below} far below copy speed.", needs="far_below")
_BANDWIDTH = replace(_ALONE, more="A fused backend has no such passes.", more_needs="fused", more_leads=Leads("fused"))
"""fused: a backend that is right, faster than both and whose scores take no memory."""

_TIMES = "{inplace_passes} against {inplace_matmuls} of the GPU time in naive in place, {math_passes} against {math_matmuls} in SDPA math"
_BYTES = "At copy speed, moving all bytes would take {inplace_share} and {math_share} of the time."

HBM_CASES: dict[str, Case] = {
    "dominates": Case("holds", f"Passes over the score matrix take more time than the matmuls: {_TIMES}. {_BYTES}",
                      because=_BECAUSE, caveats=_CAVEATS, advice=(_USE_FUSED, _ALONE)),
    "bytes-account-for-less": Case(
        "differs", f"Passes over the score matrix take more time than the matmuls ({_TIMES}), but bytes explain less than {{rules[half]}} of the time in {{less}}. {_BYTES}",
        because=_BECAUSE, caveats=_CAVEATS, advice=(_BANDWIDTH,)),
    "matmuls-lead": Case("differs", f"The matmuls take more time than the passes over the score matrix in {{led}}: passes take {_TIMES}. {_BYTES}",
                         because=_BECAUSE, caveats=_CAVEATS),
    "on-the-line": Case("within noise", f"This run cannot tell whether round trips dominate: passes over the score matrix take {_TIMES} for the matmuls. {_BYTES} {{counted}}",
                        because=_BECAUSE, caveats=_CAVEATS, advice=(_BANDWIDTH,)),
    "not-modelled": not_measurable("{unknown_inplace} of naive in place's GPU time and {unknown_math} of SDPA math's goes into steps whose bytes are unknown."),
}


def hbm_rule(facts: RunFacts) -> Decision:
    found = {name: trips for name in PAIR if (trips := round_trips(facts, facts.variants[name]))}
    if len(found) < len(PAIR):
        return needs.no_ceilings(facts)
    args = _args(facts, found)
    leads, weights = ({name: getattr(trips, what) for name, trips in found.items()} for what in ("lead", "weight"))
    if Lead.MATMULS in leads.values():
        return decide("matmuls-lead", **args, led=_titles(facts, leads, Lead.MATMULS))
    if Weight.LESS in weights.values() and set(leads.values()) == {Lead.PASSES}:
        return decide("bytes-account-for-less", **args, less=_titles(facts, weights, Weight.LESS))
    if Lead.OPEN in leads.values() or Weight.OPEN in weights.values():
        return decide("not-modelled", **args)
    return decide("dominates" if set(leads.values()) == {Lead.PASSES} and set(weights.values()) == {Weight.MOST} else "on-the-line", **args, counted=_both(found))


def _titles(facts: RunFacts, found: dict[str, object], wanted: object) -> str:
    return listed([{"naive_inplace": "naive in place"}.get(name, facts.variants[name].title) for name, value in found.items() if value is wanted])


def _both(found: dict[str, RoundTrips]) -> str:
    """Counted and requested bytes beside each other, where both are known."""
    inplace, math = (found[name] for name in PAIR)
    if not (inplace.counted and math.counted and inplace.modelled and math.modelled):
        return ""
    return (f"These bytes were counted; with requested bytes it would be {percent(inplace.modelled / inplace.time)} and {percent(math.modelled / math.time)}.")


def _args(facts: RunFacts, found: dict[str, RoundTrips]) -> dict[str, object]:
    args: dict[str, object] = {}
    for prefix, name in zip(("inplace", "math"), PAIR):
        trips, variant = found[name], facts.variants[name]
        flop = arithmetic_share(facts, variant)
        args |= {f"{prefix}_passes": percent(trips.passes / trips.total), f"{prefix}_matmuls": percent(trips.matmuls / trips.total), f"{prefix}_share": percent(trips.share),
                 f"unknown_{prefix}": percent(trips.unknown / trips.total), f"{prefix}_slack": listed([_left(one) for one in trips.below]),
                 f"{prefix}_flop": None if flop is None else percent(flop), f"{prefix}_side": _side(facts, variant)}
    sparing = _sparing(facts)
    far = [one.role for one in found[PAIR[0]].below if one.far_below and one.role != "matmul"]
    return {**args, **counted_args(*(facts.variants[name] for name in PAIR)), "far_below": f"{listed(far)} {'run' if len(far) > 1 else 'runs'}" if far else None,
            "modelled": not all(trips.counted for trips in found.values()), "fused": bool(sparing), "saves": saving(facts, PAIR[0], sparing[0]) if sparing else None, "other_workload": other_workload(facts)}


def _left(one: Slack) -> str:
    return f"{one.role} ({Seconds(one.taken)}, at copy speed {Seconds(one.by_bytes)})"


def _side(facts: RunFacts, variant: VariantFacts) -> str | None:
    """`left of the ridge (15.8 of 184 FLOP per byte), so memory sets its limit`; `None` where bytes, work or unit are not known."""
    point = next((one for one in forwards(facts) if one.variant is variant), None)
    border = ridge(facts, point) if point else None
    if point is None or border is None:
        return None
    left = point.intensity < border
    return (f"{'left' if left else 'right'} of the ridge ({significant(point.intensity)} FLOP per byte, the ridge is at {significant(border)}): "
            f"{'memory' if left else 'arithmetic'} sets its roof")


def _sparing(facts: RunFacts) -> tuple[str, ...]:
    """The fused backends that are faster than naive in place and math and, by peak memory and counters where there are any, keep no scores in memory."""
    quicker = [name for name in faster(facts, "naive_inplace") if name in faster(facts, "sdpa_math")]
    return tuple(name for name in quicker if not scores_in_memory(facts, facts.variants[name]))


CLAIM: Question = claim("hbm-dominates", "Without fusion, the score matrix's round trips to HBM dominate, not the matmuls.", hbm_rule, HBM_CASES,
                        needs=(needs.lane(*PAIR), BEYOND_CACHE))
