"""Predict, then look: every way in which its claim can come out, with the evidence turned round."""

from __future__ import annotations

from builders import facts, unavailable, variant
from case_tables import outcome

from reportgen.analysis import SIX
from reportgen.findings.predict_then_look import FINDING


def each(change):
    """`change(run, name)` applied for each of the six variants."""
    run = facts()
    for name in SIX:
        run = change(run, name)
    return run


def foreseen(run, name):
    """A prediction that says exactly what the trace shows."""
    return variant(run, name, prediction=tuple((a.role, "foreseen") for a in run.variants[name].activities))


def untraced(run, name):
    return variant(run, name, kernels=None, memcpys=None, memsets=None, activities=())


CASES_REACHED = {
    ("predict-then-look", "none-ran"): (
        lambda: each(lambda run, name: unavailable(run, name)),
        "Not measurable: no variant ran, so there is no trace to compare."),
    ("predict-then-look", "no-predictions"): (
        lambda: each(lambda run, name: variant(run, name, prediction=())),
        "Not measurable: this run's variants carry no predictions."),
    ("predict-then-look", "broken"): (
        facts,
        "The trace contradicts the prediction in 4 of 6 variants: Naive, Naive in place, SDPA math and SDPA cuDNN."),
    ("predict-then-look", "as-predicted"): (
        lambda: each(foreseen),
        "Every trace matches its prediction: all 6 variants queue exactly the expected activities."),
}

# claim → device → (verdict, case)
ON_DEVICES = {
    "predict-then-look": {
        "h200": ("holds", "broken"),
        "a100": ("holds", "broken"),
        "t4": ("holds", "broken"),
        "rtx4090": ("holds", "broken"),
        "b200": ("holds", "broken"),
        "mi300x": ("holds", "broken"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
}


def test_every_line_that_one_side_lacks_is_told():
    said = outcome("predict-then-look", facts("a100"))
    assert said.because == (
        "Not predicted: Naive: 1 × copy; SDPA math: 5 × cast, 2 × scale, 4 × fill, 1 × tril, 2 × where, 1 × add, 1 × isneginf, 1 × all.",
        "Predicted but not seen: SDPA math: 1 × scale, 1 × mask.",
        "As predicted: Naive in place, SDPA efficient, SDPA flash and SDPA cuDNN.")


def test_who_did_not_run_is_named():
    assert outcome("predict-then-look", facts("t4")).caveats[-1] == "Not in the comparison: SDPA flash and SDPA cuDNN did not run here."


def test_the_chart_counts_lines():
    chart = FINDING.evidence(facts()).charts[0]
    assert dict(chart.data["series"])["seen, not predicted"] == [2, 1, 17, 0, 0, 1]
    assert dict(chart.data["series"])["predicted, not seen"] == [0, 0, 2, 0, 0, 0]


def test_one_variant_alone_is_told_as_one():
    """Never "all 1 variants" or "1 of 1"."""
    run = facts()
    for name in SIX[1:]:
        run = unavailable(run, name)
    assert "The trace contradicts the prediction in the one variant that was traced: Naive." in outcome("predict-then-look", run).headline
    assert outcome("predict-then-look", foreseen(run, "naive")).headline.endswith(
        "Every trace matches its prediction: the one variant that was traced queues exactly the expected activities.")
