"""Who states the claims: how many of them are the article's, how many are our own, and how a table heads them."""

from __future__ import annotations

from collections.abc import Iterable

from ..saying.units import Count, plural
from .model import Outcome, Question, Source

MIXED = "What is claimed"


def counted(outcomes: Iterable[Outcome]) -> str:
    """`31 claims of the article`, with `and 2 of our own` where there are any."""
    sources = [outcome.source for outcome in outcomes]
    article, own = (sources.count(source) for source in (Source.ARTICLE, Source.TEAM))
    if not own:
        return f"{plural(article, 'claim')} of the article"
    return f"{plural(article, 'claim')} of the article and {Count(own)} of our own" if article else f"{plural(own, 'claim')} of our own"


def head(questions: Iterable[Question]) -> str:
    """The head of the column of statements: the article's mouth is never lent to others."""
    sources = {question.source for question in questions}
    if sources == {Source.TEAM}:
        return "We say"
    return "The article says" if Source.TEAM not in sources else MIXED


def statement(question: Question, mixed: bool) -> str:
    """The statement; in a table of both kinds ours says that it is ours."""
    return f"{question.asks} (ours)" if mixed and question.source is Source.TEAM else question.asks
