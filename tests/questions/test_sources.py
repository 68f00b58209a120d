"""A claim of our own is never put into the article's mouth."""

from __future__ import annotations

from reportgen.questions import sources
from reportgen.questions.model import Case, Outcome, Source, claim, decide

OURS = claim("ours", "It is right.", lambda run: decide("yes"), {"yes": Case("holds", "Yes.")}, source=Source.TEAM)
THEIRS = claim("theirs", "It is fast.", lambda run: decide("yes"), {"yes": Case("holds", "Yes.")})


def outcome(source):
    return Outcome("x", "holds", "yes", "Yes.", source=source)


def test_claims_are_counted_by_who_states_them():
    assert sources.counted([outcome(Source.ARTICLE)] * 2) == "2 claims of the article"
    assert sources.counted([outcome(Source.ARTICLE)] * 2 + [outcome(Source.TEAM)]) == "2 claims of the article and 1 of our own"
    assert sources.counted([outcome(Source.TEAM)]) == "1 claim of our own"


def test_the_head_of_a_table_names_who_speaks():
    assert (sources.head([THEIRS]), sources.head([OURS]), sources.head([THEIRS, OURS])) == ("The article says", "We say", "What is claimed")
    assert (sources.statement(OURS, True), sources.statement(OURS, False), sources.statement(THEIRS, True)) == ("It is right. (ours)", "It is right.", "It is fast.")
