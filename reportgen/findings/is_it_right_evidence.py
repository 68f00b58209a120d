"""Tables of the page on right results: a line per probe, what each cure did, what torch picks, every variant's gradients."""

from __future__ import annotations

from collections.abc import Sequence

from variants.backends import title

from ..analysis import RunFacts, VariantFacts
from ..analysis.correctness import Gradients, UnsafeCall, cures, masked_gradients, own_gradients, reports, traps, unsafe_calls
from ..analysis.watch import PINS, Healing, ProbeFacts
from ..questions.model import Evidence, Fold
from ..questions.needs import refusal, share
from ..questions.right_words import call, came_out, cures_said, fallen_said, named, with_needs
from ..run import DEFAULT, Compared, Pick
from ..saying.tables import Table, Url, columns
from ..saying.units import Count, Seconds, listed, plural

_HEADS = ("Reported", "What goes wrong", "Inputs; what is compared", "Unpinned", *(title(pin) for pin in PINS))
_MASKS = {"none": "none", "causal": "`is_causal`", "bool": "bool", "float": "floats in the type of q"}
_OUTCOMES = {"right": "right", "refused": "refused", "failed": "broke off"}
LOOSE = 1.0
"""A relative error that a bound allows and that is as large as the exact result itself."""
_HEALED = {Healing.CURES: "right", Healing.FAILS: "not right", Healing.NOT_RUN: "not run"}


def evidence(facts: RunFacts) -> Evidence:
    return Evidence(tables=(*_probes(reports(facts), "Public reports of wrong results, tried on this device. Each choice is compared with FP64."),
                            *_probes(traps(facts), "Traps: what torch documents, or what follows from its formula or is left open by it. No wrong result of torch, and not what the writer of the call meant."),
                            *_cures(facts), *picks_table(facts), *_gradients(facts)),
                    folds=(*(_fold(one) for one in cures(facts) if one.healing is Healing.CURES), *_sources(facts), *_refusals(facts)))


def steps(facts: RunFacts) -> Table | None:
    """The one list of calls that go wrong here, with what to write instead; advice elsewhere refers to its numbers. `None` where none does."""
    rows = tuple((f"trap {one.number}" if one.trap else one.number, with_needs(one.needs, *one.probes), fallen_said(one),
                  cures_said(one) or None, _sourced(one)) for one in unsafe_calls(facts))
    notes = ("A trap is documented, or left open by the formula: no wrong result of torch, and not what the writer of the call meant.",) if any(one.trap for one in unsafe_calls(facts)) else ()
    return Table(columns("Unsafe call", "A call with", "Goes wrong", "Write instead", "Reported"), rows, notes=notes) if rows else None


def _sourced(one: UnsafeCall) -> object:
    return _source(one.probes[0]) if len(one.probes) == 1 else ", ".join(named(probe) for probe in one.probes)


def _sources(facts: RunFacts) -> tuple[Fold, ...]:
    """Every public report with what its reporter named, and the seconds that its probe took here; those of a probe stand in its first row."""
    tried = (*reports(facts), *traps(facts))
    rows = tuple((Url(report.name, report.url), report.versions, report.devices, report.backends, Seconds(one.run.seconds) if not place and one.run and one.run.seconds else None)
                 for one in tried for place, report in enumerate(one.probe.reports))
    if not rows:
        return ()
    took = f" All probes took {Seconds(facts.watch.seconds)} of this run, cures and what torch picks included." if facts.watch.seconds else ""
    return (Fold("Versions, devices and backends that each report names, and how long its probe took here",
                 f"In the reporters' terms, not those of this device.{took}", tables=(Table(columns("Report", "Versions", "Devices", "Backends", "#Its probe took"), rows),)),)


def _refusals(facts: RunFacts) -> tuple[Fold, ...]:
    """torch's words where it refused, each once, with who met them."""
    met: dict[str, list[str]] = {}
    for one in (*reports(facts), *traps(facts)):
        for choice in (DEFAULT, *PINS):
            found = one.tried(choice)
            if found is not None and found.outcome == "refused":
                met.setdefault(refusal(found.reason or "no reason recorded"), []).append(f"{named(one)} ({'unpinned' if choice == DEFAULT else title(choice)})")
    rows = tuple((words, ", ".join(who)) for words, who in met.items())
    return (Fold("What torch said where it refused", "A refusal is neither right nor wrong.", tables=(Table(columns("In torch's words", "For"), rows),)),) if rows else ()


def _probes(probes: Sequence[ProbeFacts], caption: str) -> tuple[Table, ...]:
    if not probes:
        return ()
    rows = tuple((_source(one), one.probe.title, f"{one.probe.inputs}; {one.probe.compared}", *(_cell(one, choice) for choice in (DEFAULT, *PINS))) for one in probes)
    return (Table(columns(*_HEADS), rows, caption=caption, notes=tuple(_notes(probes))),)


def _source(probe: ProbeFacts) -> object:
    first = next(iter(probe.probe.reports), None)
    return Url(listed([report.name for report in probe.probe.reports]), first.url) if first else probe.probe.id


def _cell(probe: ProbeFacts, choice: str) -> str | None:
    """What came out for one choice: right, what is off, or that torch refused."""
    if probe.run is not None and probe.run.not_here:
        return "not this device"
    tried, control = probe.tried(choice), probe.controlled(choice)
    if tried is None:
        return None
    backend = f" ({title(tried.picked)})" if tried.picked and choice == DEFAULT else ""
    beside = f"; its control **wrong**: {came_out(control.compared)}" if control is not None and control.outcome == "reproduces" else ""
    if tried.outcome == "reproduces":
        return f"{'otherwise' if probe.trap else 'wrong'}{backend}: {came_out(tried.compared)}{beside}".replace("**", "")
    return f"{_OUTCOMES[tried.outcome]}{backend}{beside}".replace("**", "")


def _notes(probes: Sequence[ProbeFacts]) -> list[str]:
    """torch's words for refusals and breaks, those that share them in one note."""
    reasons: dict[str, list[str]] = {}
    for one in probes:
        for choice in (DEFAULT, *PINS):
            tried = one.tried(choice)
            if tried is not None and tried.outcome == "failed":
                who = "unpinned" if choice == DEFAULT else title(choice)
                reasons.setdefault(refusal(tried.reason or "no reason recorded"), []).append(f"{named(one)} ({who})")
    return [f"Broke off: {', '.join(who)}: {reason}." for reason, who in reasons.items()] + [
        f"{named(one)}: {one.run.not_here.rstrip('.')}." for one in probes if one.run and one.run.not_here] + [said for one in probes if (said := _loose(one))]


def _loose(probe: ProbeFacts) -> str:
    """That a tensor's bound is so wide that *right* says little: rounding alone may be off by as much as the exact result is large."""
    held = [tried for choice in (DEFAULT, *PINS) for tried in (probe.tried(choice), probe.controlled(choice)) if tried is not None and tried.outcome == "right"]
    widest: dict[str, float] = {}
    for one in (one for tried in held for one in tried.compared if one.right and one.allowed is not None and one.allowed >= LOOSE):
        widest[one.tensor] = max(widest.get(one.tensor, 0.0), one.allowed or 0.0)
    said = listed([f"{tensor} (up to {share(allowed)} is allowed)" for tensor, allowed in widest.items()])
    return f"{named(probe)}: rounding alone may be off there by more than the exact {said}, so “right” says no more than that it is finite and within that bound." if said else ""


def _cures(facts: RunFacts) -> tuple[Table, ...]:
    rows = tuple((named(one), call(one.probe.needs, one), one.probe.cure.words if one.probe.cure else None, _choice(one), _HEALED[one.healing], *_seconds(one)) for one in cures(facts))
    if not rows:
        return ()
    return (Table(columns("Reported", "Concerns", "What to write", "Tried", "After it", "#A call as reported", "#A call with the cure"), rows,
                  caption="What to write instead, run on this device with the first choice that reproduces. Times are medians of one call, with the backward pass where gradients are compared."),)


def _choice(probe: ProbeFacts) -> str | None:
    if probe.cured is None:
        return None
    return "unpinned" if probe.cured.choice == DEFAULT else title(probe.cured.choice)


def _seconds(probe: ProbeFacts) -> tuple[Seconds | None, Seconds | None]:
    cured = probe.cured
    before, after = (cured.before, cured.after) if cured else (None, None)
    return (None if before is None else Seconds(before), None if after is None else Seconds(after))


def _fold(probe: ProbeFacts) -> Fold:
    cure = probe.probe.cure
    return Fold(f"What to write for {call(probe.probe.needs, probe)} ({named(probe)})", cure.words if cure else "", cure.code.strip("\n") if cure else "")


def picks_table(facts: RunFacts) -> tuple[Table, ...]:
    """A row per kind of call, inference beside training."""
    kinds: dict[tuple[str, bool, int, int], dict[bool, Pick]] = {}
    for pick in facts.watch.picks:
        kinds.setdefault((pick.mask, pick.grouped, pick.queries, pick.keys), {})[pick.gradients] = pick
    if not kinds:
        return ()
    rows = tuple((_MASKS[mask], "fewer than heads" if grouped else "as many as heads", f"{Count(queries)} × {Count(keys)}", *(_picked(found.get(gradients)) for gradients in (False, True)))
                 for (mask, grouped, queries, keys), found in kinds.items())
    words = dict.fromkeys(refusal(pick.reason) for pick in facts.watch.picks if pick.backend is None and pick.reason)
    return (Table(columns("Mask", "KV heads", "Queries × keys", "Without gradients", "With gradients"), rows,
                  caption=f"What torch picks when nothing is pinned, in {facts.workload.dtype} at head dimension {Count(facts.workload.head_dim)}.",
                  notes=tuple(f"Refused: {one}." for one in words)),)


def _picked(pick: Pick | None) -> str | None:
    return None if pick is None else title(pick.backend) if pick.backend else "refused" if pick.reason else "not told by any op"


def _gradients(facts: RunFacts) -> tuple[Table, ...]:
    held = [variant for variant in facts.variants.values() if variant.ok]
    if all(found(variant) is Gradients.NOT_COMPARED for variant in held for found in (own_gradients, masked_gradients)):
        return ()
    rows = tuple((variant.title, _errors(own_gradients(variant), variant.training.compared if variant.training else ()),
                  _errors(masked_gradients(variant), variant.own_mask.compared if variant.own_mask else ())) for variant in held)
    return (Table(columns("Variant", "Gradients at the run's own shape", "The same under a mask: output and gradients"), rows,
                  caption="Relative errors against FP64.", notes=_reasons(held)),)


def _errors(outcome: Gradients, compared: Sequence[Compared]) -> str:
    if outcome is Gradients.WRONG:
        return f"wrong: {came_out(compared)}"
    if outcome is Gradients.RIGHT and compared:
        errors = [one.error for one in compared if one.error is not None]
        return f"right: at most {share(max(errors))} in {plural(len(compared), 'tensor')}" if errors else "right"
    return str(outcome.value)


def _reasons(held: Sequence[VariantFacts]) -> tuple[str, ...]:
    """Why gradients could not be compared."""
    own = [(variant, variant.own_mask.reason) for variant in held if variant.own_mask and variant.own_mask.reason and masked_gradients(variant) in (Gradients.REFUSED, Gradients.FAILED)]
    return tuple(f"{variant.title} under a mask: {refusal(reason)}." for variant, reason in own)
