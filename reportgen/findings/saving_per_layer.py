"""One kernel fewer in one forward: does the saving add up over a stack of layers?"""

from __future__ import annotations

from typing import Any

from ..analysis import RunFacts
from ..analysis.chains import PAIR, Chained, chained, per_layer_ratio
from ..analysis.masking import hidden_copies
from ..analysis.savings import saving
from ..numbers.statistics import MAGNITUDE_TOLERANCE, PROCESSES, Estimate, magnitude
from ..questions import needs
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, claim, decide, not_measurable
from ..questions.needs import too_few
from ..questions.ranked import timer_said
from ..questions.shared import OTHER_SHAPE, other_workload
from ..saying.tables import Table, columns
from ..saying.units import Count, Percent, Ratio, Seconds, difference, plural

DIGITS = 4
"""Of what a chain takes and saves, in the sentence as in the table: rounded in two ways one saving would have two figures."""
_ADVICE = (Advice("Before you optimise, multiply the saving per layer by your layers and compare it with the whole "
    "forward."),)
_APART = Because("apart", "Timed apart from the chains, in one forward replayed by itself, in place saves {apart}: another measurement of the same.")
_SHARE = Because("share", "{deep} layers take {total} with the copy and {rest} without: {share} less. A layer here is attention only, without projections and MLP.")

CASES: dict[str, Case] = {
    "probe-failed": not_measurable("the saving over a chain of forwards was not recorded ({reason})."),
    "no-copy": not_measurable("naive shows no copy under `masked_fill` here, so there is no saving to add up."),
    "adds-up": Case(
        "holds",
        "The saving adds up: {deep} chained forwards save {deep_saving}, {per_layer} each, which is {ratio} what a chain of one saves ({single}; {processes}).",
        because=(_SHARE, _APART), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "adds-up-less": Case(
        "differs",
        "The saving adds up only in part: {deep} chained forwards save {deep_saving}, {per_layer} each, which is {ratio} what a chain of one saves ({single}; {processes}).",
        because=(_SHARE, _APART), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "adds-up-more": Case(
        "differs",
        "The saving more than adds up: {deep} chained forwards save {deep_saving}, {per_layer} each, which is {ratio} what a chain of one saves ({single}; {processes}).",
        because=(_SHARE, _APART), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "costs-deep": Case(
        "differs",
        "The saving does not add up: a single forward saves {single}, but {deep} chained forwards take {deep_more} longer in place, {each_more} each ({processes} "
        "the single saving).",
        caveats=(OTHER_SHAPE,),
    ),
    "straddles": Case(
        "within noise",
        "{deep} chained forwards {deep_each} {single}, but the processes ({low} to {high}) straddle {tolerance}.",
        because=(_SHARE, _APART), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "no-saving": Case(
        "within noise",
        "There is nothing to add up: this run cannot tell a single forward in place ({inplace}) from one out of place ({naive}).",
        caveats=(OTHER_SHAPE,),
    ),
    "costs": Case(
        "differs",
        "There is no saving to add up: a single forward takes longer in place, {inplace} instead of {naive}.",
        caveats=(OTHER_SHAPE,),
    ),
}


def rule(facts: RunFacts) -> Decision:
    probe, found = facts.probes.saving_accumulates, chained(facts)
    if probe is None:
        return needs.older(facts, "a chain of forwards")
    if found is None:
        return decide("probe-failed", reason=(probe.reason or "no times were recorded").rstrip("."))
    if not hidden_copies(facts.variants["naive"]):
        return decide("no-copy")
    single, deep = found
    if len(single.compared.ratio.samples) < PROCESSES:
        return too_few(len(single.compared.ratio.samples))
    args: dict[str, Any] = {"naive": Seconds(single.naive.median), "inplace": Seconds(single.inplace.median), "other_workload": other_workload(facts)}
    if single.compared.winner != "second":
        return decide({"tie": "no-saving", "first": "costs"}[single.compared.winner], **args)
    ratio = per_layer_ratio(single, deep)
    total, rest, saved = difference(deep.naive.median, deep.inplace.median, digits=DIGITS)
    args |= {"deep": Count(deep.layers), "deep_saving": saved, "per_layer": Seconds(deep.per_layer), "single": Seconds(single.saved),
             "ratio": Ratio(ratio.median), "processes": _processes(ratio, told=deep.saved >= 0), "low": Ratio(ratio.low), "high": Ratio(ratio.high), "total": total, "rest": rest,
             "share": Percent(round(100 * deep.saved / deep.naive.median, 1)) if deep.saved > 0 else None, "deep_more": Seconds(-deep.saved),
             "each_more": Seconds(-deep.per_layer), "apart": _apart(facts, Seconds(single.saved)), "deep_each": _each(deep), "tolerance": f"±{Percent(100 * MAGNITUDE_TOLERANCE)}"}
    verdict = magnitude(ratio, 1.0)
    less = "costs-deep" if deep.saved < 0 else "adds-up-less"
    return decide({"holds": "adds-up", "straddles": "straddles"}.get(verdict) or (less if ratio.median < 1 else "adds-up-more"), **args)


def _apart(facts: RunFacts, single: Seconds) -> str | None:
    """What the forwards timed for all other pages save, where that reads otherwise than a chain of one."""
    other = saving(facts, *PAIR)
    said = (other.said or str(Seconds(other.seconds))) if other else None
    return None if said == str(single) else said


def _processes(ratio: Estimate, told: bool) -> str:
    """`processes 0.997× to 1.00×`; where they read alike `in every process`. told: the sentence has given the ratio already."""
    low, high = str(Ratio(ratio.low)), str(Ratio(ratio.high))
    if low != high:
        return f"processes {low} to {high}"
    return "in every process" if told else f"in every process {low}"


def _each(deep: Chained) -> str:
    if deep.saved < 0:
        return f"cost {Seconds(-deep.per_layer)} more each in place, while a single one saves"
    return f"save {Seconds(deep.per_layer)} each and a single one"


def evidence(facts: RunFacts) -> Evidence:
    probe, found = facts.probes.saving_accumulates, chained(facts)
    if probe is None or found is None:
        return Evidence()
    rows = tuple((Count(one.layers), *_cells(one)) for one in found)
    table = Table(columns("#Chained forwards", "#Naive", "#Naive in place", "#Saved", "#Saved per forward"), rows,
                  caption=f"Time of the whole chain: median over the processes, by {timer_said(probe.timer)}.")
    return Evidence(tables=(table,), charts=_chart(found))


def _cells(one: Chained) -> tuple[object, ...]:
    naive, inplace, saved = difference(one.naive.median, one.inplace.median, digits=DIGITS)
    if one.compared.winner == "tie":
        return naive, inplace, "not told apart", "not told apart"
    if one.saved < 0:
        return naive, inplace, f"nothing: {saved.removeprefix('-')} more", f"nothing: {Seconds(-one.per_layer)} more"
    return naive, inplace, saved, Seconds(one.per_layer)


def _chart(found: tuple[Chained, Chained]) -> tuple[Chart, ...]:
    """What is saved per forward; nothing where a chain saves nothing, or nothing that its processes tell from noise."""
    if any(one.compared.winner != "second" for one in found):
        return ()
    data = {"labels": [f"{Count(one.layers)} chained" for one in found], "values": [one.per_layer * 1e6 for one in found], "low": None, "high": None, "unit": "µs",
            "ids": None, "reference": None}
    said = ", ".join(f"{plural(one.layers, 'forward')} in a chain {Seconds(one.per_layer)}" for one in found)
    return (Chart("saving-per-layer", "bars", data, alt=f"Time saved per forward by masking in place: {said}.", caption="Saving per forward in a chain of one and of many."),)


FINDING = Finding(
    slug="saving-per-layer",
    title="One kernel fewer, layer after layer",
    question="Does a saving in one layer add up over all layers of a model?",
    questions=(
        claim("saving-accumulates", "One kernel fewer per forward adds up over the layers of a model.", rule, CASES, needs=(needs.lane(*PAIR), needs.ops(*PAIR))),
    ),
    evidence=evidence,
)
