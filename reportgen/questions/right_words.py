"""How it is said that a result is wrong here: for which call, what came out, what to avoid. Each sentence says what a probe showed and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from variants.backends import BACKENDS, title

from ..analysis import FUSED, RunFacts
from ..analysis.correctness import Gradients, concerned, marks, masked_gradients, not_of, off, own_gradients, traps, unsafe_needs, without_implied, wrong
from ..analysis.watch import Healing, ProbeFacts
from ..probes import Needs
from ..run import DEFAULT, Compared
from ..saying.units import Count, listed, number_word, verb
from .model import Leads
from .needs import share

MARK = "†"
"""Beside a variant that is right at the run's shape and whose backend gives a wrong result elsewhere."""
PLAIN = frozenset({Needs.MASK, Needs.GRADIENTS})
"""What a call without a mask of one's own and without gradients has not."""
CAUSAL = frozenset({Needs.MASK, Needs.DROPOUT, Needs.GROUPED, Needs.UNEQUAL_LENGTHS})
"""What a call of q, k, v and `is_causal` alone has not, where there are as many queries as keys."""
MANY = 4
"""How many conditions one sentence of the front page names."""


def named(probe: ProbeFacts) -> str:
    """The first public report behind a probe, `pytorch#196678`; its own id where there is none. The table of the page has them all."""
    return probe.probe.reports[0].name if probe.probe.reports else probe.probe.id


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
    return f" {MARK}" if marks(facts, variant) or wrong_gradients(facts, variant) else ""


def wrong_gradients(facts: RunFacts, variant: str) -> str:
    """What is off in the gradients of a variant whose output is right: at the run's own shape, or under a mask; empty where nothing is."""
    held = facts.variants.get(variant)
    if held is None or not held.ok:
        return ""
    own = [came_out(held.training.compared)] if held.training and own_gradients(held) is Gradients.WRONG else []
    masked = [f"under a mask {came_out(held.own_mask.compared)}"] if held.own_mask and masked_gradients(held) is Gradients.WRONG else []
    return "; ".join([*own, *masked])


def mark_notes(facts: RunFacts, variants: Iterable[str]) -> tuple[str, ...]:
    """What the sign means, a sentence for each of `variants` that carries it."""
    return tuple(f"{MARK} {_mark_note(facts, name)}" for name in variants if mark(facts, name))


def _mark_note(facts: RunFacts, variant: str) -> str:
    found, off_there, named_so = marks(facts, variant), wrong_gradients(facts, variant), facts.variants[variant].title
    said = [f"{named_so} is right at this run's shape and gives a wrong result elsewhere on this device: avoid {avoided(found)}."] if found else []
    return " ".join([*said, *([f"{named_so} gives wrong gradients with this run's inputs ({off_there}): do not train with it here."] if off_there else [])])


def avoided(probes: Sequence[ProbeFacts]) -> str:
    """`masks in FP32 (pytorch#191612)`: what to keep away from, with the report that shows it."""
    return listed([f"{one.probe.avoid.rstrip('.')} ({named(one)})" for one in probes])


def marked(facts: RunFacts, variants: Sequence[str]) -> str:
    """That some of those who lead are not right everywhere; empty where all are."""
    found = [facts.variants[name].title for name in variants if mark(facts, name)]
    return f" {MARK} {listed(found)} {verb(found, 'is', 'are')} right in a forward at this shape, and not in every call on this device." if found else ""


def unsafe(facts: RunFacts) -> str:
    """That what an unpinned call gets here is wrong for some calls, and for which: one line of the front page; empty where nothing reproduces."""
    return " ".join(said for said in (_unsafe_calls(facts), _unsafe_gradients(facts)) if said)


def _unsafe_gradients(facts: RunFacts) -> str:
    """That the gradients of the backend which torch picks are wrong with the run's own inputs."""
    chosen = facts.probes.default_backend
    variant = f"sdpa_{chosen.name}" if chosen else ""
    found = wrong_gradients(facts, variant)
    return f"**Unpinned, PyTorch picks {facts.variants[variant].title} here, and its gradients are wrong** with this run's inputs: {found}." if found else ""


def _unsafe_calls(facts: RunFacts) -> str:
    found = wrong(facts)
    if not found:
        return ""
    picked = dict.fromkeys(title(one.picked) for one in found if one.picked)
    return (f"**Unpinned, {calls(unsafe_needs(facts), MANY)} can come out wrong on this device**: {number_of(len(found), 'public report')} "
            f"{verb(len(found), 'reproduces', 'reproduce')} here{f' ({listed(list(picked))})' if picked else ''}.")


def unless(facts: RunFacts, leads: Leads | None, args: Mapping[str, Any]) -> str:
    """For which calls a piece of advice is not given, because what they would get is wrong on this device; empty where there is none."""
    if leads is None:
        return ""
    choices, without = _choices(leads, args), leads.without | (not_of(facts.workload) if leads.this_shape else frozenset())
    found = [needs for choice in choices for needs in unsafe_needs(facts, choice, without)]
    conditions = tuple(dict.fromkeys(needs for needs in found if not any(other < needs for other in found)))
    limits = [_not_for(facts, choices, without, conditions), _mind(facts, choices, without)]
    return " ".join(said for said in limits if said)


def _not_for(facts: RunFacts, choices: Sequence[str], without: frozenset[Needs], conditions: Sequence[frozenset[Needs]]) -> str:
    if not conditions:
        return ""
    wrong_ones = [choice for choice in choices if concerned(wrong(facts, choice), without)]
    who = "the unpinned call" if DEFAULT in wrong_ones else listed([title(choice) for choice in wrong_ones])
    return f"Not for {calls(conditions)}: there {who} can give a wrong result on this device (“Is it right?” says what to write)."


def _mind(facts: RunFacts, choices: Sequence[str], without: frozenset[Needs]) -> str:
    """The traps that these choices fall into and another backend does not: there the choice decides what comes out."""
    met = [one for one in concerned(traps(facts), without) if one.right_pins and any(one.wrong(choice) for choice in choices)]
    if not met:
        return ""
    fallen = [choice for choice in choices if any(one.wrong(choice) for one in met)]
    who = "the unpinned call" if DEFAULT in fallen else listed([title(choice) for choice in fallen])
    return f"Mind {calls(list(dict.fromkeys(one.probe.needs for one in met)))}: there {who} {verb(fallen, 'falls', 'fall')} into a trap that not every backend has (“Is it right?” says what to write)."


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
