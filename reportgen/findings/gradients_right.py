"""Are the gradients of every variant right, at the run's own shape and under a mask?"""

from __future__ import annotations

from ..analysis import RunFacts, VariantFacts
from ..analysis.correctness import Gradients, masked_gradients, own_gradients, unsafe_calls
from ..probes import Needs
from ..questions import needs
from ..questions.model import Because, Case, Decision, decide, not_measurable
from ..questions.needs import refusal
from ..questions.right_words import came_out, numbered
from ..questions.shared import software
from ..saying.units import listed

_CAVEATS = (
    Because("no_mask", "Takes no `attn_mask`, so only the causal call was compared: {no_mask}."),
    Because("refused", "Refused by torch: {refused}."),
    Because("broke_off", "Broke off: {broke_off}."),
    Because("uncompared", "Not compared in this run: {uncompared}."),
)

GRADIENTS_CASES: dict[str, Case] = {
    "all-right": Case("holds", "At this run's own shape, the only one compared, gradients come out right beside FP64: those of {own}{masked}.{elsewhere}", caveats=_CAVEATS),
    "wrong": Case("differs", "Gradients are wrong on this device: {which}.", caveats=_CAVEATS),
    "broke-off": not_measurable("at this run's own shape, the only one compared, gradients come out right beside FP64 (those of {own}{masked}), but {broke_off} broke off.{elsewhere}", partly=True),
    "none-ran": not_measurable("no variant's gradients could be compared with FP64 ({reason})."),
}


def gradients_rule(facts: RunFacts) -> Decision:
    """Variants whose output is wrong already are left out; what a backend refuses is no wrong gradient."""
    held = [variant for variant in facts.variants.values() if variant.ok]
    own, masked = ({variant.id: outcome(variant) for variant in held} for outcome in (own_gradients, masked_gradients))
    if all(found is Gradients.NOT_COMPARED for found in (*own.values(), *masked.values())):
        blocked = next((found for variant in facts.six if (found := needs.unmet(facts, needs.ran(variant.id)))), None) if not held else None
        return blocked or needs.older(facts, needs.RIGHTNESS)
    args = {"software": software(facts, "torch", "cudnn"), "own": _titles(facts, own, Gradients.RIGHT), "no_mask": _titles(facts, masked, Gradients.NO_MASK),
            "refused": _either(facts, own, masked, Gradients.REFUSED), "broke_off": _either(facts, own, masked, Gradients.FAILED), "uncompared": _titles(facts, own, Gradients.NOT_COMPARED), "elsewhere": _elsewhere(facts)}
    wrong = [_wrong(variant, own[variant.id], masked[variant.id]) for variant in held if Gradients.WRONG in (own[variant.id], masked[variant.id])]
    if wrong:
        return decide("wrong", **args, which="; ".join(wrong))
    under = _titles(facts, masked, Gradients.RIGHT)
    if not args["own"]:
        return decide("none-ran", **args, reason=_reason(held))
    said = f", and under a mask output and gradients of {under}" if under else ""
    return decide("broke-off" if args["broke_off"] else "all-right", **args, masked=said)


def _elsewhere(facts: RunFacts) -> str:
    """Which of the calls that come out wrong here do so in a backward pass; empty where none does."""
    found = [one for one in unsafe_calls(facts) if Needs.GRADIENTS in one.needs and not one.trap]
    return f" Other calls give wrong gradients here: {numbered(found)} (“Is it right?”)." if found else ""


def _titles(facts: RunFacts, found: dict[str, Gradients], outcome: Gradients) -> str:
    return listed([facts.variants[name].title for name, one in found.items() if one is outcome])


def _either(facts: RunFacts, own: dict[str, Gradients], masked: dict[str, Gradients], outcome: Gradients) -> str:
    """Titles of those that ended so, with where it was under a mask alone."""
    return listed([f"{facts.variants[name].title}{'' if own[name] is outcome else ' under a mask'}" for name in own if outcome in (own[name], masked[name])])


def _wrong(variant: VariantFacts, own: Gradients, masked: Gradients) -> str:
    parts = [came_out(variant.training.compared if variant.training else ())] if own is Gradients.WRONG else []
    parts += [f"under a mask {came_out(variant.own_mask.compared if variant.own_mask else ())}"] if masked is Gradients.WRONG else []
    return f"{variant.title} ({'; '.join(parts)})"


def _reason(held: list[VariantFacts]) -> str:
    reasons = [variant.training.reason for variant in held if variant.training and variant.training.reason]
    return refusal(next(iter(reasons), "no reason recorded"))
