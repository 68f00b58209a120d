"""What is asked of a run: questions with declared needs, cases with their sentences, evidence as data.

A question with a source and a statement is a *claim*: its cases have verdicts. One without is
something to read off. Both are asked, gated and contained in the same way (`evaluate`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from ..analysis import RunFacts
from ..probes import Needs
from ..saying.tables import Table
from ..saying.units import Saving

Verdict = Literal["holds", "differs", "within noise", "not measurable"]
_CLAUSE = re.compile(r"[;.:] ")
VERDICTS: tuple[Verdict, ...] = ("holds", "differs", "within noise", "not measurable")


class Source(Enum):
    """Who says what a claim states: the article, or this project's own measurements."""

    ARTICLE = "article"
    TEAM = "team"


@dataclass(frozen=True)
class Because:
    """A cause, said only where its fact is there: `needs` names the argument that carries it."""

    needs: str
    sentence: str


@dataclass(frozen=True)
class Relies:
    """What a piece of advice promises rests on: the question came out as one of these cases."""

    question: str
    cases: tuple[str, ...]


@dataclass(frozen=True)
class Leads:
    """What a call ends with whose writer follows a piece of advice: the advice is not given for calls that come out wrong there.

    to: `default` (nothing is pinned), `fused` (any fused backend), or the argument that holds the names of the backends, `default` among them where it may be
    without: what the words of the advice rule out already
    this_shape: they speak of the run's own shape alone, which rules out what that shape has not
    """

    to: str
    without: frozenset[Needs] = frozenset()
    this_shape: bool = False


@dataclass(frozen=True)
class Advice:
    """A piece of advice.

    says: the sentence that stands alone, also on the front page; more: what follows it on the finding's page
    needs, more_needs: the argument of its own case without which it is not given; without which `more` is not said
    when: other questions' cases that it relies on; it is given only where all of them came out so
    leads, more_leads: what a call ends with that follows it; the calls for which that is wrong here are named behind `says` and `more`
    saves: the argument of its own case that holds the `Saving` which following it brings here
    """

    says: str
    more: str = ""
    needs: str | None = None
    when: tuple[Relies, ...] = ()
    more_needs: str | None = None
    leads: Leads | None = None
    more_leads: Leads | None = None
    saves: str | None = None


@dataclass(frozen=True)
class Case:
    """One way a question can come out. Sentences are `str.format` texts over the rule's arguments.

    verdict: of a claim; `None` where there is nothing to judge
    headline: the sentence; where nothing could be measured the reason alone
    partly: not measurable in full, and the headline says what was seen
    """

    verdict: Verdict | None
    headline: str
    because: tuple[Because, ...] = ()
    caveats: tuple[Because, ...] = ()
    advice: tuple[Advice, ...] = ()
    partly: bool = False


@dataclass(frozen=True)
class Decision:
    """What a rule returns: the case's name and the typed arguments of its sentences."""

    case: str
    args: Mapping[str, Any] = field(default_factory=dict)


def decide(case: str, **args: Any) -> Decision:
    return Decision(case, args)


def not_measurable(reason: str, partly: bool = False) -> Case:
    """A case in which a claim could not be judged; the words "Not measurable" come by themselves."""
    return Case("not measurable", reason, partly=partly)


def answer(sentence: str, because: tuple[Because, ...] = (), caveats: tuple[Because, ...] = ()) -> Case:
    """A case without a verdict."""
    return Case(None, sentence, because, caveats)


def answers(cases: Mapping[str, Case]) -> dict[str, Case]:
    """A claim's cases as those of a finding's answer: the same sentences, and no verdict."""
    return {name: answer(f"Not measurable: {case.headline}" if case.verdict == "not measurable" and not case.partly else case.headline) for name, case in cases.items()}


@dataclass(frozen=True)
class Need:
    """A condition without which a question cannot be asked of a run.

    name: for the table of claims; unmet: the gate's decision where it does not hold, else `None`
    """

    name: str
    unmet: Callable[[RunFacts], Decision | None]


@dataclass(frozen=True)
class Question:
    """A row of the ledger, or something to read off.

    id: as in `CLAIMS.md`, or the reading's own
    asks: the question; of a claim what is stated, in our words
    rule: a pure function from facts to a decision, called where all needs are met; every case it names is in `cases`
        or is one of the shared gates
    needs: checked in order before the rule; the first that is not met answers
    source: who states it; `None` where nobody does
    """

    id: str
    asks: str
    rule: Callable[[RunFacts], Decision]
    cases: Mapping[str, Case]
    needs: tuple[Need, ...] = ()
    source: Source | None = None

    @property
    def statement(self) -> str:
        return self.asks


def claim(id: str, statement: str, rule: Callable[[RunFacts], Decision], cases: Mapping[str, Case], needs: tuple[Need, ...] = (),
          source: Source = Source.ARTICLE) -> Question:
    """A question that judges a statement."""
    return Question(id, statement, rule, cases, needs, source)


@dataclass(frozen=True)
class Advised:
    """A piece of advice as it is said for one run. limited: it names calls for which it is not given."""

    says: str
    more: str
    when: tuple[Relies, ...] = ()
    saves: Saving | None = None
    limited: bool = False

    @property
    def text(self) -> str:
        return f"{self.says} {self.more}".strip()


@dataclass(frozen=True)
class Outcome:
    """A question evaluated on one run: ready to be shown.

    said: the case's sentence; of what is not measurable the reason alone
    gate: the case is a shared gate's, not the question's own
    grounds: which facts carried a cause or a caveat that was said, by the name of the argument
    """

    question: str
    verdict: Verdict | None
    case: str
    said: str
    because: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    pieces: tuple[Advised, ...] = ()
    args: Mapping[str, Any] = field(default_factory=dict)
    partly: bool = False
    gate: bool = False
    source: Source | None = None
    grounds: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The whole sentence, also where no badge stands beside it."""
        if self.verdict != "not measurable":
            return self.said
        return f"Not measurable{' in full' if self.partly else ''}: {self.said}"

    @property
    def reason(self) -> str:
        """The sentence beside a badge that says *not measurable* already; else the headline."""
        if self.verdict != "not measurable" or self.partly:
            return self.headline
        return self.said[:1].upper() + self.said[1:]

    @property
    def advice(self) -> str:
        """All pieces as one text."""
        return " ".join(piece.text for piece in self.pieces)


@dataclass(frozen=True)
class Chart:
    """A chart to draw: which form of `charts`, its data, and alt text that states the finding.

    name: file name without suffix, unique within its run and page
    caption: its first clause stands in the picture as its title, the rest below it
    """

    name: str
    form: str
    data: Any
    alt: str
    caption: str = ""

    @property
    def title(self) -> str:
        """What the picture shows, in a few words."""
        return _CLAUSE.split(self.caption, maxsplit=1)[0].rstrip(".:")

    def below(self, caption: str) -> str:
        """What a caption of this chart says beyond the title."""
        rest = caption.removeprefix(self.title).lstrip(".;: ")
        return rest[:1].upper() + rest[1:]


@dataclass(frozen=True)
class Fold:
    """Under a line to open: a sentence, then a few lines of code or tables."""

    summary: str
    says: str
    code: str = ""
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """What a finding shows of one run: tables and charts, in order, then code to open.

    pictures: of how it works, with this run's sizes; the finding's template places each by its name, less the finding's slug
    """

    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    folds: tuple[Fold, ...] = ()
    pictures: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A page: what it asks, its questions, their evidence, and a template of mechanism prose.

    section: the folder of its template and its part of the book: `findings` judge, `readings` read off
    steps: what to do as a table, where the claims' advice is a list of cases; shown in its place
    answer: what the page says first: a question without a verdict, of at most two sentences; where there is none, the first claim answers
    evidence: pure function from facts; must bear missing variants, counters, ceilings and a missing GPU lane
    """

    slug: str
    title: str
    question: str
    questions: tuple[Question, ...]
    evidence: Callable[[RunFacts], Evidence]
    section: Literal["findings", "readings"] = "findings"
    answer: Question | None = None
    steps: Callable[[RunFacts], Table | None] | None = None

    @property
    def claims(self) -> tuple[Question, ...]:
        """The questions that judge a statement."""
        return tuple(question for question in self.questions if question.source is not None)

    @property
    def template(self) -> str:
        return f"{self.section}/{self.slug}.md.j2"
