"""Asks a run: needs first, then the rule, then the sentences. One place contains what goes wrong."""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..analysis import RunFacts
from ..saying.units import text
from . import right_words
from .gates import FAULT, GATES
from .model import Advice, Advised, Because, Case, Decision, Evidence, Finding, Outcome, Question, decide
from .thresholds import rules

CONTAIN = True
"""Whether an exception in a rule becomes *not measurable: a fault of this program*. The tests run without."""


def evaluate(question: Question, facts: RunFacts) -> Outcome:
    """Asks one question of a run and fills the sentences of the case that came out.

    Advice is filled and not yet held against what it relies on (see `settled`).

    Raises:
        KeyError: only where faults are not contained: the rule named an undeclared case, or a sentence asks for an argument not given.
    """
    try:
        return _asked(question, facts)
    except Exception as error:
        if not CONTAIN:
            raise
        return _outcome(question, GATES[FAULT], decide(FAULT, kind=type(error).__name__), True, facts)


def outcomes(questions: Iterable[Question], facts: RunFacts) -> dict[str, Outcome]:
    """Question id → its outcome on one run, in the order given, with the advice that all of them together allow."""
    return settled({question.id: evaluate(question, facts) for question in questions})


def settled(found: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """The outcomes with only those pieces of advice whose every case came out."""
    return {name: replace(outcome, pieces=tuple(piece for piece in outcome.pieces if _allowed(piece, found))) for name, outcome in found.items()}


def shown(finding: Finding, facts: RunFacts) -> Evidence:
    """A finding's evidence on a run; empty where gathering it is a fault of this program."""
    try:
        return finding.evidence(facts)
    except Exception:
        if not CONTAIN:
            raise
        return Evidence()


def _allowed(piece: Advised, found: Mapping[str, Outcome]) -> bool:
    return all(relies.question in found and found[relies.question].case in relies.cases for relies in piece.when)


def _asked(question: Question, facts: RunFacts) -> Outcome:
    for need in question.needs:
        unmet = need.unmet(facts)
        if unmet is not None:
            return _outcome(question, _case(question, unmet), unmet, unmet.case not in question.cases, facts)
    decision = question.rule(facts)
    return _outcome(question, _case(question, decision), decision, decision.case not in question.cases, facts)


def _case(question: Question, decision: Decision) -> Case:
    return question.cases[decision.case] if decision.case in question.cases else GATES[decision.case]


def _outcome(question: Question, case: Case, decision: Decision, gate: bool, facts: RunFacts) -> Outcome:
    args = decision.args
    verdict = case.verdict if question.source is not None else None
    sentence = fill(case.headline, args)
    if verdict is None and gate:
        sentence = sentence[:1].upper() + sentence[1:]
    pieces = tuple(_advised(one, args, facts) for one in case.advice if _given(one.needs, args))
    return Outcome(question.id, verdict, decision.case, sentence, said(case.because, args), said(case.caveats, args), pieces, args, case.partly, gate, question.source,
                   tuple(cause.needs for cause in (*case.because, *case.caveats) if there(args.get(cause.needs))))


def _advised(one: Advice, args: Mapping[str, Any], facts: RunFacts) -> Advised:
    """A piece of advice, with the calls for which it is not given on this device."""
    more = fill(one.more, args) if _given(one.more_needs, args) else ""
    limits = right_words.unless(facts, one.leads, args), right_words.unless(facts, one.more_leads, args) if more else ""
    saves = args.get(one.saves) if one.saves else None
    unknown = UNKNOWN_SAVING if one.saves and saves is None else ""
    return Advised(" ".join(filter(None, (fill(one.says, args), limits[0], unknown))), f"{more} {limits[1]}".strip(), one.when, saves, any(limits))


UNKNOWN_SAVING = "This run does not show what it saves."
"""Behind advice whose saving this run did not measure, or could not tell from noise."""


def _given(needs: str | None, args: Mapping[str, Any]) -> bool:
    return needs is None or there(args.get(needs))


def there(value: object) -> bool:
    """Whether the fact that an argument carries is there."""
    return value is not None and value is not False and value != () and value != ""


def said(causes: tuple[Because, ...], args: Mapping[str, Any]) -> tuple[str, ...]:
    """The sentences whose fact is there."""
    return tuple(fill(cause.sentence, args) for cause in causes if there(args.get(cause.needs)))


class _Formatter(string.Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        return text(value) if not format_spec else format(value, format_spec)


def fill(sentence: str, args: Mapping[str, Any]) -> str:
    """`sentence` with its `{arguments}` as text, each in its own unit; `{rules[…]}` are the thresholds."""
    return _Formatter().vformat(sentence, (), {"rules": rules(), **args})
