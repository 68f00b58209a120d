"""What the advice loses at calls that its map has not, and how that is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from map_doubles import built, point, shape_map, square

from reportgen.analysis import policy
from reportgen.analysis.unseen import Unseen, unseen
from reportgen.questions import policy_words

# flash wins by half at every point of the map, and torch picks cuDNN: the rule pins flash
RULES = policy.build(built(point(square(512), "cudnn", flash=50.0, cudnn=75.0), point(square(2048), "cudnn", flash=60.0, cudnn=90.0)))


def test_regret_is_taken_over_calls_that_the_map_has_not():
    # 1,024: flash is the fastest, torch's cuDNN takes 40 against 20. 4,096: cuDNN is the fastest, the advised flash takes 110 against 100. 512 is in the map.
    measured = shape_map(point(square(512), "cudnn", flash=50.0, cudnn=500.0), point(square(1024), "cudnn", flash=20.0, cudnn=40.0), point(square(4096), "cudnn", flash=110.0, cudnn=100.0))
    assert unseen(RULES, measured) == Unseen(2, own_mean=pytest.approx(0.05), own_worst=pytest.approx(0.1), default_mean=pytest.approx(0.5), default_worst=pytest.approx(1.0))


def test_a_wrong_pick_has_no_regret_and_is_counted():
    measured = shape_map(point(square(1024), "cudnn", flash=20.0, cudnn=40.0), point(square(256), "cudnn", flash=20.0, cudnn="wrong"))
    found = unseen(RULES, measured)
    assert found is not None and (found.calls, found.without, found.default_worst) == (1, 1, pytest.approx(1.0))


def test_what_another_version_measured_says_nothing():
    measured = shape_map(point(square(1024), "cudnn", flash=20.0, cudnn=40.0))
    other = replace(measured, header=replace(measured.header, software={**measured.header.software, "cudnn": "9.20.0"}))
    assert unseen(RULES, measured) is not None and unseen(RULES, other) is None and unseen(RULES, None) is None
    assert unseen(RULES, shape_map(point(square(512), "cudnn", flash=50.0, cudnn=75.0))) is None


def test_it_is_said_behind_what_the_rules_lose_where_they_were_made():
    said = policy_words.leave(RULES, Unseen(50, 0.0016, 0.079, 0.0087, 0.24))
    assert said.endswith("these rules lose 0 %, and torch's own pick loses 50 %. At 50 further calls that the map has not, torch's own pick loses 0.87 % on average and 24 % at worst; "
                         "with these rules it is 0.16 % and 7.9 %.")
    assert policy_words.leave(RULES, Unseen(1, 0.0, 0.0, 0.5, 0.5, without=2)).endswith(
        "At 1 further call that the map has not, torch's own pick loses 50 % on average and 50 % at worst; with these rules it is 0 % and 0 %. "
        "At 2 more, one of the two gives no right result in a known time.")
    left = policy.build(built(point(square(512), "flash", flash=50.0, cudnn=75.0)))
    assert policy_words.leave(left, Unseen(50, 0.01, 0.2, 0.01, 0.2)).endswith("At 50 further calls that the map has not, torch's own pick loses 1.0 % on average and 20 % at worst.")
