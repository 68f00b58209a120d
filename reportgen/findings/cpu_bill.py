"""The CPU's bill: what calling a fused backend costs the host, and whether fewer ops cost less."""

from __future__ import annotations

from itertools import combinations

from ..analysis import FUSED, RunFacts, VariantFacts, published
from ..analysis.first_calls import began_the_run, dear, elsewhere
from ..analysis.ranking import Ranking, Standing, rank
from ..analysis.savings import warm_up_saves
from ..numbers.statistics import PROCESSES, Estimate
from ..questions import needs
from ..questions.bar_charts import time_bars
from ..questions.model import Advice, Because, Case, Decision, Evidence, Finding, claim, decide, not_measurable
from ..questions.needs import compared, too_few, unmet
from ..questions.ranked import disagreement, interval, ranges_said, times_said, titles_said
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.tables import Table, columns
from ..saying.units import Count, Percent, Ratio, Seconds, extent, listed, verb

CUDNN = "sdpa_cudnn"
_SHOWN = (
    Because("profiled", "Under the profiler (the article's numbers) the CPU times are {profiled}, over the recorded forwards of one process{profiled_order}."),
    Because("first", "The first call loads kernels and, for cuDNN, builds a plan (context, allocator and handles exist already). Over the processes: {first}."),
    Because("first_alone", "In processes where it ran before all other variants: {first_alone}."),
    Because("new_shape", "First call at a new shape: {new_shape}."),
)
_HOST = (Because("host_floor", "Whole runs of the same code differ by up to {host_floor} in host time here{ratios}."),
         Because("no_host_floor", "Host time varies between runs. By how much was not recorded, so only this run's processes decide."))
_COST_CAVEATS = (*_HOST, Because("first", "First calls depend on the order: the variants share a process, and whichever runs first loads what the others need too."),
                 Because("opening", "Order does not explain everything: in the run's first process, after another variant, the first call takes {opening}; in the other processes {others}."), OTHER_SHAPE)
_GRAPH = "If the CPU is the bottleneck, capture the forward in a CUDA graph: it costs one launch."
_ADVICE = (
    Advice("At start-up, call each shape once per thread to warm it up, and keep the number of shapes small.", _GRAPH,
           needs="dear_shapes", more_needs="graphs", saves="shape_saves"),
    Advice("Warm up once at start-up, so that no request pays for the first call.", _GRAPH, needs="dear_start", more_needs="graphs", saves="start_saves"),
)

COST_CASES: dict[str, Case] = {
    "costs-most": Case(
        "holds",
        "cuDNN costs the most CPU time of the three fused backends in the steady state: {times} per call.",
        because=_SHOWN, caveats=_COST_CAVEATS, advice=_ADVICE),
    "another-costs-more": Case(
        "differs",
        "cuDNN does not cost the most CPU time in the steady state; {dearer} {costs} more ({times} per call).",
        because=_SHOWN, caveats=_COST_CAVEATS, advice=_ADVICE),
    "tie": Case(
        "within noise",
        "Which of the three costs the most CPU time in the steady state cannot be told apart: cuDNN ties with {ties} ({times} per call).",
        because=_SHOWN, caveats=_COST_CAVEATS, advice=_ADVICE),
    "unsteady": Case(
        "within noise",
        "Which of the three costs the most CPU time in the steady state cannot be told: the processes disagree by up to {apart} about {about} ({times} per call).",
        because=_SHOWN, caveats=_COST_CAVEATS, advice=_ADVICE),
}


def cost_rule(facts: RunFacts) -> Decision:
    ranking = rank(facts, "host_time", FUSED)
    place, by_cost = ranking.place(CUDNN), tuple(reversed(ranking.order))
    args = {"times": times_said(facts, ranking, by_cost, brackets=False), "dearer": titles_said(facts, place.slower), "costs": verb(place.slower, "costs", "cost"),
            "ties": titles_said(facts, place.ties), "software": software(facts, "torch", "cudnn"),
            "other_workload": other_workload(facts), **host_noise(facts), **_beside(facts, by_cost), **_first_calls(facts)}
    if place.slower:
        return decide("another-costs-more", **args)
    if place.ties:
        apart = disagreement([ranking.pair(CUDNN, name) for name in place.ties])
        return decide("unsteady" if apart else "tie", **args, apart=apart, about=listed(["cuDNN", *(facts.variants[name].title for name in place.ties)]))
    return decide("costs-most", **args)


def _first_calls(facts: RunFacts) -> dict[str, object]:
    """Whether first calls are dear here, at a new shape too, and whether graphs were captured of all three."""
    three = [facts.variants[name] for name in FUSED]
    shapes, start = (any(dear(variant, quantity) for variant in three) for quantity in ("first_call_new_shape", "first_call"))
    return {"dear_shapes": shapes, "dear_start": start and not shapes, "graphs": all(variant.timer == "cuda-graph" for variant in three),
            "shape_saves": warm_up_saves(facts, FUSED, "first_call_new_shape", "new shape"), "start_saves": warm_up_saves(facts, FUSED, "first_call", "process")}


def _beside(facts: RunFacts, by_cost: tuple[str, ...]) -> dict[str, object]:
    """Profiled times, first calls: shown beside the verdict, never deciding it."""
    args: dict[str, object] = {}
    for name, quantity in (("profiled", "profiled_host_time"), ("first", "first_call"), ("new_shape", "first_call_new_shape")):
        ranked = tuple(reversed(rank(facts, quantity, FUSED).order))
        args[name] = ranges_said(facts, quantity, ranked) if len(ranked) == len(FUSED) else None
        if quantity == "profiled_host_time" and ranked:
            args["profiled_order"] = _profiled_order(facts, ranked)
    alone = all(facts.variants[name].first_call_alone for name in by_cost)
    args |= _opening([facts.variants[name] for name in by_cost])
    args["first_alone"] = ranges_said(facts, "first_call_alone", by_cost) if alone else None
    return args


def _opening(variants: list[VariantFacts]) -> dict[str, object]:
    """First calls that stand apart in the run's first process although another variant had run there before, and those of the other processes."""
    apart = [(variant, variant.times["first_call"].samples[0], rest) for variant in variants if (rest := elsewhere(variant)) and began_the_run(variant) is False]
    return {"opening": listed([f"{Seconds(took)} for {variant.title}" for variant, took, _ in apart]) or None,
            "others": listed([f"{extent(rest.low, rest.high)} for {variant.title}" for variant, _, rest in apart])}


def _profiled_order(facts: RunFacts, ranked: tuple[str, ...]) -> str:
    """How the order under the profiler, dearest first, stands to the unprofiled one. Forwards of one process allow no test: only disjoint ranges are an order."""
    unlike, alike, agreeing = [], [], 0
    for dearer, cheaper in combinations([facts.variants[name] for name in ranked], 2):
        if dearer.times["profiled_host_time"].low <= cheaper.times["profiled_host_time"].high:
            alike.append(f"{dearer.title} from {cheaper.title}")
            continue
        found = facts.compare("host_time", cheaper.id, dearer.id)
        agreeing += found is not None and found.winner == "first"
        if found is not None and found.winner == "second":
            unlike.append(f"{dearer.title} above {cheaper.title}")
    if not unlike and not alike:
        return ", the same order" if agreeing == len(ranked) * (len(ranked) - 1) // 2 else ""
    return (f"; reversed there: {listed(unlike)}" if unlike else "") + (f"; overlapping ranges do not tell {listed(alike)}" if alike else "")


def host_noise(facts: RunFacts) -> dict[str, object]:
    """The same-code floor of host time where this device has one, and how far the ratios of the three moved where that was taken."""
    floor = facts.floors.get("host_time")
    moved = [facts.floors[key] for pair in combinations(sorted(FUSED), 2) if (key := f"host_time {'/'.join(pair)}") in facts.floors]
    ratios = f". Within a run the ratios of the three vary by up to {_tenths(max(moved))}; a difference counts only beyond its pair's own" if moved else ""
    return {"host_floor": _tenths(floor) if floor else None, "ratios": ratios, "no_host_floor": not floor}


def _tenths(share: float) -> Percent:
    return Percent(round(100 * share, 1))


FEWER_CASES: dict[str, Case] = {
    "fewer-and-dearer": Case(
        "holds",
        "Fewer ops do not mean less CPU work: {pairs}.",
        because=(Because("agreeing", "Other pairs do not show it: {agreeing}."),),
        caveats=(*_HOST, OTHER_SHAPE),
        advice=(Advice("Do not estimate CPU time by counting ops.",
                "Time the call without the profiler: a library's work inside one op is invisible in the trace."),)),
    "agree": Case(
        "differs",
        "Here fewer ops do go with less CPU time: {agreeing}.",
        caveats=(*_HOST, OTHER_SHAPE, Because("ties", "Not told apart: {ties}.")),
        advice=(Advice("Do not make it a rule: time the call itself, without the profiler."),)),
    "tie": Case(
        "within noise",
        "No two fused backends with different numbers of ops differ in CPU time beyond this run's noise: {ties}.",
        caveats=(*_HOST, OTHER_SHAPE),
        advice=(Advice("Choose by GPU time: the fused backends' CPU costs cannot be told apart here.", needs="by_gpu_time"),)),
    "equal-counts": not_measurable("all fused backends dispatch the same number of ops here."),
    "unsteady": Case(
        "within noise",
        "Whether fewer ops mean less CPU work cannot be told: the processes disagree by up to {apart} about two fused backends ({ties}).",
        caveats=(*_HOST, OTHER_SHAPE)),
}


def fewer_rule(facts: RunFacts) -> Decision:
    ranking = rank(facts, "host_time", FUSED)
    dearer, agreeing, ties = _pairs(facts, ranking)
    args = {"pairs": _bills(dearer), "agreeing": _bills(agreeing), "ties": _bills(ties), "software": software(facts, "torch", "cudnn"),
            "other_workload": other_workload(facts), **host_noise(facts)}
    if dearer:
        return decide("fewer-and-dearer", **args)
    # a pair that was not seen could still have shown it
    blocked = unmet(facts, needs.timed("host_time", *reversed(FUSED)), needs.ops(*FUSED)) or (too_few(ranking.processes) if ranking.processes < PROCESSES else None)
    if blocked:
        return blocked
    if not (agreeing or ties):
        return decide("equal-counts")
    if agreeing:
        return decide("agree", **args)
    apart = disagreement([ranking.pair(few.id, many.id) for few, many in ties])
    return decide("unsteady" if apart else "tie", **args, apart=apart, by_gpu_time=_gpu_time_decides(facts, ranking))


def _gpu_time_decides(facts: RunFacts, by_host: Ranking) -> bool:
    """Whether no two of the fused backends differ on the CPU, and one of them leads on the GPU."""
    level = all(by_host.pair(one, other).winner is None for one, other in combinations(by_host.order, 2))
    return level and rank(facts, "gpu_time", FUSED).standing is Standing.ONE


_Pairs = list[tuple[VariantFacts, VariantFacts]]


def _pairs(facts: RunFacts, ranking: Ranking) -> tuple[_Pairs, _Pairs, _Pairs]:
    """Pairs with different op counts, fewer ops first: fewer cost more, fewer cost less, not told apart."""
    dearer: _Pairs = []
    agreeing: _Pairs = []
    ties: _Pairs = []
    ran = [facts.variants[name] for name in FUSED if name in ranking.order and facts.variants[name].op_count is not None]
    for pair in combinations(ran, 2):
        few, many = sorted(pair, key=lambda variant: variant.op_count or 0)
        if few.op_count != many.op_count:
            winner = ranking.pair(few.id, many.id).winner
            (ties if winner is None else agreeing if winner == few.id else dearer).append((few, many))
    return dearer, agreeing, ties


def _bills(pairs: _Pairs) -> str:
    return "; ".join(f"{few.title} takes {_bill(few)} ops, {many.title} {_bill(many)}" for few, many in pairs)


def _bill(variant: VariantFacts) -> str:
    return f"{Seconds(variant.times['host_time'].median)} with {Count(variant.op_count or 0)}"


def evidence(facts: RunFacts) -> Evidence:
    shown = [variant for variant in facts.six if variant.ok and variant.host_time]
    if not shown:
        return Evidence()
    fused = [variant for variant in shown if variant.id in FUSED]
    beside, on_gpu = published.same_workload(facts), any(variant.gpu_time for variant in shown)
    charts = (
        *time_bars("cpu-bill-host", [(v, v.host_time) for v in shown], "Host time per call in the steady state, unprofiled",
                   "Host time per call, and the GPU time it queues (marks). An arrow points to a mark beyond the axis." if on_gpu else "Host time per call.",
                   reference=[v.gpu_time.median if v.gpu_time else None for v in shown] if on_gpu else None, reference_label="GPU time" if on_gpu else None),
        *time_bars("cpu-bill-profiled", [(v, v.profiled_host_time) for v in fused], "CPU time of one forward under the profiler",
                   "CPU time of one forward under the profiler; in grey the article's." if beside else "CPU time of one forward under the profiler.",
                   reference=[published.of(v.id, "cpu_time") for v in fused] if beside else None, reference_label="the article" if beside else None, reference_as="beside"),
    )
    return Evidence(tables=(_bill_table(shown, beside, on_gpu), _first_table(shown, on_gpu)), charts=charts)


def _bill_table(shown: list[VariantFacts], beside: bool, on_gpu: bool) -> Table:
    """beside: the article's workload, so that its times may stand here; on_gpu: there are GPU times."""
    heads = ["Variant", "#CPU ops", "#Host time, unprofiled", "#CPU time, profiled", *(["#The article's (profiled)"] if beside else []), "#GPU time", "#Wall time"]
    rows = tuple((v.title, None if v.op_count is None else Count(v.op_count), interval(v.host_time), interval(v.profiled_host_time),
                  *([_seconds(published.of(v.id, "cpu_time"))] if beside else []), _median(v, "gpu_time"), _median(v, "wall_time")) for v in shown)
    return Table(columns(*heads), rows, caption="What one call costs the CPU in the steady state" + (", and the GPU time it queues." if on_gpu else "."),
                 notes=("Medians over fresh processes (smallest to largest); profiled: over the recorded forwards of one process.",))


def _first_table(shown: list[VariantFacts], on_gpu: bool) -> Table:
    titles = ["Variant", "#First call", "#First call at a new shape", "#Steady state", "#First ÷ steady"]
    rows = [[v.title, _extent(v.first_call), _extent(v.first_call_new_shape), _median(v, "host_time"), _times(v)] for v in shown]
    if any(v.first_call_alone is not None for v in shown):
        titles.insert(2, "#First call, run before all others")
        for variant, row in zip(shown, rows):
            row.insert(2, _extent(variant.first_call_alone))
    return Table(columns(*titles), tuple(tuple(row) for row in rows), caption="First calls beside the steady state.",
                 notes=(f"First calls: smallest to largest over the processes{', with context, allocator and handles in place' if on_gpu else ''}. "
                        "The variants share a process, so whichever runs first also loads what the others need.",))


def _extent(time: Estimate | None) -> str | None:
    return None if time is None else extent(time.low, time.high)


def _median(variant: VariantFacts, quantity: str) -> Seconds | None:
    time = variant.time(quantity)
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
    question="What does a call to a fused backend cost the CPU?",
    questions=(
        claim("cudnn-cpu-cost", "cuDNN costs the most CPU time of the three fused backends.", cost_rule, COST_CASES, needs=(compared("host_time", *reversed(FUSED)),)),
        claim("fewer-ops-not-less-cpu", "Fewer ATen ops do not mean less CPU work.", fewer_rule, FEWER_CASES, needs=(needs.host(),)),
    ),
    evidence=evidence,
)
