"""Where math's extra time goes: the recorded H200 run added up by hand, and traces that were turned round."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from builders import activities, activity, facts, failed, no_lane, variant

from reportgen import analysis as facts_room
from reportgen import run as run_room
from reportgen.analysis.waterfall import Group, waterfall

RECORDED = Path(__file__).resolve().parents[1] / "data" / "run-schema-1" / "nvidia-h200" / "article"
DOCS = Path(__file__).resolve().parents[2] / "docs" / "runs"
PAIR = ("naive_inplace", "sdpa_math")

BY_HAND = [
    (Group.MATMULS, 0.768 + 83.711 + 84.064, 543.677 + 418.333, 793.467, 47.0),
    (Group.SAFE_SOFTMAX, 0, 155.679 + 96.351 + 0.767 + 409.374, 662.171, 39.3),
    (Group.DROPPED_CAST, 0, 186.239, 186.239, 11.0),
    (Group.CASTS, 0, 25.376 + 26.080 + 25.889 + 12.031, 89.376, 5.3),
    (Group.MASK_APPLIED, 357.534, 395.870, 38.336, 2.3),
    (Group.MASK_BUILT, 0, 1.216 + 4.480 + 0.768 + 0.768 + 4.032, 11.264, 0.7),
    (Group.SOFTMAX, 282.878, 280.798, -2.080, -0.1),
    (Group.SCALE, 127.071, 17.472 + 17.376, -92.223, -5.5),
]
"""Group, µs in naive in place and in math, the difference, its share of 1,686.5 µs in percent: typed from the trace's activities."""


def test_the_recorded_run_is_sorted_as_by_hand():
    found = waterfall(facts_room.build(run_room.load(RECORDED)), *PAIR)
    assert [step.group for step in found.steps] == [row[0] for row in BY_HAND]
    for step, (_, first, second, extra, percent) in zip(found.steps, BY_HAND):
        assert (step.first * 1e6, step.second * 1e6, step.extra * 1e6) == pytest.approx((first, second, extra), abs=0.005)
        assert 100 * found.share(step) == pytest.approx(percent, abs=0.05)
    assert (found.start * 1e6, found.end * 1e6, found.gap * 1e6) == pytest.approx((936.026, 2622.574, 1686.548), abs=0.005)


@pytest.mark.parametrize("slot", sorted(path.parent.relative_to(DOCS).as_posix() for path in DOCS.glob("*/*/run.json")))
def test_the_steps_of_every_recorded_run_close_to_the_difference_of_its_traces(slot):
    run = facts_room.build(run_room.load(DOCS / slot))
    found = waterfall(run, *PAIR)
    first, second = (sum(a.duration for a in run.variants[name].activities) for name in PAIR)
    assert sum(step.extra for step in found.steps) == pytest.approx(second - first, abs=1e-12)
    assert sum(found.share(step) for step in found.steps) == pytest.approx(1.0)
    assert Group.OTHER not in {step.group for step in found.steps}


def test_out_of_place_the_copy_belongs_to_the_mask():
    """484.6 µs with the hidden copy, 357.5 without it."""
    found = waterfall(facts_room.build(run_room.load(RECORDED)), "naive", "naive_inplace")
    applied = next(step for step in found.steps if step.group is Group.MASK_APPLIED)
    assert applied.extra * 1e6 == pytest.approx(-127.1, abs=0.1)
    assert found.share(applied) is None  # the second is the faster one


def test_what_no_rule_knows_stands_by_itself_and_the_sum_still_closes():
    held = facts().variants["sdpa_math"].activities
    found = waterfall(variant(facts(), "sdpa_math", activities=(*held, activity(us=50.0, role="other", op_path=("aten::new",)))), *PAIR)
    (rest,) = (step for step in found.steps if step.group is Group.OTHER)
    assert rest.extra * 1e6 == pytest.approx(50.0)
    assert found.gap * 1e6 == pytest.approx(2580 + 50 - 930)


def test_twice_the_bytes_in_the_same_time_are_wider_and_not_paid_for():
    steps = {step.group: step for step in waterfall(facts(), *PAIR).steps}
    assert (steps[Group.SOFTMAX].wider, steps[Group.SOFTMAX].paid) == (True, False)
    assert (steps[Group.MASK_APPLIED].wider, steps[Group.MASK_APPLIED].paid) == (True, False)
    assert not steps[Group.SCALE].wider  # fewer bytes, on q and k


def test_twice_the_bytes_in_half_as_much_time_again_are_paid_for():
    """281.2 µs in 16 bits: 1.5 times as long is the border."""
    def paid(times):
        run = activities(facts(), "sdpa_math", lambda a: replace(a, duration=281.204e-6 * times) if a.role == "softmax" else a)
        return next(step.paid for step in waterfall(run, *PAIR).steps if step.group is Group.SOFTMAX)

    assert (paid(1.49), paid(1.51)) == (False, True)


def test_a_step_without_modelled_bytes_is_not_called_wider():
    run = activities(facts(), "sdpa_math", lambda a: replace(a, requested_bytes=None) if a.role == "softmax" else a)
    assert not next(step for step in waterfall(run, *PAIR).steps if step.group is Group.SOFTMAX).wider


def test_there_is_no_waterfall_without_two_right_variants_and_their_records():
    assert waterfall(no_lane(facts()), *PAIR) is None
    assert waterfall(failed(facts(), "sdpa_math"), *PAIR) is None
    assert waterfall(facts(), "naive_inplace", "no_such_variant") is None
