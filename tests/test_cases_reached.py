"""Every declared case of every claim is reached by a test, which reads the rendered headline."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from reportgen.findings import claims
from reportgen.findings.base import VERDICTS, evaluate

MODULES = sorted(file.stem for file in Path(__file__).parent.glob("test_findings_*.py"))


def tables() -> dict[tuple[str, str], tuple[Any, str]]:
    """All `CASES_REACHED` together: (claim, case) → (factory of facts, headline)."""
    found: dict[tuple[str, str], tuple[Any, str]] = {}
    for name in MODULES:
        found |= getattr(importlib.import_module(name), "CASES_REACHED", {})
    return found


REACHED = tables()
CLAIMS = {claim.id: claim for claim in claims()}


def test_every_declared_case_is_reached_by_a_test():
    declared = {(claim.id, case) for claim in claims() for case in claim.cases}
    assert declared - REACHED.keys() == set(), "declared, but no test turns the evidence that way"
    assert REACHED.keys() - declared == set(), "tested, but not declared"


@pytest.mark.parametrize("claim, case", sorted(REACHED), ids=lambda value: value)
def test_the_case_is_reached_and_says(claim: str, case: str):
    """The rule picks the case, the headline is the one typed by hand, and no sentence keeps a placeholder."""
    factory, headline = REACHED[claim, case]
    outcome = evaluate(CLAIMS[claim], factory())
    assert outcome.case == case
    assert outcome.headline == headline
    assert outcome.verdict == CLAIMS[claim].cases[case].verdict
    for sentence in (outcome.headline, *outcome.because, *outcome.caveats, outcome.advice):
        assert "{" not in sentence and "None" not in sentence and "  " not in sentence


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_a_claim_can_come_out_either_way_and_can_be_silent(claim):
    """A rule that can only agree, or that never lacks evidence, decides nothing."""
    verdicts = {case.verdict for case in claim.cases.values()}
    assert {"holds", "differs", "not measurable"} <= verdicts
    assert verdicts <= set(VERDICTS)


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_not_measurable_gives_its_reason(claim):
    for case in claim.cases.values():
        assert case.headline.startswith("Not measurable") == (case.verdict == "not measurable")
