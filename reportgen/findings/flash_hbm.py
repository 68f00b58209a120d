"""Flash and HBM traffic: one kernel, what dominates without it, and whether scores ever leave the chip."""

from __future__ import annotations

from ..analysis import RunFacts
from ..analysis.kernels import implementation, main_kernel
from ..analysis.masking import takes_no_mask
from ..analysis.round_trips import Lead, round_trips
from ..analysis.traffic import SPILL, Traffic, forward_traffic, why_no_ratio
from ..hardware.kernel_names import Implementation
from ..questions import needs
from ..questions.kernel_tables import kernel_args
from ..questions.limit_words import BEYOND_CACHE, percent
from ..questions.model import Advice, Because, Case, Decision, Finding, Leads, Question, Relies, answer, claim, decide, not_measurable
from ..questions.right_words import UNMASKED
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..run import DEFAULT
from ..saying.units import Bytes
from . import hbm_dominates
from .flash_hbm_evidence import evidence
from .pinning import OBEYED

FLASH_CASES: dict[str, Case] = {
    "one-kernel": Case(
        "holds",
        "SDPA flash is one kernel per forward{beside}: {kernel}, torch's build of FlashAttention-2.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Call `scaled_dot_product_attention` without `attn_mask` (with as many queries as keys use `is_causal=True`): this kernel refuses "
                "a mask.", needs="no_mask", when=(OBEYED,), leads=Leads(DEFAULT, UNMASKED)),),
    ),
    "other-count": Case(
        "differs",
        "SDPA flash launches {count} per forward{beside}, not one: {names}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Read the list: a split along the keys adds a kernel that combines the pieces; inputs that are not contiguous add "
                "copies.", needs="several", when=(OBEYED,)),),
    ),
    "other-implementation": Case(
        "differs",
        "SDPA flash is one kernel per forward{beside}, but its name is that of {family}, not of torch's FlashAttention-2 build: {kernel}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("What these pages say of FlashAttention-2's tiles and registers does not apply: this build of torch has "
                "{family} behind its flash backend.", needs="not_cuda", when=(OBEYED,)),
                Advice("Check whether your code calls `activate_flash_attention_impl`, which changes the implementation behind the op.", needs="cuda", when=(OBEYED,))),
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


_WRITTEN = (
    Because("least", "The cache ({cache}) could hide some writes but not a score matrix: at least {least} of it would have been counted."),
    Because("from_trace", "{from_trace} of it is copies and memsets, taken from the trace because counters do not see them."),
    Because("inplace_dram", "Naive in place moves {inplace_dram}."),
)
_LOWER = (Because("operands_cached", "The operands are smaller than {rules[beyond_cache]} the last-level cache, which may have served part of them. Counted writes are lower bounds: lines may leave the cache after the kernel ends."),
          OTHER_SHAPE)

NEVER_CASES: dict[str, Case] = {
    "never-allocated": Case(
        "holds",
        "Flash keeps no score matrix in memory: a forward needs at most {peak} beyond its inputs; the score matrix alone would be {scores}.",
        caveats=(OTHER_SHAPE, Because("uncounted", "DRAM traffic was not counted ({uncounted}), so only allocated memory decides.")),
        advice=(Advice("Memory grows linearly with sequence length, not quadratically: that makes long sequences fit."),)),
    "never-written": Case(
        "holds",
        "Flash never writes the score matrix ({scores}): a forward needs at most {peak} beyond its inputs and moves {read} from and {written} to DRAM, "
        "{extra} more than its operands ({operands}).",
        because=_WRITTEN, caveats=_LOWER,
        advice=(Advice("Memory and traffic grow linearly with sequence length, not quadratically: that makes long sequences "
                "fit."),)),
    "within-operands": Case(
        "holds",
        "Flash never writes the score matrix ({scores}): a forward needs at most {peak} beyond its inputs and moves {read} from and {written} to DRAM, "
        "no more than its operands ({operands}).",
        because=_WRITTEN, caveats=_LOWER,
        advice=(Advice("Memory and traffic grow linearly with sequence length, not quadratically: that makes long sequences "
                "fit."),)),
    "allocates-scores": Case(
        "differs",
        "Flash keeps as much as the score matrix in memory: a forward needs {peak} beyond its inputs; the score matrix is {scores}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Look in the trace for a copy or a fallback beside the fused kernel: the kernel itself needs no score matrix.",
                       when=(Relies("flash-one-kernel", ("other-count",)),)),)),
    "extra-traffic": Case(
        "differs",
        "Flash allocates no score matrix ({peak} beyond its inputs), but moves {extra} through DRAM beyond its operands ({operands}), more than {rules[spill]} of the score "
        "matrix ({scores}).",
        because=_WRITTEN[1:], caveats=(OTHER_SHAPE,),
        advice=(Advice("Check for register spills, and for keys and values re-read by each block of queries: both cost traffic "
                "without a score matrix.", when=(OBEYED,)),)),
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


ANSWERS: dict[str, Case] = {
    "both": answer("Step by step, passes over the score matrix take {passes} of naive in place's GPU time and the matmuls {matmuls}. "
                   "Flash makes none of these passes: it holds at most {peak} beyond its inputs, where the score matrix alone would be {scores}."),
    **{name: answer(case.headline) for name, case in FLASH_CASES.items()},
}


def answer_rule(facts: RunFacts) -> Decision:
    """What takes the time without flash, and what flash keeps out of memory; where a part of it is not known, flash's kernel."""
    found, flash = flash_rule(facts), facts.variants["sdpa_flash"]
    inplace = facts.variants.get("naive_inplace")
    trips = round_trips(facts, inplace) if inplace and inplace.ok else None
    if found.case != "one-kernel" or trips is None or trips.lead is not Lead.PASSES or flash.peak_memory_bytes is None or flash.peak_memory_bytes >= facts.workload.score_bytes:
        return found
    return decide("both", passes=percent(trips.passes / trips.total), matmuls=percent(trips.matmuls / trips.total), peak=Bytes(flash.peak_memory_bytes), scores=Bytes(facts.workload.score_bytes))


FINDING = Finding(
    slug="flash-hbm",
    title="Flash: the scores stay on the chip",
    question="What changes when the score matrix never leaves the chip?",
    questions=(
        claim("flash-one-kernel", "The flash backend is one fused kernel: FlashAttention-2.", flash_rule, FLASH_CASES, needs=(needs.lane("sdpa_flash"),)),
        hbm_dominates.CLAIM,
        claim("flash-never-writes-scores", "Flash keeps the scores on the chip and never writes them to HBM.", never_rule, NEVER_CASES, needs=(needs.ran("sdpa_flash"), BEYOND_CACHE,)),
    ),
    evidence=evidence,
    answer=Question("flash-hbm-answer", "What takes the time without flash, and what does flash do about it?", answer_rule, ANSWERS, needs=(needs.lane("sdpa_flash"),)),
)
