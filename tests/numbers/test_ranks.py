"""Critical values, intervals and detectable shifts agree with the exact test that they stand for."""

import random

import pytest

from reportgen.numbers.ranks import critical_u, detectable, interval
from reportgen.numbers.statistics import Estimate, changed, mann_whitney_p


def u_of(first, second):
    above = sum(a > b for a in first for b in second)
    return min(above, len(first) * len(second) - above)


@pytest.mark.parametrize(("first", "second", "alpha", "expected"), [
    # H. B. Mann and D. R. Whitney's table as printed in textbooks, two-sided
    (7, 7, 0.01, 4), (7, 7, 0.05, 8), (8, 8, 0.01, 7), (6, 6, 0.01, 2), (5, 5, 0.05, 2), (3, 3, 0.05, None), (7, 3, 0.01, None),
])
def test_critical_values_are_those_of_the_printed_tables(first, second, alpha, expected):
    assert critical_u(first, second, alpha) == expected


def test_the_critical_value_decides_as_the_enumeration_does_for_seven_against_seven():
    """Every U from 0 to 24 that random samples show is on the same side of 0.01 for both."""
    source, seen = random.Random(1), set()
    for shift in (0, 0.5, 1, 1.5, 2, 3):
        for _ in range(25):
            first = [source.gauss(0, 1) for _ in range(7)]
            second = [source.gauss(shift, 1) for _ in range(7)]
            u = u_of(first, second)
            seen.add(u)
            assert (u <= critical_u(7, 7)) == (mann_whitney_p(first, second) < 0.01)
    assert {4, 5} <= seen  # both sides of the edge were met


def test_the_interval_leaves_out_one_exactly_where_the_test_says_changed():
    source, sides = random.Random(2), set()
    for _ in range(60):
        before = Estimate(tuple(100 + source.gauss(0, 2) for _ in range(7)))
        after = Estimate(tuple(103 + source.gauss(0, 2) for _ in range(7)))
        low, high = interval(before, after)
        significant = mann_whitney_p(before.samples, after.samples) < 0.01
        sides.add(significant)
        assert (not low <= 1 <= high) == significant
    assert sides == {True, False}


def test_the_interval_of_a_plain_doubling_is_around_two():
    before = Estimate((10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6))
    low, high = interval(before, Estimate(tuple(2 * value for value in before.samples)))
    assert 1.9 < low < 2 < high < 2.1


def test_three_processes_give_no_interval():
    assert interval(Estimate((1, 2, 3)), Estimate((4, 5, 6))) is None


def test_just_above_the_detectable_shift_a_rerun_is_called_changed_and_just_below_it_is_not():
    samples = (100.0, 101.0, 102.5, 103.0, 104.0, 105.0, 107.0)
    least = detectable(samples)
    assert least > 0.02
    before = Estimate(samples)
    assert changed(before, Estimate(tuple(value * (1 + least + 1e-6) for value in samples)))
    assert not changed(before, Estimate(tuple(value * (1 + least - 1e-6) for value in samples)))


def test_steady_processes_can_detect_two_percent_or_the_floor_and_too_few_can_detect_nothing():
    assert detectable((1.0,) * 7) == 0.02
    assert detectable((1.0,) * 7, floor=0.05) == 0.05
    assert detectable((1.0, 1.0, 1.0)) == float("inf")
