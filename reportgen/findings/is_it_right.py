"""Is what SDPA gives right, also where others reported a wrong result? Claims of our own."""

from __future__ import annotations

from collections.abc import Sequence

from variants.backends import title

from ..analysis import RunFacts
from ..analysis.correctness import caught, cures, reports, wrong
from ..analysis.watch import PINS, Healing, ProbeFacts, Standing
from ..questions.model import Advice, Because, Case, Decision, Finding, Question, Source, answer, answers, claim, decide, not_measurable
from ..questions.needs import probed, refusal
from ..questions.right_words import came_out, instead, named, names, number_of, unsafe, wrong_said
from ..questions.shared import software
from ..run import DEFAULT
from ..saying.units import Count, Seconds, listed, verb
from .gradients_right import GRADIENTS_CASES, gradients_rule
from .is_it_right_evidence import evidence, steps

REPORT = "public report"
_TRAPPED = Because("trapped", "Traps, which are documented behaviour and no wrong result, when unpinned: {trapped}.")
_CAVEATS = (
    Because("refused", "Refused by torch (neither right nor wrong): {refused}."),
    Because("broke_off", "Broke off (neither right nor wrong): {broke_off}."),
    Because("not_here", "Not tried, because the inputs do not suit this device: {not_here}."),
    Because("newer", "Newer than this run, so not tried: {newer}."),
    Because("unknown", "In this run, but no longer among the probes: {unknown}."),
)
_WRITE = (Advice("{instead}", needs="instead"), Advice("{trap_instead}", needs="trap_instead"))

DEFAULT_CASES: dict[str, Case] = {
    "all-right": Case("holds", "Unpinned, PyTorch is right on this device in {ran}.",
                      because=(_TRAPPED, Because("elsewhere", "A pinned backend is wrong where the unpinned call is right: {elsewhere}.")), caveats=_CAVEATS, advice=_WRITE),
    "reproduces": Case("differs", "Unpinned, PyTorch is wrong on this device in {count} of {of}: {which}.",
                       because=(_TRAPPED,), caveats=_CAVEATS, advice=_WRITE),
    "incomplete": Case("not measurable", "unpinned, PyTorch is right on this device in {ran}, but {broke_off} broke off ({reason}).", partly=True,
                       because=(_TRAPPED,), advice=_WRITE),
    "none-ran": not_measurable("unpinned, PyTorch gave no result for any {report} that this run tried ({reason})."),
}


def default_rule(facts: RunFacts) -> Decision:
    """Right in every report that gave a result; one that broke off leaves the question open, a refusal does not."""
    tried = reports(facts)
    ran, bad = [one for one in tried if one.gave(DEFAULT)], wrong(facts)
    args = {"software": software(facts, "torch", "cudnn"), "report": REPORT, **_beside(facts, (DEFAULT,)), "trapped": names(caught(facts)), "trap_instead": instead(caught(facts)), "instead": instead(bad),
            "elsewhere": "; ".join(f"{named(one)} ({listed([title(pin) for pin in one.wrong_pins])})" for one in tried if one.standing is Standing.ELSEWHERE)}
    if bad:
        return decide("reproduces", **args, count=Count(len(bad)), of=number_of(len(ran), f"{REPORT}"), which="; ".join(wrong_said(one, DEFAULT) for one in bad))
    if not ran:
        return decide("none-ran", **args, reason=_first_reason(tried, (DEFAULT,)))
    case = "incomplete" if args["broke_off"] else "all-right"
    return decide(case, **args, ran=_all(len(ran)), reason=_first_reason(tried, (DEFAULT,), "failed"))


PINNED_CASES: dict[str, Case] = {
    "all-right": Case("holds", "Every pinned backend is right on this device wherever it runs: {ran}.", caveats=_CAVEATS),
    "reproduces": Case("differs", "Pinned, {which} a wrong result on this device: {where}.", caveats=_CAVEATS,
                       advice=(Advice("With a backend pinned, avoid what it gets wrong here. {avoid}."),)),
    "incomplete": Case("not measurable", "every pinned backend is right on this device wherever it runs ({ran}), but some broke off: {broke_off} ({reason}).", partly=True),
    "none-ran": not_measurable("no pinned backend gave a result for any {report} that this run tried ({reason})."),
}


def pinned_rule(facts: RunFacts) -> Decision:
    tried = reports(facts)
    ran = {pin: [one for one in tried if one.gave(pin)] for pin in PINS}
    bad = {pin: wrong(facts, pin) for pin in PINS if wrong(facts, pin)}
    args = {"software": software(facts, "torch", "cudnn"), "report": REPORT, **_beside(facts, PINS)}
    if bad:
        where = "; ".join(f"{title(pin)} in {Count(len(found))} of {Count(len(ran[pin]))} ({', '.join(named(one) for one in found)})" for pin, found in bad.items())
        return decide("reproduces", **args, where=where, which=f"{listed([title(pin) for pin in bad])} {verb(tuple(bad), 'gives', 'give')}",
                      avoid=". ".join(f"On {title(pin)}: {listed([one.probe.avoid.rstrip('.') for one in found])}" for pin, found in bad.items()))
    if not any(ran.values()):
        return decide("none-ran", **args, reason=_first_reason(tried, PINS))
    counted = listed([f"{title(pin)} in {number_of(len(found), REPORT)}" for pin, found in ran.items() if found])
    return decide("incomplete" if args["broke_off"] else "all-right", **args, ran=counted, reason=_first_reason(tried, PINS, "failed"))


CURES_CASES: dict[str, Case] = {
    "all-cure": Case("holds", "{all} on these pages help on this device: with them {which} come out right.",
                     because=(Because("dear", "What they cost: {dear}."),)),
    "one-cures": Case("holds", "The one cure on these pages helps on this device: with it {which} comes out right.",
                      because=(Because("dear", "What it costs: {dear}."),)),
    "some-fail": Case("differs", "Not every cure helps on this device: {which} {verb} still not right, so these pages do not advise it.", because=(Because("cured", "The others help: {cured}."),)),
    "not-run": not_measurable("the cure of {which} was not run on this device.", partly=True),
    "nothing-to-cure": not_measurable("nothing that has a cure goes wrong on this device."),
}


def cures_rule(facts: RunFacts) -> Decision:
    """The cure of everything that reproduces here was run, and came out right after it was wrong before."""
    needed = cures(facts)
    by = {healing: [one for one in needed if one.healing is healing] for healing in Healing}
    args = {"software": software(facts, "torch", "cudnn"), "cured": names(by[Healing.CURES])}
    if not needed:
        return decide("nothing-to-cure")
    if by[Healing.FAILS]:
        failed = [f"{named(one)} ({_after(one)})" for one in by[Healing.FAILS]]
        return decide("some-fail", **args, which=listed(failed), verb=verb(failed, "is", "are"))
    if by[Healing.NOT_RUN]:
        return decide("not-run", **args, which=names(by[Healing.NOT_RUN]))
    return decide("one-cures" if len(needed) == 1 else "all-cure", **args, all=f"All {Count(len(needed))} cures", which=_by_kind(needed), dear="; ".join(_costs(needed)))


def _by_kind(probes: Sequence[ProbeFacts]) -> str:
    """Reports and traps apart, for a trap was no wrong result before: `one public report (pytorch#191612) and 2 traps (…)`."""
    kinds = [(REPORT, [one for one in probes if not one.trap]), ("trap", [one for one in probes if one.trap])]
    return listed([f"{number_of(len(found), noun)} ({names(found)})" for noun, found in kinds if found])


def _costs(probes: Sequence[ProbeFacts]) -> list[str]:
    return [f"{named(one)} {Seconds(one.cured.before)} before, {Seconds(one.cured.after)} after" for one in probes if one.cured and one.cured.before and one.cured.after]


def _after(probe: ProbeFacts) -> str:
    cured = probe.cured
    if cured is None:
        return "not run"
    return came_out(cured.compared) if cured.outcome == "reproduces" else f"{'refused' if cured.outcome == 'refused' else 'broke off'}: {refusal(cured.reason or 'no reason recorded')}"


def _all(count: int) -> str:
    return f"the one {REPORT} that ran" if count == 1 else f"all {Count(count)} {REPORT}s that ran"


def _beside(facts: RunFacts, choices: Sequence[str]) -> dict[str, object]:
    """What did not run, apart by what kept it from running; each in names of reports."""
    tried = reports(facts)
    here = [one for one in tried if one.standing is not Standing.NOT_HERE]
    single = len(choices) == 1
    return {
        "refused": names(one for one in here if all(_became(one, choice, "refused") for choice in choices)),
        "broke_off": names(one for one in here if one.broke_off(DEFAULT)) if single else
        "; ".join(f"{named(one)} on {listed([title(pin) for pin in choices if one.broke_off(pin)])}" for one in here if any(one.broke_off(pin) for pin in choices)),
        "not_here": "; ".join(f"{named(one)} ({one.run.not_here.rstrip('.')})" for one in tried if one.run and one.run.not_here),
        "newer": names(one for one in facts.watch.probes if not one.trap and one.run is None),
        "unknown": listed([f"`{one}`" for one in facts.watch.unknown]),
    }


def _became(probe: ProbeFacts, choice: str, outcome: str) -> bool:
    found = probe.tried(choice)
    return found is not None and found.outcome == outcome and not probe.gave(choice)


def _first_reason(tried: Sequence[ProbeFacts], choices: Sequence[str], outcome: str = "") -> str:
    """torch's words for the first choice that gave no result."""
    found = (one.tried(choice) for one in tried for choice in choices)
    reasons = [one.reason for one in found if one is not None and one.outcome in ((outcome,) if outcome else ("refused", "failed")) and one.reason]
    elsewhere = [one.run.not_here for one in tried if one.run and one.run.not_here]
    return refusal(next(iter([*reasons, *elsewhere]), "no reason recorded"))


ANSWERS: dict[str, Case] = {"unsafe": answer("{said} The table below says what to write instead."), **answers(DEFAULT_CASES)}


def answer_rule(facts: RunFacts) -> Decision:
    """How many kinds of call come out wrong unpinned; where none does, the claim's sentence."""
    said = unsafe(facts).replace("**", "")
    return decide("unsafe", said=said) if said else default_rule(facts)


FINDING = Finding(
    slug="is-it-right",
    title="Is it right?",
    question="Before anything is fast: is what comes out right, also where others reported a wrong result?",
    questions=(
        claim("default-right", "What torch picks by itself gives a right result, also where others reported a wrong one.", default_rule, DEFAULT_CASES, needs=(probed(),), source=Source.TEAM),
        claim("pinned-right", "Each pinned backend gives a right result where it runs, also where others reported a wrong one.", pinned_rule, PINNED_CASES, needs=(probed(),), source=Source.TEAM),
        claim("gradients-right", "The gradients of every variant are right, at the run's own shape and under an explicit mask.", gradients_rule, GRADIENTS_CASES, source=Source.TEAM),
        claim("cures-cure", "Each cure that these pages give makes a wrong result right.", cures_rule, CURES_CASES, needs=(probed(),), source=Source.TEAM),
    ),
    evidence=evidence,
    steps=steps,
    answer=Question("is-it-right-answer", "Does a call without a pin come out right here?", answer_rule, ANSWERS, needs=(probed(),)),
)
