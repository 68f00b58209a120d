"""Flash and HBM traffic: one kernel, what dominates without it, and whether scores ever leave the chip."""

from __future__ import annotations

from ..analysis import RunFacts
from ..analysis.bounds import ENOUGH, NEAR, Bound, Limit, bounds, counted_share, largest, near_the_line, requested, shares
from ..analysis.kernels import implementation, main_kernel
from ..analysis.masking import takes_no_mask
from ..analysis.ranking import faster
from ..analysis.traffic import SPILL, Traffic, forward_traffic, scores_in_memory, why_no_ratio
from ..hardware.kernel_names import Implementation
from ..questions import needs
from ..questions.kernel_tables import kernel_args
from ..questions.limit_words import BEYOND_CACHE, WORDS, largest_share, percent
from ..questions.model import Advice, Because, Case, Decision, Finding, Leads, Relies, claim, decide, not_measurable
from ..questions.right_words import CAUSAL
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..run import DEFAULT
from ..saying.units import Bytes, Count, Percent, Seconds, listed, verb
from .counted_bytes import COUNTED, ON_THE_LINE, counted_args
from .flash_hbm_evidence import evidence
from .pinning import OBEYED

HALF = 0.5

FLASH_CASES: dict[str, Case] = {
    "one-kernel": Case(
        "holds",
        "SDPA flash is one kernel per forward{beside}: {kernel}, torch's build of FlashAttention-2.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Call `scaled_dot_product_attention` without an explicit mask (`is_causal=True` instead, where there are as many queries as keys): an `attn_mask` rules this "
                "kernel out.", needs="no_mask", when=(OBEYED,), leads=Leads(DEFAULT, CAUSAL)),),
    ),
    "other-count": Case(
        "differs",
        "SDPA flash launches {count} per forward{beside}, not one: {names}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Read the list above: a split along the keys adds a kernel that combines the pieces, and layout copies come from "
                "inputs that are not contiguous.", needs="several", when=(OBEYED,)),),
    ),
    "other-implementation": Case(
        "differs",
        "SDPA flash is one kernel per forward{beside}, but its name is that of {family}, not of torch's FlashAttention-2 build: {kernel}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Read what is said of FlashAttention-2's tiles and registers as said of another kernel: this build of torch has "
                "{family} behind its flash backend.", needs="not_cuda", when=(OBEYED,)),
                Advice("Check whether your code calls `activate_flash_attention_impl`, which puts another implementation behind the same op.", needs="cuda", when=(OBEYED,))),
    ),
    "unknown-name": not_measurable(
        "SDPA flash is one kernel per forward{beside}, but its name, {kernel}, does not say which implementation it is.", partly=True),
}


def flash_rule(facts: RunFacts) -> Decision:
    variant = facts.variants["sdpa_flash"]
    args = {**kernel_args(facts, variant, "torch"), "cuda": facts.device.kind == "cuda", "not_cuda": facts.device.kind != "cuda",
            "no_mask": takes_no_mask(facts, variant.id)}
    kernel = main_kernel(variant)
    if variant.kernels != 1 or kernel is None:
        return decide("other-count", **args)
    if args["family"] is None:
        return decide("unknown-name", **args)
    return decide("one-kernel" if implementation(kernel) is Implementation.FLASH_2 else "other-implementation", **args)


_TIMES = (
    Because("inplace_passes", "Whatever limits them: passes over the score matrix that are no matmul take {inplace_passes} of naive in place's GPU time and {math_passes} of SDPA math's."),
    Because("inplace_matmuls", "The matmuls of naive in place take {inplace_matmuls} of its GPU time{inplace_matmuls_bound}."),
    Because("inplace_longest", "The longest activity of naive in place is its {inplace_longest}."),
    Because("math_longest", "The longest activity of SDPA math is its {math_longest}."),
    *COUNTED,
)
_CAVEATS = (
    OTHER_SHAPE,
    Because("inplace_near", "The line at {line} is a convention, and in naive in place {inplace_near} within {near} points of it: depending on their side, {inplace_between} of its GPU time is HBM-bound."),
    Because("math_near", "The line at {line} is a convention, and in SDPA math {math_near} within {near} points of it: depending on their side, {math_between} of its GPU time is HBM-bound."),
    *ON_THE_LINE)
_SCORES_ADVICE = (Advice("Use a fused backend wherever you can: the time that it saves is time in which the score matrix travels, so it grows "
                         "with the square of the sequence length.", needs="fused", leads=Leads("fused")),)
_NEITHER_ADVICE = (Advice("Do not estimate this code from bandwidth alone: the table shows which activities reach no limit, and their bytes do "
                          "not explain their time.", "A fused backend removes these passes whatever limits them.", needs="no_limit", more_needs="fused", more_leads=Leads("fused")),)
"""fused: a backend that is right, faster than both and whose scores take no memory."""

HBM_CASES: dict[str, Case] = {
    "dominates": Case(
        "holds",
        "HBM-bound activities take {inplace_hbm} of the GPU time of naive in place and {math_hbm} of SDPA math's.",
        because=_TIMES, caveats=_CAVEATS, advice=_SCORES_ADVICE),
    "not-in-inplace": Case(
        "differs",
        "HBM does not dominate naive in place: {inplace_hbm} of its GPU time is HBM-bound, less than {half}{inplace_rest}. "
        "In SDPA math {math_hbm} is HBM-bound.",
        because=_TIMES, caveats=_CAVEATS, advice=_NEITHER_ADVICE),
    "not-in-math": Case(
        "differs",
        "HBM does not dominate SDPA math: {math_hbm} of its GPU time is HBM-bound, less than {half}{math_rest}. "
        "In naive in place {inplace_hbm} is HBM-bound.",
        because=_TIMES, caveats=_CAVEATS, advice=_NEITHER_ADVICE),
    "in-neither": Case(
        "differs",
        "HBM dominates neither of the two. Naive in place: {inplace_hbm} of its GPU time is HBM-bound, less than {half}{inplace_rest}. "
        "SDPA math: {math_hbm} is HBM-bound, less than {half}{math_rest}.",
        because=_TIMES, caveats=_CAVEATS, advice=_NEITHER_ADVICE),
    "on-the-line": Case(
        "within noise",
        "Whether HBM dominates cannot be told: {inplace_hbm} of naive in place's GPU time and {math_hbm} of SDPA math's is HBM-bound by the bytes that the "
        "steps ask for, {inplace_counted} and {math_counted} by those that were counted.",
        because=_TIMES, caveats=_CAVEATS, advice=_NEITHER_ADVICE),
    "not-modelled": not_measurable(
        "{unknown_inplace} of naive in place's GPU time and {unknown_math} of SDPA math's is spent in activities whose bytes or FLOP are not known."),
}


def hbm_rule(facts: RunFacts) -> Decision:
    ceilings = facts.ceilings
    if ceilings is None or not (ceilings.copy_bytes_per_s and ceilings.matmul_flop_per_s and ceilings.fp32_flop_per_s):
        return needs.no_ceilings(facts)
    inplace, math = (bounds(facts.variants[name], ceilings) for name in ("naive_inplace", "sdpa_math"))
    args = {**_share_args(facts, "inplace", inplace), **_share_args(facts, "math", math), **_matmuls(inplace),
            "line": Percent(100 * ENOUGH), "near": Count(round(100 * NEAR)), "half": Percent(100 * HALF),
            **counted_args((facts.variants["naive_inplace"], inplace), (facts.variants["sdpa_math"], math)),
            "software": software(facts, "torch", "cublas"), "other_workload": other_workload(facts),
            "fused": bool(_sparing(facts)), "no_limit": any(one.limit is Limit.NEITHER for one in (*inplace, *math))}
    parts = (_part(inplace), _part(math))
    failed = ("fails" in parts[:1], "fails" in parts[1:])
    if any(failed):
        return decide({(True, True): "in-neither", (True, False): "not-in-inplace", (False, True): "not-in-math"}[failed], **args)
    return decide("not-modelled" if "open" in parts else "on-the-line" if "edge" in parts else "dominates", **args)


def _sparing(facts: RunFacts) -> tuple[str, ...]:
    """The fused backends that are faster than naive in place and math and, by peak memory and counters where there are any, keep no scores in memory."""
    quicker = [name for name in faster(facts, "naive_inplace") if name in faster(facts, "sdpa_math")]
    return tuple(name for name in quicker if not scores_in_memory(facts, facts.variants[name]))


def _part(found: tuple[Bound, ...]) -> str:
    """Whether HBM-bound time is at least half.

    `open` where activities that nobody modelled could tip it, `edge` where the bytes that steps ask for
    make it half and the counted ones do not: a model alone decides nothing.
    """
    by_limit, counted = shares(found), counted_share(found)
    if by_limit[Limit.HBM] >= HALF:
        return "holds" if counted is None or counted >= HALF else "edge"
    return "open" if by_limit[Limit.HBM] + by_limit[Limit.UNKNOWN] >= HALF else "fails"


def _share_args(facts: RunFacts, prefix: str, found: tuple[Bound, ...]) -> dict[str, object]:
    by_limit = shares(found)
    longest = max(found, key=lambda one: one.activity.duration)
    return {f"{prefix}_hbm": percent(by_limit[Limit.HBM]), f"{prefix}_rest": _rest(found), f"{prefix}_longest": _longest(longest),
            f"unknown_{prefix}": percent(by_limit[Limit.UNKNOWN]), f"{prefix}_counted": _percent(counted_share(found)),
            f"{prefix}_passes": _passes(facts, found), **_near_args(prefix, found)}


def _passes(facts: RunFacts, found: tuple[Bound, ...]) -> Percent:
    """Share of the time of activities, matmuls apart, that read or write at least a byte per score: passes over the score matrix, or over a mask of its size."""
    total = sum(one.activity.duration for one in found)
    over = [one.activity for one in found if one.activity.role != "matmul" and (requested(one.activity) or 0) >= facts.workload.score_elements]
    return percent(sum(activity.duration for activity in over) / total)


def _near_args(prefix: str, found: tuple[Bound, ...]) -> dict[str, object]:
    """Which activities lie close to the line, and how far the HBM-bound share goes with their side."""
    close = near_the_line(found)
    if not close:
        return {f"{prefix}_near": None}
    total = sum(one.activity.duration for one in found)
    sure = sum(one.activity.duration for one in found if one.limit is Limit.HBM and one not in close) / total
    by_role: dict[str, list[float]] = {}
    for one in close:
        by_role.setdefault(one.activity.role, []).append(one.byte_share or 0.0)
    named = listed([f"{role} ({' and '.join(str(percent(share)) for share in sorted(of))})" for role, of in by_role.items()])
    return {f"{prefix}_near": f"{named} {verb(len(close), 'lies', 'lie')}",
            f"{prefix}_between": f"{percent(sure)} to {percent(sure + sum(one.activity.duration for one in close) / total)}"}


def _rest(found: tuple[Bound, ...]) -> str:
    """`, and the largest share is bound by neither …`; where HBM has the largest share, that of what comes next."""
    return ("; the next share is " if largest(found)[0] is Limit.HBM else "; the largest share is ") + largest_share(found, but=Limit.HBM)


def _percent(share: float | None) -> object:
    return None if share is None else percent(share)


def _longest(one: Bound) -> str | None:
    """`mask kernel (347 µs): 36 % of the copy ceiling, so bound by …`; `None` where its bytes are not known."""
    if one.byte_share is None:
        return None
    flop = f" and {percent(one.flop_share)} of its matmul ceiling" if one.flop_share is not None else ""
    return (f"{one.activity.role} {one.activity.kind} ({Seconds(one.activity.duration)}): it moves its bytes at {percent(one.byte_share)} of the copy ceiling{flop}, "
            f"so it counts as {WORDS[one.limit]}")


def _matmuls(found: tuple[Bound, ...]) -> dict[str, object]:
    matmuls = [one for one in found if one.activity.role == "matmul"]
    limits = {one.limit for one in matmuls}
    if not matmuls or len(limits) > 1:
        return {"inplace_matmuls": None}
    total = sum(one.activity.duration for one in found)
    return {"inplace_matmuls": percent(sum(one.activity.duration for one in matmuls) / total), "inplace_matmuls_bound": _and_are(limits.pop())}


def _and_are(limit: Limit) -> str:
    return "; what limits them is not known" if limit is Limit.UNKNOWN else f" and are {WORDS[limit]}"


_WRITTEN = (
    Because("least", "The cache ({cache}) could hide a part of what was written, but not the scores: of a written score matrix at least {least} would have been counted."),
    Because("from_trace", "{from_trace} of that traffic is copies and memsets, which no counter sees: their bytes are from the trace."),
    Because("inplace_dram", "Naive in place moves {inplace_dram} for the same workload."),
)
_LOWER = (Because("operands_cached", "The operands are smaller than {rules[beyond_cache]} the last-level cache, so a part of them may have been found there; and counted writes are lower bounds, because lines may leave the cache after the kernel's end."),
          OTHER_SHAPE)

NEVER_CASES: dict[str, Case] = {
    "never-allocated": Case(
        "holds",
        "Flash holds no score matrix in memory: one forward needs at most {peak} beyond its inputs, and the score matrix alone would be {scores}.",
        caveats=(OTHER_SHAPE, Because("uncounted", "DRAM traffic was not counted in this run ({uncounted}), so this rests on allocated memory alone.")),
        advice=(Advice("Count on memory that grows with the sequence length, not with its square: that is what makes long sequences fit."),)),
    "never-written": Case(
        "holds",
        "Flash writes no score matrix to memory: one forward needs at most {peak} beyond its inputs, and the counters see {read} read and {written} written through DRAM, "
        "{extra} more than its operands ({operands}); the score matrix alone would be {scores}.",
        because=_WRITTEN, caveats=_LOWER,
        advice=(Advice("Count on memory and traffic that grow with the sequence length, not with its square: that is what makes long "
                "sequences fit."),)),
    "within-operands": Case(
        "holds",
        "Flash writes no score matrix to memory: one forward needs at most {peak} beyond its inputs, and the counters see {read} read and {written} written through DRAM, "
        "no more than its operands ({operands}); the score matrix alone would be {scores}.",
        because=_WRITTEN, caveats=_LOWER,
        advice=(Advice("Count on memory and traffic that grow with the sequence length, not with its square: that is what makes long "
                "sequences fit."),)),
    "allocates-scores": Case(
        "differs",
        "Flash holds as much as the scores in memory: one forward needs {peak} beyond its inputs, and the score matrix is {scores}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Look in the trace for a copy or a fallback beside the fused kernel: the kernel itself asks for no score matrix.",
                       when=(Relies("flash-one-kernel", ("other-count",)),)),)),
    "extra-traffic": Case(
        "differs",
        "Flash allocates no score matrix ({peak} beyond its inputs), but {extra} go through DRAM beyond its operands ({operands}), more than {rules[spill]} of the score "
        "bytes ({scores}).",
        because=_WRITTEN[1:], caveats=(OTHER_SHAPE,),
        advice=(Advice("Look at registers that spill and at keys and values that are read once per block of queries: both cost traffic "
                "without any score matrix.", when=(OBEYED,)),)),
    "no-peak-memory": not_measurable("this run did not record the peak memory of SDPA flash (memory is measured on a GPU only)."),
}


def never_rule(facts: RunFacts) -> Decision:
    variant, scores = facts.variants["sdpa_flash"], facts.workload.score_bytes
    if variant.peak_memory_bytes is None:
        if facts.device.kind == "cpu":
            return decide("no-peak-memory")
        return needs.older(facts, "the peak memory of SDPA flash", "sdpa_flash", part="memory")
    args = {"peak": Bytes(variant.peak_memory_bytes), "scores": Bytes(scores), "operands": Bytes(facts.workload.operand_bytes),
            "software": software(facts, "torch"), "other_workload": other_workload(facts)}
    if variant.peak_memory_bytes >= scores:
        return decide("allocates-scores", **args)
    traffic = forward_traffic(variant)
    if traffic is None:
        return decide("never-allocated", **args, uncounted=variant.counters_reason or facts.counters_reason or "no counters")
    extra = traffic.total - facts.workload.operand_bytes
    case = "extra-traffic" if extra >= SPILL * scores else "never-written" if extra > 0 else "within-operands"
    return decide(case, **args, **_counted_args(facts, traffic), extra=Bytes(max(extra, 0.0)))


def _counted_args(facts: RunFacts, traffic: Traffic) -> dict[str, object]:
    cache = facts.device.l2_cache_bytes or 0
    inplace = facts.variants.get("naive_inplace")
    other = forward_traffic(inplace) if inplace else None
    return {"read": Bytes(traffic.read), "written": Bytes(traffic.written), "cache": Bytes(cache), "least": Bytes(facts.workload.score_bytes - cache),
            "from_trace": Bytes(traffic.from_trace) if traffic.from_trace else None, "inplace_dram": Bytes(other.total) if other else None,
            "operands_cached": why_no_ratio(facts) is not None}


FINDING = Finding(
    slug="flash-hbm",
    title="Flash: the scores stay on the chip",
    question="What does attention spend its time on when the score matrix travels to memory and back, and what changes when it never leaves the chip?",
    questions=(
        claim("flash-one-kernel", "The flash backend is one fused kernel: FlashAttention-2.", flash_rule, FLASH_CASES, needs=(needs.lane("sdpa_flash"),)),
        claim("hbm-dominates", "Without fusion, the score matrix's round trips to HBM dominate, not the matmuls.", hbm_rule, HBM_CASES, needs=(needs.lane("naive_inplace", "sdpa_math"), BEYOND_CACHE,)),
        claim("flash-never-writes-scores", "Flash keeps the scores on the chip and never writes them to HBM.", never_rule, NEVER_CASES, needs=(needs.ran("sdpa_flash"), BEYOND_CACHE,)),
    ),
    evidence=evidence,
)
