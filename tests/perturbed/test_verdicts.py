"""The verdicts and answers of `expectations`, one test each."""

from __future__ import annotations

import pytest

from perturbed.expectations import ANSWERS, OPEN_VERDICTS, VERDICTS
from perturbed.harness import Harness

_VERDICTS = [(name, claim, *expected) for name, claims in VERDICTS.items() for claim, expected in claims.items()]
_ANSWERS = [(name, question, case) for name, answers in ANSWERS.items() for question, case in answers.items()]


def _open(name: str, claim: str) -> list[pytest.MarkDecorator]:
    row = OPEN_VERDICTS.get((name, claim))
    return [pytest.mark.xfail(reason=f"truth.md {row}", strict=False)] if row else []


@pytest.mark.parametrize("name, claim, verdict, case", [pytest.param(*row, marks=_open(*row[:2]), id=f"{row[0]}-{row[1]}") for row in _VERDICTS])
def test_a_claim_comes_out_as_it_must(name: str, claim: str, verdict: str, case: str | None, copies: Harness):
    outcome = copies[name].outcomes[claim]
    assert (outcome.verdict, outcome.case if case else None) == (verdict, case), outcome.headline


@pytest.mark.parametrize("name, question, case", _ANSWERS)
def test_a_question_is_answered_as_it_must(name: str, question: str, case: str, copies: Harness):
    answered = copies[name].answers[question]
    assert answered.case == case, answered.sentence


def test_every_open_verdict_is_expected():
    assert {key for key in OPEN_VERDICTS if key[1] not in VERDICTS[key[0]]} == set()
