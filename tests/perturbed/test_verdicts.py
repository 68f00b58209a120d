"""The verdicts and answers of `expectations`, one test each."""

from __future__ import annotations

import pytest

from perturbed.expectations import ANSWERS, VERDICTS
from perturbed.harness import Harness

_VERDICTS = [(name, claim, *expected) for name, claims in VERDICTS.items() for claim, expected in claims.items()]
_ANSWERS = [(name, question, case) for name, answers in ANSWERS.items() for question, case in answers.items()]


@pytest.mark.parametrize("name, claim, verdict, case", [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in _VERDICTS])
def test_a_claim_comes_out_as_it_must(name: str, claim: str, verdict: str, case: str | None, copies: Harness):
    outcome = copies[name].outcomes[claim]
    assert (outcome.verdict, outcome.case if case else None) == (verdict, case), outcome.headline


@pytest.mark.parametrize("name, question, case", _ANSWERS)
def test_a_question_is_answered_as_it_must(name: str, question: str, case: str, copies: Harness):
    answered = copies[name].answers[question]
    assert answered.case == case, answered.sentence
