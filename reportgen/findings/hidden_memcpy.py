"""Masking out of place copies the scores first. Who asked for that copy, and what does in place save?"""

from __future__ import annotations

from ..analysis import ActivityFacts, RunFacts, VariantFacts
from ..analysis.masking import copied, hidden_copies, masking_copies
from ..analysis.ranking import rank
from ..analysis.savings import saving
from ..numbers.statistics import MAGNITUDE_TOLERANCE
from ..questions import needs
from ..questions.model import Advice, Because, Case, Decision, Finding, Question, answer, answers, claim, decide, not_measurable
from ..questions.needs import compared, unmet
from ..questions.ranked import UNSTEADY, disagreement, over_processes
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.units import Bytes, BytesPerSecond, Count, Percent, Ratio, Seconds, difference, listed, number_word, plural
from .hidden_memcpy_evidence import evidence
from .inplace import AUTOGRAD_CASES, BOTH, IN_PLACE, MEMORY_CASES, OPS_CASES, SAVES_MEMORY, SAVES_TIME, autograd_rule, fused_faster, memory_rule, ops_rule

_MEMSETS = Because("memsets", "{memsets} beside them is neither a kernel nor a copy, but a count of all GPU activities includes it.")

HIDDEN_CASES: dict[str, Case] = {
    "no-gpu-lane": Case(
        "not measurable",
        "this run's trace has no GPU lane, so the copy cannot be looked for.",
        because=(Because("cpu_ops", "The CPU ops do ask for it: {cpu_ops} under `aten::masked_fill`."),),
    ),
    "one-copy": Case(
        "holds",
        "`masked_fill` adds a device-to-device copy that is not in the code: {name}, {bytes}, {time}. In place it is gone.",
        because=(Because("path", "The copy is launched under {path}: `masked_fill` clones its input, then masks the clone."),
                 Because("kernel", "On this device a kernel does the copy, so it counts as a kernel, not as a memcpy.")),
        caveats=(_MEMSETS, OTHER_SHAPE),
        advice=IN_PLACE,
    ),
    "several-copies": Case(
        "differs",
        "`masked_fill` adds {count} device copies, not one: {names}. In place there is none.",
        caveats=(_MEMSETS, OTHER_SHAPE),
        advice=IN_PLACE,
    ),
    "no-copy": Case(
        "differs",
        "`masked_fill` adds no device copy: no activity is launched under `masked_fill` → `clone` → `copy_`.",
        caveats=(_MEMSETS, OTHER_SHAPE),
        advice=(Advice("Before rewriting in place, check in the trace what runs under `aten::masked_fill` here."),),
    ),
    "copy-in-both": Case(
        "differs",
        "The masking step copies on the GPU in both variants ({name} in naive), so in place removes nothing.",
        caveats=(_MEMSETS, OTHER_SHAPE),
        advice=(Advice("Find the op above the remaining copy: a mask or score tensor that is not contiguous is copied too."),),
    ),
}


def hidden_rule(facts: RunFacts) -> Decision:
    if not facts.has_gpu_lane:
        return decide("no-gpu-lane", cpu_ops=_cpu_ops(facts.variants["naive"]))
    # Only the ops around a launch tell whose copy it is.
    blocked = unmet(facts, needs.lane(*BOTH), needs.ops(*BOTH))
    if blocked:
        return blocked
    naive, inplace = (facts.variants[name] for name in BOTH)
    copies, left = hidden_copies(naive), masking_copies(inplace)
    args: dict[str, object] = {"software": software(facts, "torch"), "memsets": plural(naive.memsets, "memset") if naive.memsets else None,
                               "other_workload": other_workload(facts), "fused_faster": fused_faster(facts), "saves": saving(facts, *BOTH)}
    if not copies:
        return decide("no-copy", **args)
    args["name"] = _said(copies[0])
    if left:
        return decide("copy-in-both", **args)
    if len(copies) > 1:
        return decide("several-copies", **args, count=Count(len(copies)), names=listed([_said(copy) for copy in copies]))
    copy, size = copies[0], copied(copies[0])
    return decide("one-copy", **args, bytes=Bytes(size) if size else "of a size that the trace does not tell",
                  time=Seconds(copy.duration), path=" → ".join(f"`{op}`" for op in copy.op_path), kernel=copy.kind == "kernel")


def _said(activity: ActivityFacts) -> str:
    return f"`{activity.short}`"


def _cpu_ops(variant: VariantFacts) -> str | None:
    seen = [op for op in ("aten::clone", "aten::copy_") if any(o.name == op and "aten::masked_fill" in o.path for o in variant.ops)]
    return listed([f"`{op}`" for op in seen]) or None


REMOVES_CASES: dict[str, Case] = {
    "no-copy": not_measurable("naive shows no copy under `masked_fill` here, so in place has none to remove."),
    "removed-and-faster": Case(
        "holds",
        "In place removes the copy and saves {saving} of GPU time per forward: {inplace} instead of {naive} ({ratio}, all {processes} processes agree).",
        because=(Because("expected", "The copy reads and writes {bytes}. At this run's copy rate ({ceiling}) that is {expected}; the saving is {share} of it{off}."),),
        caveats=(OTHER_SHAPE,),
        advice=(SAVES_TIME,),
    ),
    "removed-but-tie": Case(
        "within noise",
        "In place removes the copy, but the saving is within noise: {inplace} against {naive} (ratio {span}; differences below {threshold} do not count).",
        because=(Because("expected", "The copy reads and writes {bytes}. At this run's copy rate ({ceiling}) that is {expected}."),),
        caveats=(UNSTEADY, OTHER_SHAPE),
        advice=(SAVES_MEMORY,),
    ),
    "removed-but-slower": Case(
        "differs",
        "In place removes the copy, yet a forward takes longer: {inplace} against {naive} ({ratio}).",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Compare the masking kernels of both variants in their traces: the in-place one may be slower."),),
    ),
    "copy-stays": Case(
        "differs",
        "In place a copy remains under the masking step; GPU time is {inplace} against {naive}.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Find the op above the remaining copy: a mask or score tensor that is not contiguous is copied too."),),
    ),
}


def removes_rule(facts: RunFacts) -> Decision:
    naive, inplace = (facts.variants[name] for name in BOTH)
    copies = hidden_copies(naive)
    if not copies:
        return decide("no-copy")
    pair = rank(facts, "gpu_time", BOTH).pair(inplace.id, naive.id)
    if not pair.comparable:
        return decide("mixed-timers", mixed=listed([naive.title, inplace.title]))
    before, after = naive.times["gpu_time"].median, inplace.times["gpu_time"].median
    args: dict[str, object] = {"naive": Seconds(before), "inplace": Seconds(after), "threshold": Percent(100 * pair.threshold), "apart": disagreement([pair]), "fused_faster": fused_faster(facts),
                               "saves": saving(facts, *BOTH), "other_workload": other_workload(facts), **_expected(facts, copies, before - after)}
    if pair.ratio is not None:
        args |= {"ratio": Ratio(pair.ratio.median), "span": over_processes(pair.ratio, told=False), "processes": number_word(len(pair.ratio.samples))}
    if masking_copies(inplace):
        return decide("copy-stays", **args)
    if pair.winner == inplace.id:
        terms = dict(zip(("naive", "inplace", "saving"), difference(before, after)))
        return decide("removed-and-faster", **{**args, **terms})
    return decide("removed-but-tie" if pair.winner is None else "removed-but-slower", **args)


def _expected(facts: RunFacts, copies: tuple[ActivityFacts, ...], saving: float) -> dict[str, object]:
    """What the copies' bytes should cost at the copy ceiling, where both are known."""
    sizes = [copied(copy) for copy in copies]
    ceiling = facts.ceilings.copy_bytes_per_s if facts.ceilings else None
    if not ceiling or not all(sizes):
        return {}
    size = sum(size for size in sizes if size)
    expected = 2 * size / ceiling
    off = "" if abs(saving / expected - 1) <= MAGNITUDE_TOLERANCE else f", {'more' if saving > expected else 'less'} than the copy explains"
    return {"bytes": Bytes(size), "ceiling": BytesPerSecond(ceiling), "expected": Seconds(expected), "share": Percent(round(100 * saving / expected)), "off": off}


ANSWERS: dict[str, Case] = {
    "saves": answer("`masked_fill` first copies the score matrix: {bytes}, {time} of GPU time. `masked_fill_` does not, and saves {saves}."),
    **answers(HIDDEN_CASES),
}


def answer_rule(facts: RunFacts) -> Decision:
    """The copy and what going without it saves; where this run shows no saving, what it shows of the copy."""
    found = hidden_rule(facts)
    return decide("saves", **found.args) if found.case == "one-copy" and found.args["saves"] else found


FINDING = Finding(
    slug="hidden-memcpy",
    title="The hidden Memcpy",
    question="You wrote five operations. How many does the GPU run?",
    questions=(
        claim("memcpy-hidden", "Out-of-place `masked_fill` adds one device-to-device copy that nobody wrote.", hidden_rule, HIDDEN_CASES, needs=(needs.ran(*BOTH),)),
        claim("memcpy-inplace-removes", "`masked_fill_` removes the copy and saves its time.", removes_rule, REMOVES_CASES, needs=(needs.lane(*BOTH), needs.ops(*BOTH), compared("gpu_time", *BOTH))),
        claim("inplace-fewer-cpu-ops", "The masking step dispatches fewer CPU ops in place.", ops_rule, OPS_CASES, needs=(needs.ops(*BOTH),)),
        claim("inplace-autograd", "In place is safe without autograd; with autograd it may break the backward pass.", autograd_rule, AUTOGRAD_CASES, needs=(needs.ran(*BOTH),)),
        claim("inplace-memory", "In place also saves memory.", memory_rule, MEMORY_CASES, needs=(needs.ran(*BOTH),)),
    ),
    evidence=evidence,
    answer=Question("hidden-memcpy-answer", "What does the hidden copy cost, and what does going without it save?", answer_rule, ANSWERS, needs=(needs.ran(*BOTH),)),
)
