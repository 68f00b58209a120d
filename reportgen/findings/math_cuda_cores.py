"""Which unit does math's matmuls, and in which type?"""

from __future__ import annotations

from ..analysis import FUSED, ActivityFacts, RunFacts, VariantFacts
from ..analysis.bounds import matmul_ceilings
from ..analysis.kernels import in_tf32, matmuls, named_tf32, tensor_cores, tf32_setting
from ..analysis.ranking import faster
from ..analysis.traffic import activity_traffic, forward_traffic
from ..analysis.upcast import casts, input_casts
from ..questions import needs
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, Leads, claim, decide, not_measurable
from ..questions.shared import OTHER_SHAPE, matrix_unit, other_workload, software
from ..questions.steps import share, total
from ..saying.markup import code
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, Count, Flop, FlopPerSecond, Percent, Ratio, Seconds, listed, plural
from . import math_waterfall

PAIR = ("naive_inplace", "sdpa_math")

_NAMES = ("sgemm", "simt", "ffma")
_ADVICE = (Advice("`sgemm`, `simt` or `ffma` in a matmul's kernel name means FP32 without Tensor Cores.",
                  "Keep q, k and v in 16 bits, and use a fused SDPA backend.", needs="named", more_needs="fused_faster", more_leads=Leads("fused")),)
"""Where math's matmuls carry such a name, and are FP32 ones; the rest where a fused backend is faster here."""
_TF32 = (Advice("Record the TF32 setting with every timing of math: it decides which unit runs the matmuls.", needs="by_tf32"),)
_WHY = (
    Because("math_why", "Math, from the names {math_kernels}: {math_why}."),
    Because("math_counted", "Math, counted: {math_counted} on Tensor Cores."),
    Because("naive_why", "Naive in place, from the names {naive_kernels}: {naive_why}."),
    Because("naive_counted", "Naive in place, counted: {naive_counted} on Tensor Cores."),
    Because("exact", "That is {exact} per naive matmul, exactly 2·B·H·S²·D."),
)

CORES_CASES: dict[str, Case] = {
    "as-said": Case(
        "holds",
        "Math's matmuls run in FP32 without Tensor Cores ({math_kernels}), the naive ones in {dtype} on Tensor Cores ({naive_kernels}).",
        because=_WHY,
        caveats=(OTHER_SHAPE,),
        advice=_ADVICE,
    ),
    "math-on-tensor-cores": Case(
        "differs",
        "Math's matmuls do run on Tensor Cores: {math_kernels}.",
        because=(*_WHY, Because("tf32", "FP32 matmuls may use TF32 in this run (`float32_matmul_precision` is `{tf32}`).")),
        caveats=(OTHER_SHAPE,),
        advice=_TF32,
    ),
    "math-not-fp32": Case(
        "differs",
        "Math does not cast its inputs up, so its matmuls are not FP32 ({math_kernels}); they still run without Tensor Cores.",
        because=_WHY,
        caveats=(OTHER_SHAPE,),
    ),
    "naive-without-tensor-cores": Case(
        "differs",
        "The naive matmuls run without Tensor Cores too ({naive_kernels}), like math's ({math_kernels}).",
        because=_WHY,
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Check shape and alignment of q, k and v: in 16 bits, sizes must be multiples of {eight} for a Tensor Core "
                "kernel.", needs="odd_shape"),),
    ),
    "the-other-way-round": Case(
        "differs",
        "It is the other way round: math's matmuls run on Tensor Cores ({math_kernels}), the naive ones do not ({naive_kernels}).",
        because=_WHY,
        caveats=(OTHER_SHAPE,),
        advice=_TF32,
    ),
    "no-matmul": not_measurable("the trace of {missing} shows no matmul."),
    "contradicted": not_measurable("the name of {contradicted} says TF32, but none of its operations was counted on Tensor Cores, so its unit is unknown."),
    "unknown": not_measurable("the name of {unknown} does not say whether it uses {unit}, and no counters were recorded."),
}


def cores_rule(facts: RunFacts) -> Decision:
    found = {name: matmuls(facts.variants[name]) for name in PAIR}
    for name in PAIR:
        if not found[name]:
            return decide("no-matmul", missing=facts.variants[name].title)
    naive, math = (found[name] for name in PAIR)
    silent = [a for a in (*math, *naive) if tensor_cores(a) == "unknown"]
    if silent:
        return decide("unknown", unknown=code(silent[0].short), unit=matrix_unit(facts))
    odd = [a for a in math if named_tf32(a) and tensor_cores(a) == "no"]
    if odd:
        return decide("contradicted", contradicted=code(odd[0].short))
    args = {"software": software(facts, "torch", "cublas"), "dtype": facts.workload.dtype, "math_kernels": _names(math), "naive_kernels": _names(naive),
            "math_why": _why(math), "naive_why": _why(naive), "math_counted": _counted(math), "naive_counted": _counted(naive),
            "exact": _exact(facts, naive),
            **_advised(facts, math), "other_workload": other_workload(facts)}
    math_uses, naive_uses = (any(tensor_cores(a) == "yes" for a in math), all(tensor_cores(a) == "yes" for a in naive))
    if math_uses:
        return decide("math-on-tensor-cores" if naive_uses else "the-other-way-round", **args)
    if not naive_uses:
        return decide("naive-without-tensor-cores", **args)
    return decide("as-said" if input_casts(facts.variants["sdpa_math"]) else "math-not-fp32", **args)


def _advised(facts: RunFacts, math: tuple[ActivityFacts, ...]) -> dict[str, object]:
    """What advice rests on: names that say FP32, TF32 in math's own matmuls, a shape that a library could stumble over, a faster backend."""
    cast = bool(input_casts(facts.variants["sdpa_math"]))
    by_tf32 = cast and (any(map(in_tf32, math)) or bool(tf32_setting(facts)))
    odd = bool(facts.workload.sequence % EIGHT or facts.workload.head_dim % EIGHT)
    return {"named": cast and any(part in kernel.name.lower() for kernel in math for part in _NAMES), "by_tf32": by_tf32, "tf32": tf32_setting(facts) if cast else None,
            "odd_shape": odd, "eight": EIGHT, "fused_faster": bool(faster(facts, "sdpa_math"))}


EIGHT = 8
"""Rows of 16-bit elements whose number this divides can be read by Tensor Core kernels."""


def _names(kernels: tuple[ActivityFacts, ...]) -> str:
    return listed([code(name) for name in dict.fromkeys(kernel.short for kernel in kernels)])


def _counts(kernels: tuple[ActivityFacts, ...]) -> list[float]:
    return [k.counters.tensor_core_flop for k in kernels if k.counters and k.counters.tensor_core_flop is not None]


def _why(kernels: tuple[ActivityFacts, ...]) -> str | None:
    """What the names say; nothing where operations were counted, because then the count decides."""
    reasons = dict.fromkeys(k.decoded.tensor_cores_why.rstrip(".") for k in kernels if k.decoded)
    return None if _counts(kernels) else "; ".join(reasons) or None


def _counted(kernels: tuple[ActivityFacts, ...]) -> str | None:
    counts = _counts(kernels)
    return (str(Flop(sum(counts))) if sum(counts) else "no operation") if counts else None


def _exact(facts: RunFacts, kernels: tuple[ActivityFacts, ...]) -> Flop | None:
    """The work of one matmul, where every one of them was counted at exactly that."""
    counts = _counts(kernels)
    return Flop(facts.workload.matmul_flop) if len(counts) == len(kernels) and set(counts) == {facts.workload.matmul_flop} else None


UPCAST_CASES: dict[str, Case] = {
    "upcast": Case(
        "holds",
        "Math first casts its {dtype} inputs to FP32: {casts} per forward, each from {narrow} to {wide}.",
        because=(
            Because("cast_time", "The casts up take {cast_time} of {math_time} GPU time in the trace; a score matrix is then {wide_score} instead of {score}, so a pass that reads it and writes it moves twice the bytes."),
            Because("back_time", "Casts back down take {back_time} more."),
            Because("wasted_time", "One of those ({wasted_time}) casts all attention weights back for a second result that `scaled_dot_product_attention` drops."),
            Because("first_ratio", "Counted: math's first matmul writes {first_math} to DRAM, that of naive in place {first_naive} ({first_ratio})."),
            Because("whole_math", "Counted over the whole forward: {whole_math} of DRAM traffic in math, {whole_naive} in naive in place."),
            *math_waterfall.WIDE,
        ),
        caveats=(Because("no_lane", "Without a GPU lane the casts appear as CPU ops only, without their GPU time."), OTHER_SHAPE),
        advice=(Advice("`torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)` keeps math in 16 bits; check speed and accuracy.",
                "A fused backend needs no such choice: it accumulates in FP32 on chip.", more_needs="fused"),),
    ),
    "no-upcast": Case(
        "differs",
        "Math computes in {dtype}: there is no cast before its first matmul.",
        because=(Because("reduced", "`allow_fp16_bf16_reduction_math_sdp` is on in this run."),),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Do not use this math as an FP32 reference: it rounds to 16 bits between steps."),),
    ),
}


def upcast_rule(facts: RunFacts) -> Decision:
    math = facts.variants["sdpa_math"]
    args = {"software": software(facts, "torch"), "dtype": facts.workload.dtype, "other_workload": other_workload(facts)}
    count = input_casts(math)
    if not count:
        return decide("no-upcast", **args, reduced=facts.settings.get("allow_fp16_bf16_reduction_math_sdp") in (True, "True", "1"))
    operand = facts.workload.operand_bytes / 4
    found = casts(math)
    return decide(
        "upcast", **args, casts=plural(count, "cast"), narrow=Bytes(operand), wide=Bytes(operand * 4 / facts.workload.element_bytes),
        score=Bytes(facts.workload.score_bytes), wide_score=Bytes(4 * facts.workload.score_elements),
        cast_time=Seconds(total(found.up)) if found.up else None, back_time=Seconds(total(found.down)) if found.down else None,
        wasted_time=Seconds(found.wasted.duration) if found.wasted else None, math_time=Seconds(total(math.activities)), no_lane=not math.activities,
        fused=any(facts.ok(name) for name in FUSED), **math_waterfall.wide_args(facts), **_counted_bytes(facts))


def _counted_bytes(facts: RunFacts) -> dict[str, object]:
    """DRAM traffic of both variants, where hardware counters saw it."""
    known = {name: facts.variants[name] for name in PAIR if facts.ok(name)}
    whole = {name: forward_traffic(variant) for name, variant in known.items()}
    first = {name: activity_traffic(found[0]) for name, variant in known.items() if (found := matmuls(variant))}
    naive, math = (first.get(name) for name in PAIR)
    args: dict[str, object] = {"first_ratio": None, "whole_math": None}
    if naive and math and naive.written:
        args |= {"first_math": Bytes(math.written), "first_naive": Bytes(naive.written), "first_ratio": Ratio(math.written / naive.written)}
    if len(known) == 2 and all(whole.values()):
        args |= {"whole_naive": Bytes(whole[PAIR[0]].total), "whole_math": Bytes(whole[PAIR[1]].total)}  # type: ignore[union-attr]
    return args


def evidence(facts: RunFacts) -> Evidence:
    shown = [facts.variants[name] for name in PAIR if facts.ok(name) and facts.variants[name].activities]
    return Evidence(tables=(*_matmul_table(shown), *_parts(shown), *_cast_table(facts)), charts=_rates(facts, shown))


def _matmul_table(shown: list[VariantFacts]) -> tuple[Table, ...]:
    rows = tuple((v.title, Code(a.short), tensor_cores(a), a.decoded.tensor_cores_why if a.decoded else None,
                  Flop(a.counters.tensor_core_flop) if a.counters and a.counters.tensor_core_flop is not None else None,
                  Seconds(a.duration).us(), FlopPerSecond(a.flop / a.duration) if a.flop else None) for v in shown for a in matmuls(v))
    if not rows:
        return ()
    return (Table(columns("Variant", "Kernel", "Tensor Cores", "How we know", "#Counted on Tensor Cores", "#GPU time (µs)", "#Rate (modelled work)"), rows,
                  caption="The matmuls of both variants, and the unit that runs them."),)


def _parts(shown: list[VariantFacts]) -> tuple[Table, ...]:
    first = [(v, matmuls(v)[0]) for v in shown if matmuls(v)]
    rows = tuple((v.title, Code(part.text), part.meaning, part.source) for v, kernel in first if kernel.decoded for part in kernel.decoded.parts)
    return (Table(columns("Variant", "Part of the name", "Meaning", "Source"), rows, caption="The kernel name of each variant's first matmul, part by part."),) if rows else ()


def _cast_table(facts: RunFacts) -> tuple[Table, ...]:
    math = facts.variants.get("sdpa_math")
    if not math or not math.activities:
        return ()
    found = casts(math)
    rows = tuple((Count(place), "up, before the matmuls" if a in found.up else "down, a result that SDPA drops" if a is found.wasted else "down", Code(a.short), Bytes(a.requested_bytes) if a.requested_bytes else None, Seconds(a.duration).us(),
                  share(a.duration, total(math.activities))) for place, a in enumerate((*found.up, *found.down), start=1))
    if not rows:
        return ()
    return (Table(columns("Cast", "Direction", "Kernel", "#Bytes read and written (modelled)", "#GPU time (µs)", "#Share of the forward"), rows,
                  caption="The casts of one math forward."),)


def _rates(facts: RunFacts, shown: list[VariantFacts]) -> tuple[Chart, ...]:
    pairs = [(f"{v.title}: {what}", v.id, a) for v in shown for what, a in zip(("q · kᵀ", "weights · v"), matmuls(v)) if a.flop]
    known = [(label, name, (a.flop or 0) / a.duration / 1e12) for label, name, a in pairs]
    if not known:
        return ()
    pairs.sort(key=lambda pair: (pair[2].flop or 0) / pair[2].duration)
    known.sort(key=lambda one: one[2])
    tops = [matmul_ceilings(a, facts.ceilings) if facts.ceilings else [] for _, _, a in pairs]
    reference = [top[0] / 1e12 if len(top) == 1 else None for top in tops]
    said = "; ".join(f"{label} {FlopPerSecond(rate * 1e12)}{f', {Percent(round(100 * rate / top))} of its ceiling' if top else ''}" for (label, _, rate), top in zip(known, reference))
    data = {"labels": [label for label, _, _ in known], "values": [rate for _, _, rate in known], "low": None, "high": None, "unit": "TFLOP/s",
            "ids": [name for _, name, _ in known], "reference": reference, "reference_label": "ceiling of this run", "reference_as": "axis"}
    return (Chart("math-cuda-cores-rates", "bars", data, alt=f"Rate of each matmul: {said}.",
                  caption="Rate of each matmul (bars) and of a large square matmul in that type in this run (marks)."),)


FINDING = Finding(
    slug="math-cuda-cores",
    title="The same matmul on another unit",
    question="Do both variants multiply on the same unit, in the same type?",
    questions=(
        claim("math-no-tensor-cores", "Math's matmuls run in FP32 on CUDA cores, the naive ones in bf16 on Tensor Cores.", cores_rule, CORES_CASES, needs=(needs.lane(*PAIR), needs.bfloat16(),)),
        claim("math-upcast", "Math casts bf16 up to FP32 and so doubles the bytes.", upcast_rule, UPCAST_CASES, needs=(needs.ops("sdpa_math"), needs.bfloat16(),)),
    ),
    evidence=evidence,
)
