"""Pinning an SDPA backend: does the pinned backend's own op appear in the trace, and which is picked unpinned?"""

from __future__ import annotations

from variants import backends

from ..analysis import RunFacts, VariantFacts
from ..analysis.pins import PINNED, own_op, seen_ops
from ..questions import needs
from ..questions.model import Advice, Because, Case, Decision, decide, not_measurable
from ..questions.needs import refusal
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..saying.units import listed, plural

BACKENDS = {name: backend.title for name, backend in backends.BACKENDS.items()}
_DEFAULT = Because("default", "Unpinned, this torch picks {default} for this shape without a mask of one's own and without gradients ({software}): {default_op} is what it dispatches.")

PIN_CASES: dict[str, Case] = {
    
    "all-answer": Case(
        "holds",
        "All four backends answer to their pins, with {software}: each one's own op appears in its trace.",
        because=(_DEFAULT,), caveats=(OTHER_SHAPE,),
        advice=(Advice("Pin a backend in a benchmark or a test, so that a silent fallback becomes an error; leave it open in production "
                "unless you have timed your shapes."),)),
    "other-op": Case(
        "differs",
        "A pin did not decide which backend ran, with {software}: {wrong}.",
        because=(_DEFAULT,), caveats=(OTHER_SHAPE,),
        advice=(Advice("Look in the trace for the op that ran instead, and at torch's warnings for the reason."),)),
    "some-did-not-run": not_measurable(
        "{answered} to their pins, with {software}, but {missing} did not run here ({reason}).", partly=True),
}


def pin_rule(facts: RunFacts) -> Decision:
    missing = [name for name in PINNED if not facts.ok(name)]
    ran = [facts.variants[name] for name in PINNED if facts.ok(name)]
    if any(not variant.ops for variant in ran):
        return needs.older(facts, "the list of CPU ops")
    wrong = [variant for variant in ran if own_op(variant) is None]
    args = {"software": software(facts, "torch", "cudnn"), "other_workload": other_workload(facts), **_default(facts)}
    if wrong:
        return decide("other-op", **args, wrong=listed([f"the trace of {v.title} has no `{PINNED[v.id].ops[0]}`{_instead(v)}" for v in wrong]))
    if missing:
        answered = f"{listed([variant.title for variant in ran])} answer{'s' if len(ran) == 1 else ''}" if ran else "none could answer"
        return decide("some-did-not-run", **args, answered=answered, missing=listed([_title(facts, name) for name in missing]), reason=_reason(facts, missing))
    return decide("all-answer", **args)


def _instead(variant: VariantFacts) -> str:
    seen = seen_ops(variant)
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
