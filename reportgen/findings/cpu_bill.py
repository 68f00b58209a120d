"""The CPU's bill: what calling a fused backend costs the host, and whether fewer ops cost less."""

from __future__ import annotations

from itertools import combinations

from ..analysis import FUSED, SIX, RunFacts, VariantFacts, published
from ..numbers.statistics import Estimate, compare
from ..questions import needs
from ..questions.bar_charts import time_bars
from ..questions.model import Advice, Because, Case, Decision, Evidence, Finding, claim, decide
from ..questions.needs import unmet
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.tables import Table, columns
from ..saying.units import Count, Percent, Ratio, Seconds, extent, listed
from .rankings import interval, measured, order, ranges, said, standing, time_of

CUDNN = "sdpa_cudnn"
_SHOWN = (
    Because("profiled", "Under the profiler, which the article read, the CPU times are {profiled} over the recorded forwards of one process{profiled_order}."),
    Because("first", "The first call, after context, allocator and handles are there, loads kernels and, for cuDNN, builds a plan; over the processes it takes: {first}."),
    Because("first_alone", "Where each of them ran before all other variants of its process, it takes: {first_alone}."),
    Because("new_shape", "At a shape not seen before, the first call takes: {new_shape}."),
)
_HOST = (Because("host_floor", "Host time varies between runs: whole runs of the same code lie up to {host_floor} apart here. The ratios of the three inside a run moved by up to {ratio_floor}, and only differences beyond that of their own pair count."),
         Because("no_host_floor", "Host time varies between runs, and this run does not know by how much: its own processes alone decide."))
_COST_CAVEATS = (*_HOST, Because("first", "A first call depends on the order: the variants share processes, and what several of them need is loaded by the one that comes first."), OTHER_SHAPE)
_ADVICE = (Advice("Pay the first call before it matters: warm each shape up once per thread at start-up, and keep the number of shapes "
    "small.",
    "Where the CPU is what you wait for, capture the forward in a CUDA graph: one launch of the graph is then all that is "
    "left to pay for."),)

COST_CASES: dict[str, Case] = {
    
    "costs-most": Case(
        "holds",
        "cuDNN costs the most CPU time of the three in the steady state, with {software}: {times} per call.",
        because=_SHOWN, caveats=_COST_CAVEATS, advice=_ADVICE),
    "another-costs-more": Case(
        "differs",
        "cuDNN does not cost the most CPU time in the steady state, with {software}: {dearer} costs more ({times} per call).",
        because=_SHOWN, caveats=_COST_CAVEATS, advice=_ADVICE),
    "tie": Case(
        "within noise",
        "Which of the three costs the most CPU time in the steady state cannot be told apart, with {software}: cuDNN ties with {ties} ({times} per call).",
        because=_SHOWN, caveats=_COST_CAVEATS, advice=_ADVICE),
}


def cost_rule(facts: RunFacts) -> Decision:
    by_cost = tuple(reversed(order(facts, FUSED, "host_time")))
    place = standing(facts, CUDNN, FUSED, "host_time")
    args = {"times": said(by_cost, "host_time"), "dearer": listed([variant.title for variant in place.slower]),
            "ties": listed([variant.title for variant in place.ties]), "software": software(facts, "torch", "cudnn"),
            "other_workload": other_workload(facts), **host_noise(facts), **_beside(facts, by_cost)}
    if place.slower:
        return decide("another-costs-more", **args)
    return decide("tie" if place.ties else "costs-most", **args)


def _beside(facts: RunFacts, by_cost: tuple[VariantFacts, ...]) -> dict[str, object]:
    """Profiled times, first calls: shown beside the verdict, never deciding it."""
    args: dict[str, object] = {}
    for name, quantity in (("profiled", "profiled_host_time"), ("first", "first_call"), ("new_shape", "first_call_new_shape")):
        ranked = tuple(reversed(order(facts, FUSED, quantity)))
        args[name] = ranges(ranked, quantity) if len(ranked) == len(FUSED) else None
        if quantity == "profiled_host_time" and ranked:
            args["profiled_order"] = _profiled_order(facts, ranked)
    alone = [(variant.title, variant.first_call_alone) for variant in by_cost if variant.first_call_alone is not None]
    args["first_alone"] = listed([f"{title} {_extent(time)}" for title, time in alone]) if len(alone) == len(FUSED) else None
    return args


def _profiled_order(facts: RunFacts, ranked: tuple[VariantFacts, ...]) -> str:
    """How the order under the profiler, dearest first, stands to the unprofiled one. Forwards of one process allow no test: only disjoint ranges are an order."""
    unlike, alike, agreeing = [], [], 0
    for dear, cheap in combinations(ranked, 2):
        if dear.profiled_host_time.low <= cheap.profiled_host_time.high:  # type: ignore[union-attr]
            alike.append(f"{dear.title} from {cheap.title}")
            continue
        winner = compare(cheap.host_time, dear.host_time, facts.floor_of("host_time", cheap.id, dear.id)).winner  # type: ignore[arg-type]
        agreeing += winner == "first"
        if winner == "second":
            unlike.append(f"{dear.title} above {cheap.title}")
    if not unlike and not alike:
        return ", the same order" if agreeing == len(ranked) * (len(ranked) - 1) // 2 else ""
    return (f"; the other way round than without it: {listed(unlike)}" if unlike else "") + (f"; their ranges overlap, so they do not tell {listed(alike)}" if alike else "")


def host_noise(facts: RunFacts) -> dict[str, object]:
    """The same-code floor of host time where this device has one."""
    floor = facts.floors.get("host_time")
    ratio = max((facts.floor_of("host_time", *pair) for pair in combinations(FUSED, 2)), default=0.0)
    return {"host_floor": Percent(round(100 * floor, 1)) if floor else None, "ratio_floor": Percent(round(100 * ratio, 1)), "no_host_floor": not floor}


FEWER_CASES: dict[str, Case] = {
    
    "fewer-and-dearer": Case(
        "holds",
        "Fewer ops do not mean less CPU work, with {software}: {pairs}.",
        because=(Because("agreeing", "Not every pair says so: {agreeing}."),),
        caveats=(*_HOST, OTHER_SHAPE),
        advice=(Advice("Do not count ops to estimate CPU time.",
                "Time the call itself, without the profiler: a library works inside one op where no op is shown."),)),
    "agree": Case(
        "differs",
        "Here fewer ops go with less CPU time, with {software}: {agreeing}.",
        caveats=(*_HOST, OTHER_SHAPE, Because("ties", "Not told apart: {ties}.")),
        advice=(Advice("Take it as this run's coincidence rather than a rule, and time the call itself, without the profiler."),)),
    "tie": Case(
        "within noise",
        "No two fused backends with different numbers of ops differ in CPU time beyond this run's noise, with {software}: {ties}.",
        caveats=(*_HOST, OTHER_SHAPE),
        advice=(Advice("Choose by GPU time here: the CPU costs of the fused backends are too close to tell apart."),)),
}


def fewer_rule(facts: RunFacts) -> Decision:
    ran = [variant for variant in measured(facts, FUSED, "host_time") if variant.op_count is not None]
    dearer, agreeing, ties = _pairs(facts, ran)
    args = {"pairs": "; ".join(dearer), "agreeing": "; ".join(agreeing), "ties": "; ".join(ties), "software": software(facts, "torch", "cudnn"),
            "other_workload": other_workload(facts), **host_noise(facts)}
    if dearer:
        return decide("fewer-and-dearer", **args)
    # a pair that was not seen could still have shown it
    blocked = unmet(facts, needs.timed("host_time", *reversed(FUSED)), needs.ops(*FUSED))
    if blocked:
        return blocked
    return decide("agree" if agreeing else "tie", **args)


def _pairs(facts: RunFacts, ran: list[VariantFacts]) -> tuple[list[str], list[str], list[str]]:
    """Sentences about pairs with different op counts: fewer ops cost more, fewer cost less, not told apart."""
    dearer, agreeing, ties = [], [], []
    for one, other in combinations(ran, 2):
        if one.op_count == other.op_count:
            continue
        few, many = sorted((one, other), key=lambda variant: variant.op_count or 0)
        winner = compare(few.host_time, many.host_time, facts.floor_of("host_time", few.id, many.id)).winner  # type: ignore[arg-type]
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
    titles = ["Variant", "#First call", "#First call at a new shape", "#Steady state", "#First ÷ steady"]
    rows = [[v.title, _extent(v.first_call), _extent(v.first_call_new_shape), _median(v, "host_time"), _times(v)] for v in shown]
    if any(v.first_call_alone is not None for v in shown):
        titles.insert(2, "#Where it ran before all other variants")
        for variant, row in zip(shown, rows):
            row.insert(2, _extent(variant.first_call_alone))
    return Table(columns(*titles), tuple(tuple(row) for row in rows), caption="The first call loads and plans; the calls after it do not.",
                 notes=("First calls: the smallest to the largest of the processes, after context, allocator and handles are there. "
                        "The variants share a process, so the one that comes first loads what others need as well.",))


def _extent(time: Estimate | None) -> str | None:
    return None if time is None else extent(time.low, time.high)


def _median(variant: VariantFacts, quantity: str) -> Seconds | None:
    time = time_of(variant, quantity)  # type: ignore[arg-type]
    return None if time is None else Seconds(time.median)


def _times(variant: VariantFacts) -> str | None:
    """The first call over the steady state, process by process: smallest to largest."""
    first, steady = variant.first_call, variant.host_time
    if not first or not steady or len(first.samples) != len(steady.samples):
        return None
    ratios = [one / other for one, other in zip(first.samples, steady.samples)]
    return f"{Ratio(min(ratios))} to {Ratio(max(ratios))}"


def _seconds(value: float | None) -> Seconds | None:
    return None if value is None else Seconds(value)


FINDING = Finding(
    slug="cpu-bill",
    title="The CPU's bill",
    question="A fused backend is one kernel on the GPU. What does it cost the CPU to ask for it?",
    questions=(
        claim("cudnn-cpu-cost", "cuDNN costs the most CPU time of the three fused backends.", cost_rule, COST_CASES, needs=(needs.timed("host_time", *reversed(FUSED)),)),
        claim("fewer-ops-not-less-cpu", "Fewer ATen ops do not mean less CPU work.", fewer_rule, FEWER_CASES),
    ),
    evidence=evidence,
)
