"""What is said where all processes read alike: no range is made up of one number."""

import pytest

from reportgen.numbers.statistics import Estimate
from reportgen.pages import cells
from reportgen.questions.ranked import interval, over_processes


@pytest.mark.parametrize(("samples", "told", "untold"), [
    ((2.7776, 2.7808, 2.7833), "in every process", "2.78× in every process"),
    ((2.7894, 2.7922, 2.7953), "2.79× to 2.80×", "2.79× to 2.80×"),
    ((2.7808,), "in one process", "2.78× in one process"),
])
def test_ratios_that_read_alike_are_no_range(samples, told, untold):
    assert (over_processes(Estimate(samples)), over_processes(Estimate(samples), told=False)) == (told, untold)


@pytest.mark.parametrize(("samples", "said"), [
    ((0.002581, 0.002579, 0.002582), "2.58 ms"),
    ((0.000928, 0.0009277, 0.0009288), "928 µs (928 µs to 929 µs)"),
    ((0.000125,), "125 µs"),
])
def test_times_that_read_alike_are_one_number(samples, said):
    assert interval(Estimate(samples)) == said


@pytest.mark.parametrize(("samples", "said"), [
    ((0.002581, 0.002579, 0.002582), "2,580 in every process"),
    ((0.000928, 0.0009277, 0.0009288), "928 to 929"),
    ((0.000125,), "one process"),
])
def test_the_column_of_lowest_to_highest_makes_up_no_range(samples, said):
    assert cells.interval(Estimate(samples)) == said
