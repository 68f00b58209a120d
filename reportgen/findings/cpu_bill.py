"""The CPU's bill: what calling a fused backend costs the host, and whether fewer ops cost less."""

from __future__ import annotations

from itertools import combinations

from .. import published
from ..facts import FUSED, SIX, RunFacts, VariantFacts
from ..statistics import compare
from ..tables import Table, columns
from ..units import Count, Ratio, Seconds, listed
from .bar_charts import time_bars
from .base import NOT_RECORDED, UNAVAILABLE, Because, Case, Claim, Decision, Evidence, Finding, decide, missing_variant, not_recorded
from .one_kernel import OTHER_SHAPE, other_workload, software
from .rankings import interval, measured, order, said, standing, time_of

CUDNN = "sdpa_cudnn"
_SHOWN = (
    Because("profiled", "Under the profiler, which the article read, the CPU times are {profiled}{profiled_order}."),
    Because("first", "The first call, which includes all that is done only once, takes: {first}."),
    Because("new_shape", "At a shape not seen before, the first call takes: {new_shape}."),
)
_ADVICE = ("Pay the first call before it matters: warm each shape up once per thread at start-up, and keep the number of shapes small. "
           "Where the CPU is what you wait for, capture the forward in a CUDA graph, which leaves no call to pay for.")

COST_CASES: dict[str, Case] = {
    **UNAVAILABLE, **NOT_RECORDED,
    "costs-most": Case(
        "holds",
        "cuDNN costs the most CPU time of the three in the steady state, with {software}: {times} per call.",
        because=_SHOWN, caveats=(OTHER_SHAPE,), advice=_ADVICE),
    "another-costs-more": Case(
        "differs",
        "cuDNN does not cost the most CPU time in the steady state, with {software}: {dearer} costs more ({times} per call).",
        because=_SHOWN, caveats=(OTHER_SHAPE,), advice=_ADVICE),
    "tie": Case(
        "within noise",
        "Which of the three costs the most CPU time in the steady state cannot be told apart, with {software}: cuDNN ties with {ties} ({times} per call).",
        because=_SHOWN, caveats=(OTHER_SHAPE,), advice=_ADVICE),
}


def cost_rule(facts: RunFacts) -> Decision:
    blocked = missing_variant(facts, *reversed(FUSED)) or _without_host_time(facts, FUSED)
    if blocked:
        return blocked
    by_cost = tuple(reversed(order(facts, FUSED, "host_time")))
    place = standing(facts, CUDNN, FUSED, "host_time")
    args = {"times": said(by_cost, "host_time"), "dearer": listed([variant.title for variant in place.slower]),
            "ties": listed([variant.title for variant in place.ties]), "software": software(facts, "torch", "cudnn"),
            "other_workload": other_workload(facts), **_beside(facts, by_cost)}
    if place.slower:
        return decide("another-costs-more", **args)
    return decide("tie" if place.ties else "costs-most", **args)


def _without_host_time(facts: RunFacts, names: tuple[str, ...]) -> Decision | None:
    if len(measured(facts, names, "host_time")) < len(names):
        return not_recorded(facts, "host time")
    return None


def _beside(facts: RunFacts, by_cost: tuple[VariantFacts, ...]) -> dict[str, object]:
    """Profiled times, first calls: shown beside the verdict, never deciding it."""
    args: dict[str, object] = {}
    for name, quantity in (("profiled", "profiled_host_time"), ("first", "first_call"), ("new_shape", "first_call_new_shape")):
        ranked = tuple(reversed(order(facts, FUSED, quantity)))
        args[name] = said(ranked, quantity) if len(ranked) == len(FUSED) else None
        if quantity == "profiled_host_time" and ranked:
            same = [variant.id for variant in ranked] == [variant.id for variant in by_cost]
            args["profiled_order"] = ", the same order" if same else ", another order of medians"
    return args


FEWER_CASES: dict[str, Case] = {
    **UNAVAILABLE, **NOT_RECORDED,
    "fewer-and-dearer": Case(
        "holds",
        "Fewer ops do not mean less CPU work, with {software}: {pairs}.",
        because=(Because("agreeing", "Not every pair says so: {agreeing}."),),
        caveats=(OTHER_SHAPE,),
        advice="Do not count ops to estimate CPU time. Time the call itself, without the profiler: a library works inside one op where no op is shown."),
    "agree": Case(
        "differs",
        "Here fewer ops go with less CPU time, with {software}: {agreeing}.",
        caveats=(OTHER_SHAPE, Because("ties", "Not told apart: {ties}.")),
        advice="Take it as this run's coincidence rather than a rule, and time the call itself, without the profiler."),
    "tie": Case(
        "within noise",
        "No two fused backends with different numbers of ops differ in CPU time beyond this run's noise, with {software}: {ties}.",
        caveats=(OTHER_SHAPE,),
        advice="Choose by GPU time here: the CPU costs of the fused backends are too close to tell apart."),
}


def fewer_rule(facts: RunFacts) -> Decision:
    ran = [variant for variant in measured(facts, FUSED, "host_time") if variant.op_count is not None]
    dearer, agreeing, ties = _pairs(facts, ran)
    args = {"pairs": "; ".join(dearer), "agreeing": "; ".join(agreeing), "ties": "; ".join(ties), "software": software(facts, "torch", "cudnn"),
            "other_workload": other_workload(facts)}
    if dearer:
        return decide("fewer-and-dearer", **args)
    # a pair that was not seen could still have shown it
    blocked = missing_variant(facts, *reversed(FUSED)) or _without_host_time(facts, FUSED)
    if blocked:
        return blocked
    if len(ran) < len(FUSED):
        return not_recorded(facts, "the list of CPU ops")
    return decide("agree" if agreeing else "tie", **args)


def _pairs(facts: RunFacts, ran: list[VariantFacts]) -> tuple[list[str], list[str], list[str]]:
    """Sentences about pairs with different op counts: fewer ops cost more, fewer cost less, not told apart."""
    dearer, agreeing, ties = [], [], []
    for one, other in combinations(ran, 2):
        if one.op_count == other.op_count:
            continue
        few, many = sorted((one, other), key=lambda variant: variant.op_count or 0)
        winner = compare(few.host_time, many.host_time, facts.floor).winner  # type: ignore[arg-type]
        target = {"second": dearer, "first": agreeing, "tie": ties}[winner]
        target.append(f"{few.title} takes {_bill(few)} ops, {many.title} {_bill(many)}")
    return dearer, agreeing, ties


def _bill(variant: VariantFacts) -> str:
    return f"{Seconds(variant.host_time.median)} with {Count(variant.op_count or 0)}"  # type: ignore[union-attr]


def evidence(facts: RunFacts) -> Evidence:
    shown = measured(facts, SIX, "host_time")
    if not shown:
        return Evidence()
    fused = measured(facts, FUSED, "host_time")
    charts = (
        *time_bars("cpu-bill-host", [(v, v.host_time) for v in shown], "Host time per call in the steady state, unprofiled",
                   "Host time per call (bars) beside the GPU time that it queues (marks).",
                   reference=[v.gpu_time.median if v.gpu_time else None for v in shown], reference_label="GPU time"),
        *time_bars("cpu-bill-profiled", [(v, v.profiled_host_time) for v in fused], "CPU time of one forward under the profiler",
                   "CPU time of one forward under the profiler (bars), beside the article's (marks).",
                   reference=[published.of(v.id, "cpu_time") for v in fused]),
    )
    return Evidence(tables=(_bill_table(shown), _first_table(shown)), charts=charts)


def _bill_table(shown: tuple[VariantFacts, ...]) -> Table:
    rows = tuple((v.title, None if v.op_count is None else Count(v.op_count), interval(v.host_time), interval(v.profiled_host_time),
                  _seconds(published.of(v.id, "cpu_time")), _median(v, "gpu_time"), _median(v, "wall_time")) for v in shown)
    titles = columns("Variant", "#CPU ops", "#Host time, unprofiled", "#CPU time, profiled", "#The article's (profiled)", "#GPU time", "#Wall time")
    return Table(titles, rows, caption="What one call costs the CPU in the steady state, beside the GPU time that it queues.",
                 notes=("Medians over fresh processes, with the smallest and the largest; profiled: over the recorded forwards of one process.",))


def _first_table(shown: tuple[VariantFacts, ...]) -> Table:
    rows = tuple((v.title, _median(v, "first_call"), _median(v, "first_call_new_shape"), _median(v, "host_time"), _times(v)) for v in shown)
    return Table(columns("Variant", "#First call", "#First call at a new shape", "#Steady state", "#First ÷ steady"), rows,
                 caption="The first call loads and plans; the calls after it do not.")


def _median(variant: VariantFacts, quantity: str) -> Seconds | None:
    time = time_of(variant, quantity)  # type: ignore[arg-type]
    return None if time is None else Seconds(time.median)


def _times(variant: VariantFacts) -> Ratio | None:
    return Ratio(variant.first_call.median / variant.host_time.median) if variant.first_call and variant.host_time else None


def _seconds(value: float | None) -> Seconds | None:
    return None if value is None else Seconds(value)


FINDING = Finding(
    slug="cpu-bill",
    title="The CPU's bill",
    question="A fused backend is one kernel on the GPU. What does it cost the CPU to ask for it?",
    claims=(
        Claim("cudnn-cpu-cost", "cuDNN costs the most CPU time of the three fused backends.", cost_rule, COST_CASES),
        Claim("fewer-ops-not-less-cpu", "Fewer ATen ops do not mean less CPU work.", fewer_rule, FEWER_CASES),
    ),
    evidence=evidence,
)
