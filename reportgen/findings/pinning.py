"""Pinning an SDPA backend: does the pinned backend's own op appear in the trace, and which is picked unpinned?"""

from __future__ import annotations

from variants.backends import title

from ..analysis import RunFacts, VariantFacts
from ..analysis.pins import PINNED, own_op, seen_ops
from ..questions import needs
from ..questions.model import Advice, Because, Case, Decision, Leads, Relies, decide, not_measurable
from ..questions.needs import refusal
from ..questions.ranked import states_said
from ..questions.shared import OTHER_SHAPE, other_workload, software
from ..run import DEFAULT
from ..saying.units import listed, plural, verb

_DEFAULT = Because("default", "By default PyTorch picks {default} for this shape (no `attn_mask`, no gradients): it dispatches {default_op}.")

OBEYED = Relies("sdpa-pin", ("all-answer", "some-did-not-run"))
"""What advice about a pinned variant rests on: what was measured under a pin is that backend's."""

PIN_CASES: dict[str, Case] = {
    "all-answer": Case(
        "holds",
        "Each of the four backends can be pinned: its own op appears in its trace.",
        because=(_DEFAULT,), caveats=(OTHER_SHAPE,),
        advice=(Advice("Pin a backend in benchmarks and tests, where a silent fallback must become an error. In production leave the choice to PyTorch "
                "unless you have timed your shapes.", leads=Leads(DEFAULT)),)),
    "other-op": Case(
        "differs",
        "A pin did not select its backend: {wrong}.",
        because=(_DEFAULT,), caveats=(OTHER_SHAPE,),
        advice=(Advice("Find the op that ran instead in the trace, and the reason in torch's warnings."),)),
    "some-did-not-run": not_measurable("{answered}{but} {missing}.", partly=True),
}


def pin_rule(facts: RunFacts) -> Decision:
    """A wrong result says nothing about its pin: where its trace was kept, the op in it counts."""
    held = [facts.variants[name] for name in PINNED if name in facts.variants]
    seen = [variant for variant in held if variant.ok or (variant.state.ran and variant.ops)]
    missing = [name for name in PINNED if name not in {variant.id for variant in seen}]
    unknown = next((gate for variant in seen if (gate := needs.no_ops(facts, variant.id))), None)
    if unknown:
        return unknown
    wrong = [variant for variant in seen if own_op(variant) is None]
    args = {"software": software(facts, "torch", "cudnn"), "other_workload": other_workload(facts), **_default(facts)}
    if wrong:
        return decide("other-op", **args, wrong=listed([f"the trace of {v.title} has no `{PINNED[v.id].ops[0]}`{_instead(v)}" for v in wrong]))
    if missing:
        answered = f"{listed([variant.title for variant in seen])} {verb(len(seen), 'runs when pinned', 'run when pinned')}" if seen else "no pin could be tried"
        return decide("some-did-not-run", **args, answered=answered, but=", but" if seen else ":", missing=_missing(facts, missing))
    return decide("all-answer", **args)


def _instead(variant: VariantFacts) -> str:
    seen = seen_ops(variant)
    return f" but {listed([f'`{op}`' for op in seen])}" if seen else ""


def _missing(facts: RunFacts, names: list[str]) -> str:
    """`SDPA efficient and SDPA cuDNN did not run here (No available kernel)`: torch's own words for the first, and how many more reasons there are."""
    held, later = [name for name in names if name in facts.variants], [name for name in names if name not in facts.variants]
    reasons = list(dict.fromkeys(refusal(facts.variants[name].reason or "") for name in held if facts.variants[name].reason))
    more = f"; and {plural(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
    said = [states_said(facts, held) + (f" ({reasons[0]}{more})" if reasons else "")] if held else []
    return "; ".join([*said, *([f"{listed([f'`{name}`' for name in later])} {verb(later, 'is', 'are')} newer than this run"] if later else [])])


def _default(facts: RunFacts) -> dict[str, object]:
    probe = facts.probes.default_backend
    if probe is None or not probe.name or not probe.op:
        return {"default": None, "default_op": None}
    return {"default": title(probe.name), "default_op": f"`{probe.op}`"}
