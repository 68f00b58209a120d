"""What a finding is made of: claims with rules, cases with sentences, evidence as data."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Mapping

from ..analysis import RunFacts
from ..saying.tables import Table
from ..saying.units import text

Verdict = Literal["holds", "differs", "within noise", "not measurable"]
VERDICTS: tuple[Verdict, ...] = ("holds", "differs", "within noise", "not measurable")


@dataclass(frozen=True)
class Because:
    """A cause, said only where its fact is there: `needs` names the argument that carries it."""

    needs: str
    sentence: str


@dataclass(frozen=True)
class Case:
    """One way a claim can come out. Sentences are `str.format` texts over the rule's arguments.

    advice: one text, or sentences of which those are said whose fact is there
    """

    verdict: Verdict
    headline: str
    because: tuple[Because, ...] = ()
    caveats: tuple[Because, ...] = ()
    advice: str | tuple[Because, ...] = ""


@dataclass(frozen=True)
class Decision:
    """What a rule returns: the case's name and the typed arguments of its sentences."""

    case: str
    args: Mapping[str, Any] = field(default_factory=dict)


def decide(case: str, **args: Any) -> Decision:
    return Decision(case, args)


@dataclass(frozen=True)
class Outcome:
    """A claim evaluated on one run: ready to be shown."""

    claim: str
    verdict: Verdict
    case: str
    headline: str
    because: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    advice: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Claim:
    """A row of the ledger.

    id: as in `CLAIMS.md`
    statement: what the article says, in our words
    rule: a pure function from facts to a decision; every case it can name is in `cases`
    """

    id: str
    statement: str
    rule: Callable[[RunFacts], Decision]
    cases: Mapping[str, Case]


@dataclass(frozen=True)
class Chart:
    """A chart to draw: which form of `charts`, its data, and alt text that states the finding.

    name: file name without suffix, unique within its run and page
    """

    name: str
    form: str
    data: Any
    alt: str
    caption: str = ""


@dataclass(frozen=True)
class Evidence:
    """What a finding shows of one run: tables and charts, in order."""

    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A page: a question, one to five claims, their evidence, and a template of mechanism prose.

    template: below `templates/findings/`; it is given only what is true on any device
    evidence: pure function from facts; must bear missing variants and a missing GPU lane
    """

    slug: str
    title: str
    question: str
    claims: tuple[Claim, ...]
    evidence: Callable[[RunFacts], Evidence]

    @property
    def template(self) -> str:
        return f"findings/{self.slug}.md.j2"


def said(causes: tuple[Because, ...], args: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentences whose fact is there."""
    return tuple(fill(cause.sentence, args) for cause in causes if args.get(cause.needs) not in (None, False, (), ""))


def evaluate(claim: Claim, facts: RunFacts) -> Outcome:
    """Runs a claim's rule and fills the sentences of the case it picked.

    Raises:
        KeyError: the rule named an undeclared case, or a sentence asks for an argument not given.
    """
    decision = claim.rule(facts)
    case = claim.cases[decision.case]
    args = decision.args
    advice = fill(case.advice, args) if isinstance(case.advice, str) else " ".join(said(case.advice, args))
    return Outcome(claim.id, case.verdict, decision.case, fill(case.headline, args), said(case.because, args), said(case.caveats, args), advice, args)


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return text(value) if not format_spec else format(value, format_spec)


def fill(sentence: str, args: Mapping[str, Any]) -> str:
    """`sentence` with its `{arguments}` as text, each in its own unit."""
    return _Formatter().vformat(sentence, (), args)


def not_measurable(headline: str) -> Case:
    return Case("not measurable", headline)


# Cases that many claims share. A claim lists the ones that its rule can reach.
NO_GPU_LANE = {"no-gpu-lane": not_measurable("Not measurable: this run's trace has no GPU lane, so there is nothing to count.")}
UNAVAILABLE = {"unavailable": not_measurable("Not measurable: {missing} did not run here ({reason}).")}
OTHER_WORKLOAD = {"other-workload": not_measurable("Not measurable: the published value belongs to the article's workload, and this run used another ({workload}).")}
NOT_RECORDED = {"recorded-before": not_measurable("Not measurable: {why}.")}


def missing_variant(facts: RunFacts, *names: str) -> Decision | None:
    """The `unavailable` decision for the first of `names` that did not run, or `None`."""
    for name in names:
        variant = facts.variants.get(name)
        if variant is None:
            return decide("unavailable", missing=name, reason="recorded before this variant was added")
        if not variant.ok:
            return decide("unavailable", missing=variant.title, reason=refusal(variant.reason or variant.state.value))
    return None


def not_recorded(facts: RunFacts, what: str, *names: str) -> Decision:
    """The decision where the run lacks `what` of `names`: because it was lost, if the run says so, else because the run is older."""
    records = [(v.title, one.reason) for v in facts.variants.values() if v.id in names for one in v.lost if one.what == "GPU records"]
    if records and what in TRACED:
        return decide("recorded-before", why=f"the GPU side of {records[0][0]} cannot be counted here ({records[0][1]})")
    lost = facts.probes.traces_missing
    untimed = {v.id: v.timer_note for v in facts.six if v.ok and v.gpu_time is None and v.timer_note}
    if what in TRACED and lost:
        name, reason = next(iter(lost.items()))
        return decide("recorded-before", why=f"no trace of {name} could be taken ({reason.rstrip('.')})")
    if what == "GPU time" and untimed:
        name, reason = next(iter(untimed.items()))
        return decide("recorded-before", why=f"the GPU time of {name} could not be taken ({reason.rstrip('.')})")
    return decide("recorded-before", why=f"this run was recorded before {what} was measured")


_ECHO = re.compile(r"^(?:.* has been runtime disabled|This is likely due to turning off both the math kernel and the fused kernels)$", re.I)
_OPENS = re.compile(r"^(.+?) (?:kernel )?not used because:$", re.I)


def refusal(reason: str) -> str:
    """torch's words for a refusal without what only echoes that one backend was pinned; no full stop at the end.

    `No available kernel. … Flash attention kernel not used because:. <why>. cuDNN attention kernel not used
    because:. cuDNN attention has been runtime disabled.` says no more than `<why>`.
    """
    parts = [part.rstrip(".") for part in re.split(r"(?<=[.])\s+", reason.strip())]
    kept = [part for part in parts if not _ECHO.match(part) and not _OPENS.match(part)]
    telling = [part for part in kept if part not in ("No available kernel", "Aborting execution")]
    return ". ".join(telling or kept) or reason.rstrip(".")


TRACED = ("a trace", "the list of CPU ops", "the CPU side of this variant's trace", "the GPU side of this variant's trace")
