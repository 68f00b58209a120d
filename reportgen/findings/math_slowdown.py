"""The math backend beside the naive forward: how much slower, and with how many kernels?"""

from __future__ import annotations

from ..analysis import RunFacts, VariantFacts, published
from ..analysis.kernels import tf32_setting
from ..analysis.ranking import Pair, deciding, faster, rank
from ..analysis.savings import quickest_saves
from ..analysis.softmax import calls_safe
from ..numbers.statistics import magnitude
from ..questions import drawings, needs
from ..questions.bar_charts import time_bars
from ..questions.kernel_tables import beside
from ..questions.model import Advice, Because, Case, Decision, Evidence, Finding, Leads, Question, answer, claim, decide
from ..questions.needs import compared, unmet
from ..questions.ranked import UNSTEADY, disagreement, interval, over_processes, timers_used, whiskers
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..questions.steps import stacked_roles, steps_table
from ..saying.tables import Table, columns
from ..saying.units import Count, Percent, Ratio, Seconds, listed, plural
from . import math_waterfall

PAIR = ("naive_inplace", "sdpa_math")
PUBLISHED_RATIO = f"{published.load()['math_slowdown']}×"
"""As the article prints it: a digit more would be one that nobody measured."""

_FALLBACK = (Advice("If your trace contains `aten::_scaled_dot_product_attention_math`, SDPA fell back to math. Pin a fused backend once with `sdpa_kernel(...)`: "
    "torch then says why it refuses (mask, dtype, head dimension), and that is what to change.", needs="fused_faster", leads=Leads("fused"), saves="saves"),)
"""Where a fused backend runs here, gives a right result and is faster than math."""

_TF32 = Because("tf32", "FP32 matmuls may use TF32 in this run (`float32_matmul_precision` is `{tf32}`; torch's default does not allow it). The article's ran in FP32 on CUDA cores.")
_MOVED = (Because("both_moved", "Device and software both differ from the article's, so this run cannot say which of them moved the ratio."),
          Because("software_moved", "The article's device has the same name, so software, clocks or power moved the ratio; this run cannot say which."),
          Because("timers", "The article's times are averages under the profiler; these are medians of {timers} without it."), _TF32)

SLOWER_CASES: dict[str, Case] = {
    "slower": Case(
        "holds",
        "SDPA math takes {ratio} the {quantity} of naive in place: {math} against {inplace} per forward ({processes}).",
        because=(*math_waterfall.RANKED, *math_waterfall.WIDE),
        caveats=(Because("wall", "This device has no GPU time, so the wall time of eager forwards decides."), _TF32, OTHER_SHAPE),
        advice=_FALLBACK,
    ),
    "faster": Case(
        "differs",
        "SDPA math is faster than naive in place: {ratio} the {quantity}, {math} against {inplace} per forward ({processes}).",
        caveats=(Because("wall", "This device has no GPU time, so the wall time of eager forwards decides."), OTHER_SHAPE),
        advice=(Advice("Measure before you rely on this elsewhere: math is written for correctness, not for speed."),),
    ),
    "tie": Case(
        "within noise",
        "SDPA math and naive in place cannot be told apart: {math} against {inplace} of {quantity} per forward ({span}; differences below {threshold} do not count).",
        caveats=(Because("wall", "This device has no GPU time, so the wall time of eager forwards decides."), UNSTEADY, OTHER_SHAPE),
        advice=_FALLBACK,
    ),
}


def slower_rule(facts: RunFacts) -> Decision:
    quantity = deciding(facts)
    blocked = unmet(facts, compared(quantity.name, *PAIR))
    if blocked:
        return blocked
    inplace, math = (facts.variants[name] for name in PAIR)
    pair = rank(facts, quantity.name, PAIR).pair(math.id, inplace.id)
    if not pair.comparable:
        return decide("mixed-timers", mixed=listed([inplace.title, math.title]))
    return decide(
        {inplace.id: "slower", math.id: "faster", None: "tie"}[pair.winner], **_ratio_args(pair),
        inplace=Seconds(inplace.times[quantity.name].median), math=Seconds(math.times[quantity.name].median), quantity=quantity.label,
        threshold=Percent(100 * pair.threshold), apart=disagreement([pair]), fused_faster=bool(faster(facts, math.id)), saves=quickest_saves(facts, math.id),
        software=software(facts, "torch", "cublas"), wall=quantity.name == "wall_time", tf32=tf32_setting(facts), other_workload=other_workload(facts), **math_waterfall.ranked_args(facts))


ANSWERS: dict[str, Case] = {
    "ranked": answer("SDPA math takes {ratio} the {quantity} of naive in place, {math} against {inplace}. Most of the extra time goes into {most}."),
    **{name: answer(case.headline) for name, case in SLOWER_CASES.items()},
}


def answer_rule(facts: RunFacts) -> Decision:
    """The claim's decision; where the traces rank the causes of the extra time, with the largest."""
    found = slower_rule(facts)
    return decide("ranked", **found.args) if found.case == "slower" and found.args.get("most") else found


def _ratio_args(pair: Pair) -> dict[str, object]:
    """Math ÷ naive in place: the median of the per-process ratios, the smallest and the largest."""
    ratio = pair.ratio
    return {} if ratio is None else {"ratio": Ratio(ratio.median), "low": Ratio(ratio.low), "high": Ratio(ratio.high), "processes": over_processes(ratio),
                                      "span": over_processes(ratio, told=False)}


RATIO_CASES: dict[str, Case] = {
    "as-published": Case(
        "holds",
        "Math takes {ratio} the GPU time of naive in place ({processes}), about the article's {published}.",
        advice=_FALLBACK,
    ),
    "smaller": Case(
        "differs",
        "Math takes {ratio} the GPU time of naive in place ({processes}), less than the article's {published}.",
        because=(Because("math_change", "Naive in place takes {inplace_change} the article's time, math {math_change}."),),
        caveats=_MOVED,
        advice=(Advice("Quote this ratio with its device and torch version, or measure your own."),),
    ),
    "larger": Case(
        "differs",
        "Math takes {ratio} the GPU time of naive in place ({processes}), more than the article's {published}.",
        because=(Because("math_change", "Naive in place takes {inplace_change} the article's time, math {math_change}."),),
        caveats=_MOVED,
        advice=(Advice("Quote this ratio with its device and torch version, or measure your own."),),
    ),
    "straddles": Case(
        "within noise",
        "Math takes {ratio} the GPU time of naive in place, but the processes ({low} to {high}) straddle ±{rules[magnitude]} around the article's {published}.",
        advice=_FALLBACK,
    ),
}


def ratio_rule(facts: RunFacts) -> Decision:
    pair, value = rank(facts, "gpu_time", PAIR).pair("sdpa_math", "naive_inplace"), published.load()["math_slowdown"]
    assert pair.ratio is not None
    verdict = magnitude(pair.ratio, value)
    case = {"holds": "as-published", "straddles": "straddles"}.get(verdict) or ("smaller" if pair.ratio.median < value else "larger")
    inplace, math = (Ratio(facts.variants[name].times["gpu_time"].median / published.of(name, "gpu_time")) for name in PAIR)
    so = math < inplace if case == "smaller" else math > inplace
    return decide(case, **_ratio_args(pair), published=PUBLISHED_RATIO, software=software(facts, "torch", "cublas"), inplace_change=inplace, math_change=math if so else None,
                  timers=timers_used(facts, PAIR), fused_faster=bool(faster(facts, "sdpa_math")), saves=quickest_saves(facts, "sdpa_math"), tf32=tf32_setting(facts), **_moved(facts))


def _moved(facts: RunFacts) -> dict[str, object]:
    """Whether device and software both are others than the article's, or the software alone."""
    same_device = facts.device.name.removeprefix("NVIDIA ") == published.load()["device"]["name"]
    return {"both_moved": not same_device, "software_moved": same_device}


_LIST = (Advice("Count kernels from the list, not from a total: copies and memsets are not kernels, and without a synchronize before the window "
    "warm-up activities leak in."),)

COUNT_CASES: dict[str, Case] = {
    "both-as-published": Case(
        "holds",
        "Math launches {math}{math_beside} and naive in place {inplace}{beside}, as in the article.",
        because=(Because("roles", "Math's kernels in order: {roles}."),),
        caveats=(OTHER_SHAPE,),
        advice=_LIST,
    ),
    "math-differs": Case(
        "differs",
        "Math launches {math}{math_beside}, the article saw {published_math}; naive in place launches {inplace}{beside}, as in the article.",
        because=(Because("roles", "Math's kernels in order: {roles}."),
                 Because("no_upcast", "No cast is among them: this torch computes math in the type of its inputs."),
                 Because("no_safe", "The trace has no `aten::_safe_softmax`, so the kernels that protect fully masked rows are missing.")),
        caveats=(OTHER_SHAPE,),
        advice=_LIST,
    ),
    "naive-differs": Case(
        "differs",
        "Naive in place launches {inplace}{beside}, the article saw {published_inplace}; math launches {math}{math_beside}, as in the article.",
        because=(Because("naive_roles", "The naive forward's kernels in order: {naive_roles}."),),
        caveats=(OTHER_SHAPE,),
        advice=_LIST,
    ),
    "both-differ": Case(
        "differs",
        "Math launches {math}{math_beside} (article: {published_math}), naive in place {inplace}{beside} (article: {published_inplace}).",
        because=(Because("roles", "Math's kernels in order: {roles}."), Because("naive_roles", "The naive forward's kernels in order: {naive_roles}.")),
        caveats=(OTHER_SHAPE,),
        advice=_LIST,
    ),
}


def count_rule(facts: RunFacts) -> Decision:
    inplace, math = (facts.variants[name] for name in PAIR)
    said = [published.of(name, "kernels") for name in PAIR]
    right = (inplace.kernels == said[0], math.kernels == said[1])
    case = {(True, True): "both-as-published", (True, False): "math-differs", (False, True): "naive-differs", (False, False): "both-differ"}[right]
    return decide(
        case, software=software(facts, "torch", "cublas"), math=plural(math.kernels or 0, "kernel") + " per forward", inplace=str(Count(inplace.kernels or 0)),
        beside=beside(inplace), math_beside=beside(math), published_math=Count(said[1]), published_inplace=Count(said[0]), roles=_roles(math), naive_roles=_roles(inplace),
        no_upcast=not any(a.role == "cast" for a in math.activities), no_safe=not calls_safe(math),
        other_workload=other_workload(facts))


def _roles(variant: VariantFacts) -> str:
    return ", ".join(a.role for a in variant.activities if a.kind == "kernel")


def evidence(facts: RunFacts) -> Evidence:
    shown = [facts.variants[name] for name in PAIR if facts.ok(name)]
    beside = published.same_workload(facts)
    tables = [*math_waterfall.table(facts), *_times(facts, shown, beside)]
    tables += [steps_table(v, f"{v.title}: all GPU activities of one forward, in launch order.") for v in reversed(shown) if v.activities]
    charts = (*math_waterfall.chart(facts),
              *time_bars("math-slowdown-gpu-time", [(v, v.gpu_time) for v in shown], "GPU time per forward",
                         f"GPU time per forward{whiskers(facts, 'gpu_time', PAIR)}" + ("; in grey the article's averages under the profiler." if beside else "."),
                         [published.of(v.id, "gpu_time") for v in shown] if beside else None, "the article" if beside else None, "beside"),
              *stacked_roles("math-slowdown-steps", shown, "Where the GPU time of one forward goes, by what each activity does."))
    lanes = drawings.forwards("math-slowdown-lanes", shown, "One forward of each on one time axis, under the profiler; without the profiler the gaps differ.")
    return Evidence(tables=tuple(tables), charts=charts, pictures=lanes)


def _times(facts: RunFacts, shown: list[VariantFacts], beside: bool) -> list[Table]:
    """beside: the article's workload, so that its ratio may stand here."""
    kinds = (("GPU time, same inputs (hot)", "gpu_time"), ("GPU time, rotating inputs (cold)", "gpu_time_cold"), ("wall time", "wall_time"), ("host time", "host_time"))
    rows = []
    for label, name in kinds:
        pairs = rank(facts, name, PAIR).pairs
        if len(shown) < len(PAIR) or ("sdpa_math", "naive_inplace") not in pairs:
            continue
        ratio = pairs["sdpa_math", "naive_inplace"].ratio
        told = (Ratio(ratio.median), over_processes(ratio, told=False)) if ratio else (None, None)
        rows.append((label, *(interval(variant.times[name]) for variant in shown), *told, *([PUBLISHED_RATIO if name == "gpu_time" else None] if beside else [])))
    if not rows:
        return []
    heads = ["Quantity", f"#{shown[0].title}", f"#{shown[1].title}", "#Ratio", "#Over the processes", *(["#Article"] if beside else [])]
    return [Table(columns(*heads), tuple(rows), caption="Time per forward: median over the processes (lowest to highest).",
                  notes=("The article's ratio is of averages under the profiler.",) if beside else ())]


FINDING = Finding(
    slug="math-slowdown",
    title="The math backend's price",
    question="Why is SDPA's math backend slower than five lines of your own?",
    questions=(
        claim("math-slower", "SDPA math is slower than the naive forward in place.", slower_rule, SLOWER_CASES, needs=(needs.ran(*PAIR),)),
        claim("math-3.7x", f"SDPA math takes about {PUBLISHED_RATIO} as long as the naive forward in place.", ratio_rule, RATIO_CASES, needs=(needs.article_workload(), compared("gpu_time", *PAIR), needs.one_timer(*PAIR))),
        claim("math-20-kernels", f"SDPA math launches {published.of('sdpa_math', 'kernels')} kernels, the naive forward in place {published.of('naive_inplace', 'kernels')}.", count_rule, COUNT_CASES, needs=(needs.lane(*PAIR),)),
    ),
    evidence=evidence,
    answer=Question("math-slowdown-answer", "What does math cost, and where does the time go?", answer_rule, ANSWERS, needs=(needs.ran(*PAIR),)),
)
