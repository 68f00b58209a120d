"""Pinning an SDPA backend: does the pinned backend's own op appear in the trace, and which is picked unpinned?"""

from __future__ import annotations

from ..analysis import RunFacts, VariantFacts
from ..saying.units import listed, plural
from ..questions.model import NOT_RECORDED, Because, Case, Decision, decide, not_measurable, not_recorded, refusal
from ..questions.shared import OTHER_SHAPE, other_workload, software

OWN_OPS: dict[str, tuple[str, ...]] = {
    "sdpa_math": ("aten::_scaled_dot_product_attention_math",),
    "sdpa_efficient": ("aten::_scaled_dot_product_efficient_attention",),
    "sdpa_flash": ("aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_flash_attention_for_cpu"),
    "sdpa_cudnn": ("aten::_scaled_dot_product_cudnn_attention",),
}
"""Pinned variant → the op that only its backend dispatches; flash has another on the CPU."""

BACKENDS = {"cudnn": "cuDNN"}
_DEFAULT = Because("default", "Unpinned, this torch picks {default} for this shape without a mask of one's own and without gradients ({software}): {default_op} is what it dispatches.")

PIN_CASES: dict[str, Case] = {
    **NOT_RECORDED,
    "all-answer": Case(
        "holds",
        "All four backends answer to their pins, with {software}: each one's own op appears in its trace.",
        because=(_DEFAULT,), caveats=(OTHER_SHAPE,),
        advice="Pin a backend in a benchmark or a test, so that a silent fallback becomes an error; leave it open in production unless you have timed your shapes."),
    "other-op": Case(
        "differs",
        "A pin did not decide which backend ran, with {software}: {wrong}.",
        because=(_DEFAULT,), caveats=(OTHER_SHAPE,),
        advice="Look in the trace for the op that ran instead, and at torch's warnings for the reason."),
    "some-did-not-run": not_measurable(
        "Not measurable in full: {answered} to their pins, with {software}, but {missing} did not run here ({reason})."),
}


def pin_rule(facts: RunFacts) -> Decision:
    missing = [name for name in OWN_OPS if not facts.ok(name)]
    ran = [facts.variants[name] for name in OWN_OPS if facts.ok(name)]
    if any(not variant.ops for variant in ran):
        return not_recorded(facts, "the list of CPU ops")
    wrong = [variant for variant in ran if own_op(variant) is None]
    args = {"software": software(facts, "torch", "cudnn"), "other_workload": other_workload(facts), **_default(facts)}
    if wrong:
        return decide("other-op", **args, wrong=listed([f"the trace of {v.title} has no `{OWN_OPS[v.id][0]}`{_instead(v)}" for v in wrong]))
    if missing:
        answered = f"{listed([variant.title for variant in ran])} answer{'s' if len(ran) == 1 else ''}" if ran else "none could answer"
        return decide("some-did-not-run", **args, answered=answered, missing=listed([_title(facts, name) for name in missing]), reason=_reason(facts, missing))
    return decide("all-answer", **args)


def own_op(variant: VariantFacts) -> str | None:
    """The backend's own op as it stands in the variant's trace, matched by its whole name."""
    names = {op.name for op in variant.ops}
    return next((op for op in OWN_OPS[variant.id] if op in names), None)


def _instead(variant: VariantFacts) -> str:
    names = {op.name for op in variant.ops}
    seen = [op for own in OWN_OPS.values() for op in own if op in names]
    return f" but {listed([f'`{op}`' for op in seen])}" if seen else ""


def _title(facts: RunFacts, name: str) -> str:
    return facts.variants[name].title if name in facts.variants else name


def _reason(facts: RunFacts, missing: list[str]) -> str:
    """torch's own words for the first, and how many more reasons there are."""
    reasons = list(dict.fromkeys((facts.variants[name].reason or facts.variants[name].state.value) if name in facts.variants else "recorded before this variant was added"
                                 for name in missing))
    return refusal(reasons[0]) + (f"; and {plural(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else "")


def _default(facts: RunFacts) -> dict[str, object]:
    probe = facts.probes.default_backend
    if probe is None or not probe.name or not probe.op:
        return {"default": None, "default_op": None}
    return {"default": BACKENDS.get(probe.name, probe.name), "default_op": f"`{probe.op}`"}
