"""Evidence bears anything that a run may lack, and what it shows can be drawn and read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import DEVICES, facts, failed, no_lane, unavailable, variant, without
from probe_doubles import trained, tried
from test_findings_mask_step import step as masked_alone

from reportgen.analysis import SIX
from reportgen.findings import FINDINGS, claims, outcomes
from reportgen.pages import charts
from reportgen.questions.needs import refusal
from reportgen.run import Autograd, Chains, Clocks, DefaultBackend, Host, OccupancyProbe, Probes, Protocol
from reportgen.saying import tables

BARE = dict(gpu_time=None, gpu_time_cold=None, wall_time=None, host_time=None, profiled_host_time=None, first_call=None, first_call_new_shape=None,
            peak_memory_bytes=None, relative_error=None, masked_row=None, training=None, integrity=None)


def poor(run):
    """A run that recorded traces and nothing else."""
    for name in SIX:
        run = variant(run, name, **BARE)
    return replace(run, probes=Probes(), ceilings=None, clocks=Clocks(), settings={}, protocol=Protocol(), software={}, host=Host())


def emptied(run, how):
    for name in SIX:
        run = how(run, name)
    return run


RUNS = {device: (lambda device=device: facts(device)) for device in DEVICES}
RUNS |= {f"{what} {name}": (lambda how=how, name=name: how(facts(), name)) for what, how in (("unavailable", unavailable), ("failed", failed), ("without", without)) for name in SIX}
RUNS |= {
    "no GPU lane": lambda: no_lane(facts()),
    "nothing but traces": lambda: poor(facts()),
    "nothing but traces, on a CPU": lambda: poor(facts("cpu")),
    "nothing ran": lambda: emptied(facts(), unavailable),
    "no variants": lambda: emptied(facts(), without),
    "no probes": lambda: replace(facts(), probes=Probes()),
    "no ceilings": lambda: replace(facts(), ceilings=None),
    "failed probes": lambda: replace(facts(), probes=Probes(*(kind(reason="out of memory") for kind in (DefaultBackend, Autograd, OccupancyProbe, Chains)))),
}


@pytest.mark.parametrize("what", RUNS)
def test_claims_and_evidence_bear_what_is_missing(what):
    """Missing evidence is said, never a crash and never a pass."""
    run = RUNS[what]()
    decided = outcomes(run)
    assert len(decided) == len(claims())
    for finding in FINDINGS:
        shown = finding.evidence(run)
        for table in shown.tables:
            assert "None" not in tables.markdown(table)
        for chart in shown.charts:
            assert chart.form in charts.FORMS and chart.alt and "None" not in chart.alt
    if what in ("nothing ran", "no variants"):
        assert {outcome.verdict for outcome in decided.values()} == {"not measurable"}


UNTABLED = ("predict-then-look",)
"""Findings whose evidence is a table of each variant's page."""
UNDRAWN = ("is-it-right",)
"""Right and wrong have no length to draw."""


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.slug)
def test_tables_say_what_they_show_and_charts_state_numbers(finding):
    shown = finding.evidence(trained(tried(masked_alone(run=facts()))))
    assert (shown.tables or finding.slug in UNTABLED) and (shown.charts or finding.slug in UNDRAWN)
    assert all(table.caption for table in shown.tables)
    assert all(any(digit.isdigit() for digit in chart.alt) for chart in shown.charts)


@pytest.mark.parametrize("heard, said", [
    ("No available kernel. Aborting execution. Memory efficient kernel not used because:. Memory Efficient attention has been runtime disabled. Flash attention kernel not used "
     "because:. Flash Attention does not support non-null attn_mask. cuDNN attention kernel not used because:. cuDNN attention has been runtime disabled.",
     "Flash Attention does not support non-null attn_mask"),
    ("No available kernel. Aborting execution.", "No available kernel. Aborting execution"),
    ("No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel and the fused kernels.",
     "No viable backend for scaled_dot_product_attention was found"),
    ("Flash attention has been runtime disabled.", "Flash attention has been runtime disabled"),
    ("out of memory", "out of memory"),
])
def test_a_refusal_is_told_without_the_echo_of_its_pin(heard, said):
    """Whoever pins one backend disables the others: torch says so each time, and it explains nothing."""
    assert refusal(heard) == said


def test_chart_names_are_unique_within_a_run():
    names = [chart.name for finding in FINDINGS for chart in finding.evidence(facts()).charts]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.slug)
def test_every_chart_can_be_drawn(finding):
    for device in ("h200", "t4"):
        for chart in finding.evidence(facts(device)).charts:
            assert charts.svg(chart.form, chart.data, chart.alt).startswith(b"<?xml")
