"""`is_causal=True` on the math backend: a flag that builds a mask each time?"""

from __future__ import annotations

from collections.abc import Iterable

from ..analysis import ActivityFacts, RunFacts, VariantFacts
from ..analysis.mask_building import mask_building
from ..analysis.masking import takes_no_mask
from ..analysis.patterns.rebuilt_mask import STEPS, Step
from ..analysis.ranking import faster
from ..analysis.softmax import SAFE_OP
from ..questions import needs
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, Leads, claim, decide, not_measurable
from ..questions.right_words import CAUSAL
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..questions.steps import total
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, Count, Percent, Saving, Seconds, listed, plural

_ADVICE = (Advice("With as many queries as keys, use `is_causal=True` and a fused backend: it compares indices inside the kernel and builds no mask (saving: building the mask, in the trace).",
    "If you must use math, build the mask once, keep it as a module buffer and pass it{rules_out}.", needs="fused_faster", leads=Leads("fused", CAUSAL), saves="saves"),)
"""Where a fused backend is faster than math here."""
_APPLY = (Because("cheap", "Building is cheap. Applying the mask (`aten::add_`, one pass over the whole score matrix) takes {apply_time}."),
          Because("dear", "Applying the mask (`aten::add_`, one pass over the whole score matrix) takes {apply_time}."))
CHEAP = 5
"""Percent of the forward below which building the mask is called cheap."""

_UNFILLED = Because("unfilled", "Here {unfilled} writes its value itself, without an `aten::fill_` below it.")

REBUILT_CASES: dict[str, Case] = {
    "rebuilt": Case(
        "holds",
        "Math rebuilds the causal mask in every recorded forward: {count}, {time} of {whole} GPU time ({share}), under {parts}.",
        because=_APPLY,
        caveats=(_UNFILLED, OTHER_SHAPE),
        advice=_ADVICE,
    ),
    "rebuilt-ops-only": Case(
        "holds",
        "Math rebuilds the causal mask in every recorded forward: {cpu_time} of {cpu_whole} CPU time under the profiler, in {parts}.",
        caveats=(_UNFILLED, Because("no_lane", "Without a GPU lane the cost on a GPU is not seen."), OTHER_SHAPE),
        advice=_ADVICE,
    ),
    "part-missing": Case(
        "differs",
        "Math builds the mask differently: every recorded forward has {parts}, but not {missing_parts}.",
        because=_APPLY,
        caveats=(OTHER_SHAPE,),
        advice=_ADVICE,
    ),
    "not-rebuilt": Case(
        "differs",
        "Math builds no mask: its forward has none of {missing_parts}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Nothing to do here. Check the trace again after updating PyTorch."),),
    ),
    "forwards-differ": not_measurable(
        "{odd} ran other activities than the rest, so nothing can be said of every forward."),
}


def rebuilt_rule(facts: RunFacts) -> Decision:
    math = facts.variants["sdpa_math"]
    if math.integrity and math.integrity.differing:
        return decide("forwards-differ", odd=plural(len(math.integrity.differing), "forward"))
    mask, whole = mask_building(math), total(math.activities)
    built, applied = total(mask.built), total(mask.applied)
    share = 100 * built / whole if whole else 0.0
    cheap = share < CHEAP and built < applied
    args = {"software": software(facts, "torch"), "cheap": bool(mask.applied) and cheap, "dear": bool(mask.applied) and not cheap,
            "parts": _said(step[:1] if step[0] == mask.unfilled else step for step in mask.seen), "missing_parts": _said(mask.absent),
            "apply_time": Seconds(applied) if mask.applied else None, "unfilled": f"`{mask.unfilled}`" if mask.unfilled else None,
            "other_workload": other_workload(facts), "fused_faster": bool(faster(facts, math.id)), "rules_out": _rules_out(facts),
            "saves": Saving(built, built / whole, math.title) if built and whole else None}
    if not mask.seen:
        return decide("not-rebuilt", **args)
    if mask.absent:
        return decide("part-missing", **args)
    if not math.activities:
        return decide("rebuilt-ops-only", **args, cpu_time=Seconds(mask.cpu_time), cpu_whole=Seconds(mask.whole_cpu_time or 0.0), no_lane=True)
    return decide("rebuilt", **args, count=plural(sum(a.kind == "kernel" for a in mask.built), "kernel"), time=Seconds(built), whole=Seconds(whole),
                  share=Percent(share))


def _rules_out(facts: RunFacts) -> str:
    """What an explicit mask costs, where this run saw flash refuse one on a GPU."""
    return " (flash on a GPU refuses an explicit mask)" if facts.device.kind != "cpu" and takes_no_mask(facts, "sdpa_flash") else ""


def _said(steps: Iterable[Step]) -> str:
    """`aten::ones` → `aten::fill_`, `aten::tril` and …: each op as code."""
    return listed([" → ".join(f"`{op}`" for op in step) for step in steps])


def evidence(facts: RunFacts) -> Evidence:
    math = facts.variants.get("sdpa_math")
    if not math or not math.ok:
        return Evidence()
    mask = mask_building(math)
    return Evidence(tables=(*_op_table(math), *_activity_table(math, mask.built, mask.applied)), charts=_cost(math, mask.built, mask.applied))


def _op_table(math: VariantFacts) -> tuple[Table, ...]:
    names = {op for step in STEPS for op in step} | {"aten::add_"}
    rows = tuple((Code("· " * (len(op.path) - 3) + op.name), Seconds(op.duration).us()) for op in math.ops
                 if SAFE_OP not in op.path and names & set(op.path))
    return (Table(columns("CPU op (dots: depth)", "#CPU time under the profiler (µs)"), rows, caption="The ops that build and apply the mask in one math forward."),) if rows else ()


def _activity_table(math: VariantFacts, built: tuple[ActivityFacts, ...], apply: tuple[ActivityFacts, ...]) -> tuple[Table, ...]:
    rows = tuple((Count(place), "build" if a in built else "apply", a.role, Code(a.short), Code(" → ".join(a.op_path[2:])), Bytes(a.requested_bytes) if a.requested_bytes else None,
                  Seconds(a.duration).us()) for place, a in enumerate((*built, *apply), start=1))
    return (Table(columns("Step", "For", "Role", "Kernel", "Under the ops", "#Requested bytes (modelled)", "#GPU time (µs)"), rows,
                  caption="What the mask costs on the GPU in one math forward."),) if rows else ()


def _cost(math: VariantFacts, built: tuple[ActivityFacts, ...], apply: tuple[ActivityFacts, ...]) -> tuple[Chart, ...]:
    if not built and not apply:
        return ()
    parts = (("build the mask", total(built)), ("apply the mask", total(apply)), ("everything else", total(math.activities) - total(built) - total(apply)))
    data = {"labels": [math.title], "series": [(name, [time * 1e6]) for name, time in parts], "keys": [f"part:{name}" for name, _ in parts], "unit": "µs"}
    said = ", ".join(f"{name} {Seconds(time)}" for name, time in parts)
    return (Chart("mask-rebuilt-cost", "stacked", data, alt=f"GPU time of one math forward: {said}.", caption="Building the mask, applying it, and the rest of a math forward."),)


FINDING = Finding(
    slug="mask-rebuilt",
    title="The flag that builds a mask",
    question="`is_causal=True` looks like a switch. What does the math backend do with it on each call?",
    questions=(
        claim("math-mask-rebuilt", "With `is_causal=True`, math builds the mask anew on every forward.", rebuilt_rule, REBUILT_CASES, needs=(needs.ops("sdpa_math"),)),
    ),
    evidence=evidence,
)
