"""Do round trips dominate? Every case, every device, and the two questions kept apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from builders import activities, activity, estimate, facts, variant

from reportgen import analysis as facts_room
from reportgen import run as run_room
from reportgen.analysis import CounterFacts
from reportgen.analysis.bounds import Limit, bounds
from reportgen.analysis.round_trips import round_trips
from reportgen.findings.hbm_dominates import CLAIM
from reportgen.questions.evaluate import evaluate
from reportgen.readings.limits import READING as LIMITS
from reportgen.readings.roofline import READING as ROOFLINE
from reportgen.readings.traffic import READING as BYTES

COPY = 4.3e12
"""Bytes per second of the made-up H200's copy."""
DOCS = Path(__file__).resolve().parents[2] / "docs" / "runs"


def spent(run, **variants):
    """`run` whose variants take 1,000 µs: the first number in one pass over the scores, the rest in a matmul; their bytes need the second at copy speed."""
    for name, (passes, by_bytes) in variants.items():
        walk = activity(role="mask", us=passes, requested_bytes=by_bytes * 1e-6 * COPY)
        product = activity(role="matmul", us=1000 - passes, requested_bytes=0.0)
        run = variant(run, name, activities=(walk, product), kernels=2, memsets=0, gpu_time=estimate(1000, spread=0))
    return run


def seen(run, **factors):
    """`run` with counters that saw so many times the bytes that each step asked for."""
    for name, factor in factors.items():
        run = activities(run, name, lambda a, factor=factor: replace(a, counters=CounterFacts(a.requested_bytes * factor, 0.0)))
    return run


def unmodelled(run, role="softmax"):
    return activities(run, "naive_inplace", lambda a: replace(a, requested_bytes=None) if a.role == role else a)


def said(run):
    return evaluate(CLAIM, run)


CASES_REACHED = {
    ("hbm-dominates", "dominates"): (
        lambda: facts(),
        "Passes over the score matrix take more time than the matmuls: 82 % against 17.9 % of the GPU time in naive in place, 58.2 % against 36.6 % in SDPA math. "
        "At copy speed, moving all bytes would take 55.4 % and 57.6 % of the time."),
    ("hbm-dominates", "bytes-account-for-less"): (
        lambda: spent(facts(), naive_inplace=(800, 300), sdpa_math=(600, 550)),
        "Passes over the score matrix take more time than the matmuls (80 % against 20 % of the GPU time in naive in place, 60 % against 40 % in SDPA math), but bytes explain "
        "less than 50 % of the time in naive in place. At copy speed, moving all bytes would take 30 % and 55 % of the time."),
    ("hbm-dominates", "matmuls-lead"): (
        lambda: spent(facts(), naive_inplace=(400, 300), sdpa_math=(600, 550)),
        "The matmuls take more time than the passes over the score matrix in naive in place: passes take 40 % against 60 % of the GPU time in naive in place, 60 % against 40 % in SDPA "
        "math. At copy speed, moving all bytes would take 30 % and 55 % of the time."),
    ("hbm-dominates", "on-the-line"): (
        lambda: seen(spent(facts(), naive_inplace=(800, 520), sdpa_math=(800, 700)), naive_inplace=0.93, sdpa_math=1),
        "This run cannot tell whether round trips dominate: passes over the score matrix take 80 % against 20 % of the GPU time in naive in place, 80 % against 20 % in SDPA math for the "
        "matmuls. At copy speed, moving all bytes would take 48.4 % and 70 % of the time. These bytes were counted; with requested bytes it would be 52 % and 70 %."),
    ("hbm-dominates", "not-modelled"): (
        lambda: unmodelled(unmodelled(facts()), "mask"),
        "Not measurable: 68.4 % of naive in place's GPU time and 0 % of SDPA math's goes into steps whose bytes are unknown."),
}

ON_DEVICES = {
    "hbm-dominates": {
        "h200": ("holds", "dominates"),
        "a100": ("holds", "dominates"),
        "t4": ("holds", "dominates"),
        "rtx4090": ("holds", "dominates"),
        "b200": ("differs", "bytes-account-for-less"),
        "mi300x": ("not measurable", "fits-in-cache"),
        "cpu": ("not measurable", "no-gpu-lane"),
    },
}


@pytest.mark.parametrize("us, case", [(489, "bytes-account-for-less"), (494, "on-the-line"), (506, "on-the-line"), (511, "dominates")])
def test_half_of_the_time_is_the_border_and_two_percent_of_it_are_not_told_apart(us, case):
    assert said(spent(facts(), naive_inplace=(800, us), sdpa_math=(800, 700))).case == case


@pytest.mark.parametrize("us, case", [(490, "matmuls-lead"), (500, "on-the-line"), (504, "on-the-line"), (506, "dominates")])
def test_passes_lead_beyond_two_percent_of_the_matmuls(us, case):
    """506 against 494 µs is 2.4 % more, 504 against 496 is 1.6 %."""
    assert said(spent(facts(), naive_inplace=(us, 520), sdpa_math=(800, 700))).case == case


def test_a_counted_forward_is_judged_by_its_count_and_a_model_that_disagrees_is_no_verdict():
    """560 µs by what the steps ask for: confirmed by 0.95 of it, contradicted by 0.85."""
    run = spent(facts(), naive_inplace=(800, 560), sdpa_math=(800, 700))
    assert said(seen(run, naive_inplace=0.95, sdpa_math=1)).case == "dominates"
    assert said(seen(run, naive_inplace=0.85, sdpa_math=1)).case == "on-the-line"


def test_steps_that_nobody_modelled_leave_it_open_only_where_they_could_tip_it():
    """Without softmax's bytes the known ones need 42 % of naive in place's time; without those of a 1 µs step nothing hangs on it."""
    assert said(unmodelled(facts())).case == "not-modelled"
    small = spent(facts(), naive_inplace=(800, 700), sdpa_math=(800, 700))
    held = small.variants["naive_inplace"].activities
    assert said(variant(small, "naive_inplace", activities=(*held, activity(us=1, requested_bytes=None)))).case == "dominates"


def test_what_the_bytes_leave_over_is_named_with_both_times():
    """Mask: 513 MiB at 4.30 TB/s are 125 µs, softmax: 512 MiB. Scale runs at copy speed, so nothing is left of it."""
    because = said(facts()).because
    assert because[0] == "Naive in place runs below copy speed in mask (355 µs, at copy speed 125 µs) and softmax (281 µs, at copy speed 125 µs)."
    assert because[1] == "SDPA math runs below copy speed in matmul (944 µs, at copy speed 281 µs)."
    at_speed = spent(facts(), naive_inplace=(800, 790), sdpa_math=(800, 790))
    assert not any(sentence.startswith("Naive in place runs below copy speed in mask") for sentence in said(at_speed).because)


@pytest.mark.parametrize("by_bytes, below", [(470, ("mask",)), (490, ())])
def test_a_step_is_below_copy_speed_where_the_table_does_not_call_it_near(by_bytes, below):
    """60 % of 800 µs are 480: at 470 the table says "neither", at 490 "copy speed"; the time left beyond the bytes is told of both."""
    run = spent(facts(), naive_inplace=(800, by_bytes), sdpa_math=(600, 590))
    trips = round_trips(run, run.variants["naive_inplace"])
    near = bounds(run.variants["naive_inplace"], run.ceilings)[0].limit is Limit.HBM
    assert (tuple(one.role for one in trips.below if one.role == "mask"), near) == (below, not below)
    assert [one.role for one in trips.slack][:1] == ["mask"]
    assert any(sentence.startswith("Naive in place runs below copy speed in mask") for sentence in said(run).because) is bool(below)


def test_bandwidth_is_called_no_predictor_only_where_a_pass_is_far_below_it():
    """Half of its time is the border: 800 µs with bytes for 410, and for 390."""
    def advice(by_bytes):
        return said(spent(facts(), naive_inplace=(800, by_bytes), sdpa_math=(600, 590))).advice

    assert "Bandwidth alone does not predict this code's time: mask runs far below copy speed." in advice(390)
    assert "Bandwidth alone" not in advice(410)


def test_arithmetic_and_the_roofs_side_stand_beside_it():
    """2 × 17.18 GFLOP at 788 TFLOP/s are 43.6 of 930 µs."""
    because = said(facts()).because
    assert "At matmul speed, naive in place's FLOP would take 4.7 % of its time." in because
    assert any(sentence.startswith("Naive in place lies left of the ridge (15.5 FLOP per byte, the ridge is at 183): memory sets its roof") for sentence in because)
    assert not any("rithmetic alone" in sentence for sentence in said(spent(facts(), naive_inplace=(800, 700), sdpa_math=(800, 700))).because)


def test_counted_bytes_that_disagree_are_said_with_their_direction():
    """Half of what was asked for: the cache had the rest. Take the counters away and the sentences go."""
    below = said(seen(facts(), naive_inplace=0.5, sdpa_math=1)).because
    assert any(sentence.startswith("Among the steps that take 1 % of the time or more, fewer bytes were counted than asked for, by more than 10 %, in matmul of Naive in place (576 MiB requested, 288 MiB counted)")
               for sentence in below)
    assert not any("more bytes were counted" in sentence for sentence in below)
    above = said(seen(facts(), naive_inplace=1.5, sdpa_math=1)).because
    assert any(sentence.startswith("Among the steps that take 1 % of the time or more, more bytes were counted than asked for") for sentence in above)
    agreed = said(seen(facts(), naive_inplace=1, sdpa_math=1))
    assert any(sentence.endswith("counted and requested bytes agree within 10 %.") for sentence in agreed.because)
    assert not any("by their shapes" in sentence for sentence in agreed.caveats)
    assert not any("ounted" in sentence for sentence in said(facts()).because)
    assert "No hardware counter ran: bytes are modelled from shapes." in said(facts()).caveats


def test_the_line_that_sorts_tables_decides_nothing(monkeypatch):
    """At a line of 99 % no step runs near copy speed, and the claim stays as it was."""
    before = said(facts())
    monkeypatch.setattr("reportgen.analysis.bounds.ENOUGH", 0.99)
    run = facts()
    assert not any(one.byte_share and one.byte_share >= 0.99 for one in bounds(run.variants["naive_inplace"], run.ceilings))
    assert (said(run).case, said(run).headline) == (before.case, before.headline)


@pytest.mark.parametrize("slot", sorted(path.parent.relative_to(DOCS).as_posix() for path in DOCS.glob("*/*/run.json")))
def test_the_claim_the_limits_the_bytes_and_the_roofline_give_one_answer(slot):
    """The same per cent on three pages, and the side of the ridge on a fourth."""
    run = facts_room.build(run_room.load(DOCS / slot))
    answers = {question.id: evaluate(question, run).headline for reading in (LIMITS, BYTES, ROOFLINE) for question in reading.questions}
    outcome, trips = said(run), round_trips(run, run.variants["naive_inplace"])
    share, passes = (f"{100 * value:.1f}".rstrip("0").rstrip(".") + " %" for value in (trips.share, trips.passes / trips.total))
    assert f"would take {share} and" in outcome.headline and f"matmuls: {passes} against" in outcome.headline
    steps = next(table for table in LIMITS.evidence(run).tables if table.caption.startswith("Shares of GPU time of each step-by-step"))
    assert [str(cell) for cell in next(row for row in steps.rows if row[0] == "Naive in place")][1:4:2] == [passes, share]
    assert f"({share})" in answers["bytes-floor"]
    assert any("Naive in place lies left of the ridge" in sentence for sentence in outcome.because)
    assert "Naive in place (" in answers["roofline-ridge"].split("memory sets the roof: ")[1].split("Right of it")[0]
