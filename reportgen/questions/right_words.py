"""How it is said that a result is wrong here: for which call, what came out, what to avoid. Each sentence says what a probe showed and no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from variants.backends import BACKENDS, title

from ..analysis import FUSED, RunFacts
from ..analysis.correctness import Gradients, UnsafeCall, marks, masked_gradients, not_of, off, own_gradients, unsafe_calls, without_implied, wrong
from ..analysis.watch import Healing, ProbeFacts
from ..probes import Needs
from ..run import DEFAULT, Compared
from ..saying.units import Count, listed, number_word, plural, verb
from .model import Leads
from .needs import share

MARK = "†"
ON_ITS_PAGE = "the page “Is it right?”"
"""Where the calls that come out wrong are listed, for pages that do not list them."""
"""Beside a variant that is right at the run's shape and whose backend gives a wrong result elsewhere."""
PLAIN = frozenset({Needs.MASK, Needs.GRADIENTS})
"""What a call without a mask and without gradients has not."""
UNMASKED = frozenset({Needs.MASK, Needs.DROPOUT, Needs.GROUPED, Needs.UNEQUAL_LENGTHS})
"""What a call of q, k, v alone has not, nor one with `is_causal` where there are as many queries as keys."""
CAUSAL = UNMASKED | {Needs.ONE_QUERY}
"""What a call of q, k, v and `is_causal` has not, where there are as many queries as keys: with one query that would be one key, and no softmax to go wrong."""


def named(probe: ProbeFacts) -> str:
    """The first public report behind a probe, `pytorch#196678`; its own id where there is none. The table of the page has them all."""
    return probe.probe.reports[0].name if probe.probe.reports else probe.probe.id


def names(probes: Iterable[ProbeFacts]) -> str:
    return listed([named(one) for one in probes])


def with_needs(needs: frozenset[Needs], *probes: ProbeFacts) -> str:
    """`gradients and large logits (near −120)`, in the order in which `Needs` has them. probes: those that show it, which know how large their logits are"""
    logits = listed(list(dict.fromkeys(one.probe.logits for one in probes if one.probe.logits)), "or")
    sizes = {Needs.LARGE_LOGITS: f" ({logits})" if logits else ""}
    return listed([f"{need.value}{sizes.get(need, '')}" for need in Needs if need in without_implied(needs)])


def call(needs: frozenset[Needs], *probes: ProbeFacts) -> str:
    """`a call with gradients and large logits (near −120)`; `any call` where nothing special is needed."""
    return f"a call with {with_needs(needs, *probes)}" if needs else "any call"


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


def listed_notes(facts: RunFacts, variants: Iterable[str], where: str = "the list below") -> tuple[str, ...]:
    """As `mark_notes`, where the unsafe calls stand in a list: one sentence for all marked, and one for each with wrong gradients."""
    found = [name for name in variants if marks(facts, name)]
    off_there = [f"{MARK} {_gradient_note(facts, name)}" for name in variants if wrong_gradients(facts, name)]
    titles = [facts.variants[name].title for name in found]
    said = [f"{MARK} {listed(titles)}: right in this forward, but not in every call on this device; {where} says in which."] if found else []
    return (*said, *off_there)


def unsafe_list(facts: RunFacts) -> list[str]:
    """A line per kind of call that comes out wrong here: its number, what it has, for which choices, what to write instead."""
    return [f"**{one.number}** ({fallen_said(one)}): a call with {with_needs(one.needs, *one.probes)}. {cures_said(one)}".strip() for one in unsafe_calls(facts) if not one.trap]


def cures_said(one: UnsafeCall) -> str:
    """What to write in place of such a call, each cure once; empty where nothing is known to help."""
    return " ".join(dict.fromkeys(f"{said[:1].upper()}{said[1:]}." for probe in one.probes if (said := cure_said(probe))))


def _gradient_note(facts: RunFacts, variant: str) -> str:
    return f"{facts.variants[variant].title} gives wrong gradients with this run's inputs ({wrong_gradients(facts, variant)}): do not train with it here."


def _mark_note(facts: RunFacts, variant: str) -> str:
    found, named_so = marks(facts, variant), facts.variants[variant].title
    said = [f"{named_so} is right in this forward but wrong in other calls on this device: avoid {avoided(found)}."] if found else []
    return " ".join([*said, *([_gradient_note(facts, variant)] if wrong_gradients(facts, variant) else [])])


def avoided(probes: Sequence[ProbeFacts]) -> str:
    """`masks in FP32 (pytorch#191612)`: what to keep away from, with the report that shows it."""
    return listed([f"{one.probe.avoid.rstrip('.')} ({named(one)})" for one in probes])


def marked(facts: RunFacts, variants: Sequence[str]) -> str:
    """That some of those who lead are not right everywhere; empty where all are."""
    found = [facts.variants[name].title for name in variants if mark(facts, name)]
    return f" {MARK} {listed(found)} {verb(found, 'is', 'are')} right in this forward, but not in every call on this device." if found else ""


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
    found = [one for one in unsafe_calls(facts) if DEFAULT in one.choices and not one.trap]
    if not found:
        return ""
    reports_met = wrong(facts)
    picked = dict.fromkeys(title(one.picked) for one in reports_met if one.picked)
    return (f"**Unpinned, {plural(len(found), 'kind of call comes', 'kinds of call come')} out wrong on this device**: {number_of(len(reports_met), 'public report')} "
            f"{verb(len(reports_met), 'reproduces', 'reproduce')} here{f' ({listed(list(picked))})' if picked else ''}.")


def unless(facts: RunFacts, leads: Leads | None, args: Mapping[str, Any]) -> str:
    """For which calls a piece of advice is not given, because what they would get is wrong on this device; empty where there is none."""
    if leads is None:
        return ""
    choices, without = _choices(leads, args), leads.without | (not_of(facts.workload) if leads.this_shape else frozenset())
    met = [one for one in unsafe_calls(facts) if not one.needs & without and any(choice in one.choices for choice in choices)]
    wrong_ones = [one for one in met if not one.trap]
    mind = [one for one in met if one.trap and any(probe.right_pins for probe in one.probes)]
    said = "; ".join([*([f"not for {numbered(wrong_ones)}"] if wrong_ones else []), *([f"mind {numbered(mind)}"] if mind else [])])
    return f"{said[:1].upper()}{said[1:]} (“Is it right?”)." if said else ""


def numbered(found: Sequence[UnsafeCall]) -> str:
    """`unsafe calls 1 to 3 and 5`: the rows of the one list that says what such a call has, and what to write instead."""
    noun = "trap" if found and found[0].trap else "unsafe call"
    numbers = [one.number for one in found]
    runs = [[number for number in numbers if number - numbers.index(number) == start] for start in dict.fromkeys(number - place for place, number in enumerate(numbers))]
    said = [part for run in runs for part in ([f"{run[0]} to {run[-1]}"] if len(run) > 2 else [str(number) for number in run])]
    return f"{noun}{'s' if len(found) > 1 else ''} {listed(said)}"


def fallen_said(one: UnsafeCall) -> str:
    """`unpinned, cuDNN`: for which choices a kind of call goes wrong."""
    return ", ".join("unpinned" if choice == DEFAULT else title(choice) for choice in one.choices)


def _choices(leads: Leads, args: Mapping[str, Any]) -> tuple[str, ...]:
    """The choices that a call may end with whose writer follows the advice."""
    if leads.to == "fused":
        return tuple(name.removeprefix("sdpa_") for name in FUSED)
    given = leads.to if leads.to == DEFAULT else args.get(leads.to)
    return tuple(choice for choice in ([given] if isinstance(given, str) else given or ()) if choice in (DEFAULT, *BACKENDS))


def instead(probes: Sequence[ProbeFacts]) -> str:
    """What to write for the calls that come out wrong, a sentence for each probe whose cure was seen to cure.

    Where no cure is known to help, the backends that gave a right result are named.
    """
    return " ".join(said for one in probes if (said := _instead(one)))


def _instead(probe: ProbeFacts) -> str:
    said = cure_said(probe)
    return f"For {call(probe.probe.needs, probe)} ({named(probe)}): {said}." if said else ""


def cure_said(probe: ProbeFacts) -> str:
    """What to write in place of a call that goes wrong: the cure that was seen to cure, or the pins that came out right; empty where nothing is known to help."""
    if probe.healing is Healing.CURES and probe.probe.cure:
        return probe.probe.cure.words.rstrip(".")
    pins = [f"`{BACKENDS[choice].pin}`" for choice in probe.right_pins]
    if pins and not probe.trap:
        return f"pin {listed(pins, 'or')} around it, with `sdpa_kernel(...)`, which came out right here"
    return ""


def number_of(count: int, noun: str) -> str:
    """`one public report`, `12 public reports`."""
    return f"{number_word(count) if count == 1 else Count(count)} {noun}{'' if count == 1 else 's'}"
