"""The comparison rules decide as the measurement protocol says, on numbers worked out by hand."""

from reportgen.numbers.statistics import Estimate, changed, compare, magnitude, mann_whitney_p


def seven(*values: float) -> Estimate:
    return Estimate(values)


def test_seven_ratios_on_one_side_and_more_than_two_percent_wins():
    slow = seven(1.03, 1.04, 1.05, 1.03, 1.06, 1.03, 1.04)
    one = seven(*[1.0] * 7)
    assert compare(slow, one).winner == "second"
    assert compare(one, slow).winner == "first"


def test_one_process_on_the_other_side_makes_a_tie():
    mixed = seven(1.03, 1.04, 1.05, 0.999, 1.06, 1.03, 1.04)
    assert compare(mixed, seven(*[1.0] * 7)).winner == "tie"


def test_a_steady_one_percent_is_within_noise():
    assert compare(seven(*[1.01] * 7), seven(*[1.0] * 7)).winner == "tie"


def test_the_edge_is_two_percent_either_way():
    assert compare(seven(*[1.0201] * 7), seven(*[1.0] * 7)).winner == "second"
    assert compare(seven(*[1.0] * 7), seven(*[1.0201] * 7)).winner == "first"
    assert compare(seven(*[1.0199] * 7), seven(*[1.0] * 7)).winner == "tie"


def test_a_larger_floor_raises_the_threshold():
    assert compare(seven(*[1.04] * 7), seven(*[1.0] * 7), floor=0.05).winner == "tie"


def test_six_processes_decide_nothing():
    assert compare(seven(*[2.0] * 6), seven(*[1.0] * 6)).winner == "tie"


def test_magnitude_inside_outside_and_across_fifteen_percent():
    assert magnitude(seven(3.2, 3.7, 4.2), 3.7) == "holds"      # 3.145 .. 4.255
    assert magnitude(seven(2.76, 2.77, 2.78), 3.7) == "differs"
    assert magnitude(seven(3.1, 3.3, 3.4), 3.7) == "straddles"


def test_mann_whitney_of_two_separated_samples_of_seven_is_two_in_3432():
    assert mann_whitney_p([1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14]) == 2 / 3432


def test_mann_whitney_of_three_against_three_cannot_reach_five_percent():
    assert mann_whitney_p([1, 2, 3], [4, 5, 6]) == 0.1


def test_mann_whitney_gives_ties_their_mid_rank():
    """Pooled 1 2 2 3 has ranks 1, 2.5, 2.5, 4: the split (1, 2.5) is as extreme as (2.5, 4); 4 of 6 reach it."""
    assert mann_whitney_p([1, 2], [2, 3]) == 4 / 6
    assert mann_whitney_p([5, 5, 5], [5, 5, 5]) == 1.0


def test_a_change_needs_both_significance_and_size():
    before = seven(100, 101, 102, 103, 104, 105, 106)
    assert changed(before, seven(110, 111, 112, 113, 114, 115, 116))
    assert not changed(before, seven(106, 104, 103, 102, 101, 105, 100))
    tight = seven(*[100 + i / 100 for i in range(7)])
    assert not changed(tight, seven(*[101 + i / 100 for i in range(7)]))
