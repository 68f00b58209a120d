"""What else masking in place is said to do: fewer CPU ops, trouble with autograd, less memory."""

from __future__ import annotations

from ..analysis import RunFacts
from ..analysis.masking import mask_ops
from ..analysis.ranking import faster
from ..analysis.savings import saving
from ..questions import needs
from ..questions.model import Advice, Because, Case, Decision, Leads, Relies, decide, not_measurable
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.units import Bytes, Count, Percent, Seconds, listed, plural

BOTH = ("naive", "naive_inplace")
KEEPS_SCORES = Relies("flash-never-writes-scores", ("never-allocated", "never-written", "within-operands"))
"""What advice rests on that promises a fused backend without a score matrix in memory."""
_WRITE = "Where no gradient is needed (`torch.inference_mode()`, `torch.no_grad()`), write `scores.masked_fill_(mask, float(\"-inf\"))`."
_FURTHER = "A fused SDPA backend has no masking step at all."
FASTER = Relies("memcpy-inplace-removes", ("removed-and-faster",))
_LEVEL = Relies("memcpy-inplace-removes", ("removed-but-tie",))
SAVES_TIME = Advice(_WRITE, _FURTHER, when=(FASTER,), more_needs="fused_faster", more_leads=Leads("fused"), saves="saves")
SAVES_MEMORY = Advice(_WRITE, _FURTHER, when=(_LEVEL, Relies("inplace-memory", ("smaller",))), more_needs="fused_faster", more_leads=Leads("fused"))
IN_PLACE = (SAVES_TIME, SAVES_MEMORY)
"""Where in place saves time, or saves memory and costs no time."""


def fused_faster(facts: RunFacts) -> bool:
    """Whether a fused backend gives a right result here and is faster than masking in place."""
    return bool(faster(facts, "naive_inplace"))



OPS_CASES: dict[str, Case] = {
    "no-mask-step": not_measurable("the trace of {missing} shows no `masked_fill` op, so there is no masking step to count."),
    "fewer": Case(
        "holds",
        "The masking step dispatches {inplace} in place instead of {naive}.",
        because=(Because("gone", "Gone in place: {gone}."),
                 Because("profiled", "On the CPU the step takes {profiled_inplace} instead of {profiled}, both under the profiler and including its overhead.")),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Where the GPU waits for the CPU (small batches, short sequences), fewer dispatched ops shorten every forward. Elsewhere they "
                "change nothing.", needs="cheaper_call"),),
    ),
    "same": Case("differs", "The masking step dispatches {inplace} either way.", caveats=(OTHER_SHAPE,)),
    "more": Case("differs", "The masking step dispatches more in place: {inplace} instead of {naive}.", caveats=(OTHER_SHAPE,)),
}


def ops_rule(facts: RunFacts) -> Decision:
    for name in BOTH:
        if not mask_ops(facts.variants[name]):
            return decide("no-mask-step", missing=facts.variants[name].title)
    naive, inplace = (mask_ops(facts.variants[name]) for name in BOTH)
    gone = [name for name in dict.fromkeys(op.name for op in naive) if name not in {op.name for op in inplace}]
    args = {"software": software(facts, "torch"), "naive": Count(len(naive)), "inplace": plural(len(inplace), "CPU op"),
            "gone": listed([f"`{name}`" for name in gone]), "profiled": Seconds(naive[0].duration),
            "profiled_inplace": Seconds(inplace[0].duration), "other_workload": other_workload(facts), "cheaper_call": _cheaper_call(facts)}
    if len(inplace) == len(naive):
        return decide("same", **args)
    return decide("fewer" if len(inplace) < len(naive) else "more", **args)


def _cheaper_call(facts: RunFacts) -> bool:
    """Whether there is a GPU that could wait, and a call costs the CPU less in place."""
    found = facts.compare("host_time", "naive_inplace", "naive")
    return facts.device.kind != "cpu" and facts.host_told and found is not None and found.winner == "first"


AUTOGRAD_CASES: dict[str, Case] = {
    "probe-failed": not_measurable("the gradients could not be taken here ({reason})."),
    "fine-here": Case(
        "holds",
        "In this graph masking in place is safe with autograd: backward runs and the gradients equal naive's. In other graphs torch refuses it: {message}.",
        because=(Because("safe", "Multiplying by a constant does not save its result for backward, so overwriting it is safe. `exp` does save its result, so there autograd refuses."),),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("In training, overwrite a tensor only if the op that made it does not save it for backward.",
                "Autograd's version counter catches the mistake with an error, but not if you write through `.data`."),),
    ),
    "refused-here": Case(
        "holds",
        "Autograd refuses backward through the in-place mask in this graph: {reason}",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Keep `masked_fill` in training code."), Advice("Keep `masked_fill_` for inference.", when=(FASTER,))),
    ),
    "gradients-differ": Case(
        "holds",
        "Backward runs through the in-place mask, but its gradients differ from naive's (relative difference {difference}).",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Keep `masked_fill` in training code.",
                "Report it to PyTorch with this graph: a silently wrong gradient is worse than an error."),),
    ),
    "never-refused": Case(
        "differs",
        "Nothing breaks: backward through the in-place mask gives naive's gradients, and the minimal graph that should be refused runs too.",
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Check the gradients of your own graph (`torch.autograd.gradcheck`) before trusting this."),),
    ),
}


def autograd_rule(facts: RunFacts) -> Decision:
    probe = facts.probes.autograd
    if probe is None:
        return needs.older(facts, "the gradient of both variants")
    args = {"software": software(facts, "torch"), "other_workload": other_workload(facts)}
    if probe.inplace_backward == "refused":
        return decide("refused-here", **args, reason=probe.reason)
    if probe.inplace_backward != "ok" or probe.gradients_equal is None:
        return decide("probe-failed", reason=(probe.reason or "naive has no gradient to compare with").rstrip("."))
    if not probe.gradients_equal:
        return decide("gradients-differ", **args, difference=probe.relative_difference)
    minimal = probe.minimal_refusal
    if minimal is None:
        return needs.older(facts, "a graph that autograd refuses")
    if not minimal.refused:
        return decide("never-refused", **args)
    return decide("fine-here", **args, message=_first_sentence(minimal.message or ""), safe=True)


def _first_sentence(message: str) -> str:
    return "“" + message.strip().splitlines()[0].split(": ")[0].removesuffix(".") + "”"


MEMORY_CASES: dict[str, Case] = {
    "not-counted": not_measurable("torch counts no peak memory on this device."),
    "smaller": Case(
        "holds",
        "In place lowers the peak memory of a forward by {saving}: {inplace} instead of {naive} above its inputs.",
        caveats=(OTHER_SHAPE,),
        advice=IN_PLACE,
    ),
    "same": Case(
        "differs",
        "In place does not lower peak memory: both variants need {inplace} above their inputs.",
        because=(Because("matrices", "The peak is at the last matmul: {matrices} of {score} (the weights, and `scores`, which is still referenced) and the output of {output}, within {within}. "
                                     "Saving memory at the mask cannot lower it."),),
        caveats=(OTHER_SHAPE,),
        advice=(Advice("Peak memory falls only if no step holds two score matrices, and softmax does. Use a fused backend: it never stores the scores.",
                       when=(KEEPS_SCORES,), leads=Leads("fused")),),
    ),
    "larger": Case(
        "differs",
        "In place raises the peak memory of a forward: {inplace} instead of {naive} above its inputs.",
        caveats=(OTHER_SHAPE,),
    ),
}
SAME_PEAK = 0.01
"""Peaks closer than this are called the same: the allocator rounds, and libraries keep small workspaces."""


def memory_rule(facts: RunFacts) -> Decision:
    naive, inplace = (facts.variants[name].peak_memory_bytes for name in BOTH)
    if naive is None or inplace is None:
        return decide("not-counted") if facts.device.kind == "cpu" else needs.older(facts, "peak memory", "naive", "naive_inplace", part="memory")
    score, output = facts.workload.score_bytes, facts.workload.operand_bytes // 4
    # two score matrices alone must not fit as well, or the output's share could not be told
    last_matmul = abs(naive - 2 * score - output) <= SAME_PEAK * naive < abs(naive - 2 * score)
    args = {"naive": Bytes(naive), "inplace": Bytes(inplace), "saving": Bytes(naive - inplace), "score": Bytes(score), "output": Bytes(output),
            "within": Percent(100 * SAME_PEAK), "matrices": plural(2, "score matrix", "score matrices") if last_matmul else None, "other_workload": other_workload(facts), "fused_faster": fused_faster(facts), "saves": saving(facts, *BOTH)}
    if abs(naive - inplace) <= SAME_PEAK * naive:
        return decide("same", **args)
    return decide("smaller" if inplace < naive else "larger", **args)
