"""The tables of all findings: every case and its headline, every device and its verdict, and evidence that can be drawn."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builder_devices import DEVICES
from builders import facts, no_lane
from case_tables import CLAIMS, outcome, together

from reportgen.findings import FINDINGS, claims
from reportgen.pages.charts import svg
from reportgen.questions.model import VERDICTS
from reportgen.run import Probes
from reportgen.saying.tables import markdown

REACHED = together("CASES_REACHED")
VERDICT_OF = {(claim, device): said for claim, devices in together("ON_DEVICES").items() for device, said in devices.items()}


def test_every_declared_case_is_reached_by_a_test():
    declared = {(claim.id, case) for claim in claims() for case in claim.cases}
    assert declared - REACHED.keys() == set(), "declared, but no test turns the evidence that way"
    assert REACHED.keys() - declared == set(), "tested, but not declared"


@pytest.mark.parametrize("claim, case", sorted(REACHED), ids=lambda value: value)
def test_the_case_is_reached_and_says(claim: str, case: str):
    """The rule picks the case, the headline is the one typed by hand, and no sentence keeps a placeholder."""
    factory, headline = REACHED[claim, case]
    said = outcome(claim, factory())
    assert said.case == case
    assert said.headline == headline
    assert said.verdict == CLAIMS[claim].cases[case].verdict
    for sentence in (said.headline, *said.because, *said.caveats, said.advice):
        assert "{" not in sentence and "None" not in sentence and "  " not in sentence


def test_every_claim_has_a_verdict_on_every_device():
    assert VERDICT_OF.keys() == {(claim.id, device) for claim in claims() for device in DEVICES}


@pytest.mark.parametrize("claim, device", sorted(VERDICT_OF), ids=lambda value: value)
def test_verdict_and_case_on_each_device(claim: str, device: str):
    """What a reader of that device's page is told: the verdict that its evidence asks for."""
    said = outcome(claim, facts(device))
    assert (said.verdict, said.case) == VERDICT_OF[claim, device]


@pytest.mark.parametrize("device", sorted(DEVICES))
@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.slug)
def test_evidence_and_its_charts_can_be_drawn_on_every_device(finding, device: str):
    """Missing variants and a missing GPU lane leave tables out; they break nothing."""
    run = facts(device)
    for turned in (run, no_lane(run), replace(run, variants={}), replace(run, ceilings=None), replace(run, probes=Probes())):
        shown = finding.evidence(turned)
        assert all(markdown(table) for table in shown.tables)
        assert len({chart.name for chart in shown.charts}) == len(shown.charts)
        for chart in shown.charts:
            assert chart.alt and svg(chart.form, chart.data, chart.alt).startswith(b"<")


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_a_claim_can_come_out_either_way_and_can_be_silent(claim):
    """A rule that can only agree, or that never lacks evidence, decides nothing."""
    verdicts = {case.verdict for case in claim.cases.values()}
    assert {"holds", "differs"} <= verdicts <= set(VERDICTS)
    assert outcome(claim.id, replace(facts(), variants={})).verdict == "not measurable"


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_what_is_not_measurable_gives_its_reason_alone(claim):
    """The words "Not measurable" come by themselves, so no case types them."""
    for case in claim.cases.values():
        assert not case.headline.lower().startswith("not measurable")
