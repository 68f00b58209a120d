"""How it is said that a result is wrong here: for which call, what came out, what to avoid. Each sentence says what a probe showed and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from variants.backends import BACKENDS, title

from ..analysis import FUSED, RunFacts
from ..analysis.correctness import concerned, marks, off, unsafe_needs, without_implied, wrong
from ..analysis.watch import Healing, ProbeFacts
from ..probes import Needs
from ..run import DEFAULT, Compared
from ..saying.units import Count, listed, number_word, verb
from .model import Leads
from .needs import share

MARK = "†"
"""Beside a variant that is right at the run's shape and whose backend gives a wrong result elsewhere."""
MANY = 4
"""How many conditions one sentence of the front page names."""


def named(probe: ProbeFacts) -> str:
    """The public reports behind a probe: `pytorch#196678`; its own id where there is none."""
    return listed([report.name for report in probe.probe.reports]) or probe.probe.id


def names(probes: Iterable[ProbeFacts]) -> str:
    return listed([named(one) for one in probes])


def with_needs(needs: frozenset[Needs]) -> str:
    """`gradients and logits far from 0`, in the order in which `Needs` has them."""
    return listed([need.value for need in Needs if need in without_implied(needs)])


def call(needs: frozenset[Needs]) -> str:
    """`a call with gradients and logits far from 0`; `any call` where nothing special is needed."""
    return f"a call with {with_needs(needs)}" if needs else "any call"


def calls(conditions: Sequence[frozenset[Needs]], most: int | None = None) -> str:
    """`a call with gradients, or one with one query`; conditions beyond `most` are counted."""
    shown = conditions[:most] if most else conditions
    if any(not needs for needs in shown):
        return "any call"
    said = [f"one with {with_needs(needs)}" for needs in shown]
    rest = [f"{Count(len(conditions) - len(shown))} more kinds of call" if len(conditions) - len(shown) > 1 else "one more kind of call"] if len(conditions) > len(shown) else []
    return "a call" + ", or ".join([*said, *rest]).removeprefix("one") if said else ""


def came_out(compared: Sequence[Compared]) -> str:
    """What is off in a result: `gradient of q: 45,056 of 45,056 values not finite`; each tensor that is not right."""
    return "; ".join(_off(one) for one in off(compared)) or "not as expected"


def _off(one: Compared) -> str:
    if one.hidden:
        return f"{one.tensor}: NaN that must come through does not, in {Count(one.hidden)} of {Count(one.elements)} values"
    if one.not_finite or one.error is None:
        return f"{one.tensor}: {Count(one.not_finite)} of {Count(one.elements)} values not finite" if one.elements else f"{one.tensor}: not finite"
    if one.allowed is not None and one.error <= one.allowed and one.row_error is not None:
        allowed = f", allowed {share(one.row_allowed)}" if one.row_allowed is not None else ""
        return f"{one.tensor}: relative error {share(one.row_error)} in one row{allowed}"
    return f"{one.tensor}: relative error {share(one.error)}" + (f", allowed {share(one.allowed)}" if one.allowed is not None else "")


def wrong_said(probe: ProbeFacts, choice: str) -> str:
    """`pytorch#196678 on cuDNN (gradient of q: … not finite)`: what came out for one choice."""
    tried, control = probe.tried(choice), probe.controlled(choice)
    found = tried if tried is not None and tried.outcome == "reproduces" else control
    backend = f" on {title(found.picked)}" if choice == DEFAULT and found is not None and found.picked else ""
    beside = "" if found is tried else "its control, "
    return f"{named(probe)}{backend} ({beside}{came_out(found.compared if found else ())})"


def mark(facts: RunFacts, variant: str) -> str:
    """The sign behind a variant's title wherever it is ranked; empty for one without a mark."""
    return f" {MARK}" if marks(facts, variant) else ""


def mark_notes(facts: RunFacts, variants: Iterable[str]) -> tuple[str, ...]:
    """What the sign means, a sentence for each of `variants` that carries it."""
    return tuple(f"{MARK} {facts.variants[name].title} is right at this run's shape and gives a wrong result elsewhere on this device: avoid {avoided(found)}."
                 for name in variants if name in facts.variants and (found := marks(facts, name)))


def avoided(probes: Sequence[ProbeFacts]) -> str:
    """`masks in FP32 (pytorch#191612)`: what to keep away from, with the report that shows it."""
    return listed([f"{one.probe.avoid.rstrip('.')} ({named(one)})" for one in probes])


def marked(facts: RunFacts, variants: Sequence[str]) -> str:
    """That some of those who lead are not right everywhere; empty where all are."""
    found = [facts.variants[name].title for name in variants if marks(facts, name)]
    return f" {MARK} {listed(found)} {verb(found, 'is', 'are')} right at this shape, and not for every call on this device." if found else ""


def unless(facts: RunFacts, leads: Leads | None, args: Mapping[str, Any]) -> str:
    """For which calls a piece of advice is not given, because what they would get is wrong on this device; empty where there is none."""
    choices = _choices(leads, args) if leads else ()
    found = [needs for choice in choices for needs in unsafe_needs(facts, choice, leads.without if leads else frozenset())]
    conditions = tuple(dict.fromkeys(needs for needs in found if not any(other < needs for other in found)))
    if not conditions:
        return ""
    wrong_ones = [choice for choice in choices if leads and concerned(wrong(facts, choice), leads.without)]
    who = "left unpinned it gives" if DEFAULT in wrong_ones else f"{listed([title(choice) for choice in wrong_ones])} {verb(wrong_ones, 'gives', 'give')}"
    return f"Not for {calls(conditions)}: there {who} a wrong result on this device (“Is it right?” says what to write)."


def _choices(leads: Leads, args: Mapping[str, Any]) -> tuple[str, ...]:
    """The choices that a call may end with whose writer follows the advice."""
    if leads.to == DEFAULT:
        return (DEFAULT,)
    if leads.to == "fused":
        return tuple(name.removeprefix("sdpa_") for name in FUSED)
    given = args.get(leads.to)
    return tuple(choice for choice in ([given] if isinstance(given, str) else given or ()) if choice in BACKENDS)


def instead(probes: Sequence[ProbeFacts]) -> str:
    """What to write for the calls that come out wrong, a sentence for each probe whose cure was seen to cure.

    Where no cure is known to help, the backends that gave a right result are named.
    """
    return " ".join(said for one in probes if (said := _instead(one)))


def _instead(probe: ProbeFacts) -> str:
    start = f"For {call(probe.probe.needs)} ({named(probe)}): "
    if probe.healing is Healing.CURES and probe.probe.cure:
        return f"{start}{probe.probe.cure.words.rstrip('.')}."
    pins = [f"`{BACKENDS[choice].pin}`" for choice in probe.right_pins]
    if pins and not probe.trap:
        return f"{start}pin {listed(pins, 'or')} around it, with `sdpa_kernel(...)`, which came out right here."
    return ""


def number_of(count: int, noun: str) -> str:
    """`one public report`, `12 public reports`."""
    return f"{number_word(count) if count == 1 else Count(count)} {noun}{'' if count == 1 else 's'}"
