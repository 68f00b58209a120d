"""What a reading is made of: questions that the article does not ask, each with a rule and its answers.

Like a claim, but without a verdict: there is no statement to judge, only something to read off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

from ..analysis import RunFacts, VariantFacts
from ..questions.model import Because, Decision, Evidence, decide, fill, said
from ..saying.units import BytesPerSecond, Percent, Seconds

__all__ = ["Answer", "Answered", "Because", "Decision", "Evidence", "Question", "Reading", "answer", "decide", "percent", "ran", "rate", "time"]


@dataclass(frozen=True)
class Answer:
    """One way a question can come out. Sentences are `str.format` texts over the rule's arguments."""

    sentence: str
    because: tuple[Because, ...] = ()
    caveats: tuple[Because, ...] = ()


@dataclass(frozen=True)
class Question:
    """rule: a pure function from facts to a decision; every case that it can name is in `answers`."""

    id: str
    asks: str
    rule: Callable[[RunFacts], Decision]
    answers: Mapping[str, Answer]


@dataclass(frozen=True)
class Answered:
    """A question answered on one run: ready to be shown."""

    question: str
    case: str
    sentence: str
    because: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reading:
    """A page: what it asks, its questions, and evidence as tables and charts.

    evidence: pure function from facts; must bear missing variants, counters, ceilings and a missing GPU lane
    """

    slug: str
    title: str
    question: str
    questions: tuple[Question, ...]
    evidence: Callable[[RunFacts], Evidence]

    @property
    def template(self) -> str:
        return f"readings/{self.slug}.md.j2"


def answer(question: Question, facts: RunFacts) -> Answered:
    """Runs a question's rule and fills the sentences of the case that it picked.

    Raises:
        KeyError: the rule named an undeclared case, or a sentence asks for an argument not given.
    """
    decision = question.rule(facts)
    chosen, args = question.answers[decision.case], decision.args

    return Answered(question.id, decision.case, fill(chosen.sentence, args), said(chosen.because, args), said(chosen.caveats, args), args)


def ran(facts: RunFacts) -> list[VariantFacts]:
    """Variants that ran and whose GPU activities are known, in their own order."""
    return [variant for variant in facts.variants.values() if variant.ok and variant.activities]


def time(variant: VariantFacts) -> float | None:
    """Seconds of GPU time of one forward: the replay's, which decides; `None` where it was not taken."""
    return variant.gpu_time.median if variant.gpu_time else None


def rate(amount: float, variant: VariantFacts) -> float | None:
    """`amount` per second of GPU time."""
    seconds = time(variant)
    return amount / seconds if seconds else None


def percent(part: float | None, whole: float | None) -> Percent | None:
    """`part ÷ whole` in percent with one decimal; `None` where either is not known."""
    return None if part is None or not whole else Percent(round(100 * part / whole, 1))


def us(seconds: float | None) -> str | None:
    """Microseconds without their unit, for a column whose head carries it."""
    return None if seconds is None else Seconds(seconds).us()


def per_second(value: float | None) -> BytesPerSecond | None:
    return None if value is None else BytesPerSecond(value)
