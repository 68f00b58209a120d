"""One kernel fewer in one forward: does the saving add up over a stack of layers?"""

from __future__ import annotations

from typing import Any

from ..analysis import RunFacts
from ..analysis.masking import hidden_copies
from ..numbers.statistics import MAGNITUDE_TOLERANCE, Estimate, compare, magnitude
from ..questions import needs
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, claim, decide, not_measurable
from ..questions.shared import OTHER_SHAPE, other_workload
from ..run import Chains
from ..saying.tables import Table, columns
from ..saying.units import Count, Percent, Ratio, Seconds, difference, plural

PAIR = ("naive", "naive_inplace")

_ADVICE = (Advice("Multiply before you optimise: a saving per layer times the layers of your model, beside the time of the whole "
    "forward, tells whether it is worth a change."),)
_SHARE = Because("share", "The {deep} layers take {total} with the copy and {rest} without it; the saving is {share} of the first. Each layer here is the attention alone, without projections and MLP.")

CASES: dict[str, Case] = {
    
    "probe-failed": not_measurable("the saving over a chain of forwards was not recorded ({reason})."),
    "no-copy": not_measurable("naive shows no copy under `masked_fill` here, so there is no kernel whose saving could add up."),
    "adds-up": Case(
        "holds",
        "The saving adds up: {deep} chained forwards save {deep_saving}, {per_layer} each, {ratio} what a single forward saves ({single}; processes {low} to {high}).",
        because=(_SHARE,), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "adds-up-less": Case(
        "differs",
        "The saving does not add up in full: {deep} chained forwards save {deep_saving}, {per_layer} each, only {ratio} what a single forward saves ({single}; processes {low} to {high}).",
        because=(_SHARE,), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "adds-up-more": Case(
        "differs",
        "The saving more than adds up: {deep} chained forwards save {deep_saving}, {per_layer} each, {ratio} what a single forward saves ({single}; processes {low} to {high}).",
        because=(_SHARE,), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "straddles": Case(
        "within noise",
        "{deep} chained forwards save {per_layer} each and a single one {single}, but the processes ({low} to {high}) lie on both sides of the border at {tolerance}.",
        because=(_SHARE,), caveats=(OTHER_SHAPE,), advice=_ADVICE,
    ),
    "no-saving": Case(
        "within noise",
        "There is nothing to add up: a single forward takes {inplace} in place and {naive} out of place, which this run cannot tell apart.",
        caveats=(OTHER_SHAPE,),
    ),
    "costs": Case(
        "differs",
        "There is no saving to add up: a single forward takes longer in place, {inplace} instead of {naive}.",
        caveats=(OTHER_SHAPE,),
    ),
}


def rule(facts: RunFacts) -> Decision:
    probe = facts.probes.saving_accumulates
    if probe is None:
        return needs.older(facts, "a chain of forwards")
    if not probe.timed:
        return decide("probe-failed", reason=probe.reason or "no times were recorded")
    if not hidden_copies(facts.variants["naive"]):
        return decide("no-copy")
    times, (single, deep) = chains(probe), layers(probe)
    naive, inplace = (times[name, single] for name in PAIR)
    args: dict[str, Any] = {"naive": Seconds(naive.median), "inplace": Seconds(inplace.median), "other_workload": other_workload(facts)}
    found = compare(inplace, naive, facts.floor_of("gpu_time", "naive", "naive_inplace"))
    if found.winner != "first":
        return decide({"tie": "no-saving", "second": "costs"}[found.winner], **args)
    ratio = per_layer(probe)
    whole = times["naive", deep].median
    saving = whole - times["naive_inplace", deep].median
    total, rest, saved = difference(whole, whole - saving)
    args |= {"deep": Count(deep), "deep_saving": saved, "per_layer": Seconds(saving / deep), "single": Seconds(naive.median - inplace.median),
             "ratio": Ratio(ratio.median), "low": Ratio(ratio.low), "high": Ratio(ratio.high), "total": total, "rest": rest,
             "share": Percent(round(100 * saving / whole, 1)), "tolerance": f"±{Percent(100 * MAGNITUDE_TOLERANCE)}"}
    verdict = magnitude(ratio, 1.0)
    return decide({"holds": "adds-up", "straddles": "straddles"}.get(verdict) or ("adds-up-less" if ratio.median < 1 else "adds-up-more"), **args)


def layers(probe: Chains) -> tuple[int, int]:
    """The shortest and the longest chain that was timed."""
    return min(probe.layers), max(probe.layers)


def chains(probe: Chains) -> dict[tuple[str, int], Estimate]:
    """(variant, layers) → time of the whole chain."""
    return {(name, depth): probe.time(name, depth) for name in PAIR for depth in layers(probe)}


def per_layer(probe: Chains) -> Estimate:
    """Saving per layer of the long chain ÷ that of the short one, process by process."""
    times, (single, deep) = chains(probe), layers(probe)
    savings = {depth: [(a - b) / depth for a, b in zip(times["naive", depth].samples, times["naive_inplace", depth].samples)] for depth in (single, deep)}
    return Estimate(tuple(long / short if short else float("inf") for long, short in zip(savings[deep], savings[single])))


def evidence(facts: RunFacts) -> Evidence:
    probe = facts.probes.saving_accumulates
    if probe is None or not probe.timed:
        return Evidence()
    times = chains(probe)
    rows = []
    for depth in layers(probe):
        naive, inplace = (times[name, depth].median for name in PAIR)
        rows.append((Count(depth), *difference(naive, inplace, digits=4), Seconds((naive - inplace) / depth)))
    table = Table(columns("#Chained forwards", "#Naive", "#Naive in place", "#Saved", "#Saved per forward"), tuple(rows),
                  caption=f"Time of the whole chain, median over the processes, taken by {probe.timer or 'an unrecorded timer'}.")
    data = {"labels": [f"{row[0]} chained" for row in rows], "values": [float(row[4]) * 1e6 for row in rows], "low": None, "high": None, "unit": "µs",
            "ids": None, "reference": None, "log": False}
    said = ", ".join(f"{plural(int(row[0]), 'forward')} in a chain {row[4]}" for row in rows)
    chart = Chart("saving-per-layer", "bars", data, alt=f"Time saved per forward by masking in place: {said}.", caption="Saving per forward, in a short chain and in a long one.")
    return Evidence(tables=(table,), charts=(chart,))


FINDING = Finding(
    slug="saving-per-layer",
    title="One kernel fewer, layer after layer",
    question="A model runs its attention once per layer. Does a saving in one forward stay a saving in all of them?",
    questions=(
        claim("saving-accumulates", "One kernel fewer per forward adds up over the layers of a model.", rule, CASES, needs=(needs.lane(*PAIR),)),
    ),
    evidence=evidence,
)
