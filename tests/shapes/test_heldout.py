"""The measures of regret: what is drawn, and what a choice loses. Without torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import bill as loops
from benchmarks import heldout, random_calls
from reportgen.shapes import Call, grid
from reportgen.shapes.record import Point, Reading

CALL = Call(8, 16, 16, 1024, 1024, 64, 64)


def test_a_seed_draws_the_same_shapes_and_none_that_the_map_has():
    known = frozenset(grid.points(True))
    drawn = heldout.drawn(7, 50, known)
    assert drawn == heldout.drawn(7, 50, known) != heldout.drawn(8, 50, known)
    assert len(set(drawn)) == 50 and not known & set(drawn)
    first = heldout.drawn(7, 1)[0]
    assert first not in heldout.drawn(7, 50, frozenset([first]))
    assert all(call.batch * call.keys <= 16_384 or call.queries == 1 for call in drawn)


def point(picked: str | None, *readings: Reading) -> Point:
    return Point(CALL, picked, readings, 1.0)


FLASH, CUDNN = Reading("flash", "ok", gpu=(2.0, 2.2, 2.4)), Reading("cudnn", "ok", gpu=(2.0,))
REFUSED, WRONG = Reading("efficient", "refused", "no"), Reading("math", "wrong")


def test_a_choice_loses_against_the_best_right_backend():
    one = heldout.lost(point("flash", FLASH, CUDNN, REFUSED), lambda call: ("efficient", "cudnn"))
    assert one is not None and (one.best, one.picked, one.chosen) == ("cudnn", "flash", "cudnn")
    assert (one.default, one.advised) == (pytest.approx(0.1), 0.0)


def test_a_wrong_choice_has_no_regret_but_counts():
    one = heldout.lost(point("math", FLASH, WRONG), lambda call: ("math", "flash"))
    assert one is not None and (one.default, one.chosen, one.advised) == (None, "math", None)
    assert heldout.summary([one], "default") == {"mean": None, "worst": None, "of_all_time": None, "without": 1}
    assert heldout.lost(point(None, REFUSED, WRONG), lambda call: ()) is None


def test_regret_is_given_per_call_and_of_all_time():
    long_ = heldout.Lost(replace(CALL, keys=2048, queries=2048), "cudnn", 9.0, "cudnn", 0.0, "cudnn", 0.0)
    short = heldout.Lost(CALL, "flash", 1.0, "cudnn", 0.5, "flash", 0.0)
    assert heldout.summary([long_, short], "default") == {"mean": 0.25, "worst": 0.5, "of_all_time": pytest.approx(0.05), "without": 0}


def test_a_policy_is_asked_by_its_own_words(tmp_path: Path):
    file = tmp_path / "best_sdpa.py"
    file.write_text("def order(batch, heads, kv_heads, queries, keys, head_dim, value_dim, bits, mask, gradients):\n"
                    "    return ('flash',) if (mask, bits, gradients, heads, kv_heads) == ('bool', 32, True, 16, 4) else ()\n", encoding="utf-8")
    order = heldout.policy(file)
    assert order(replace(CALL, kv_heads=4, dtype="float32", mask="window", gradients=True)) == ("flash",) and order(CALL) == ()
    assert heldout.policy(None)(CALL) == ()


def test_lengths_of_a_loop_lie_between_those_of_the_bill():
    drawn = loops.lengths(1, 380, (256, 1024, 640))
    assert len(drawn) == 380 and min(drawn) >= 256 and max(drawn) <= 1024 and len(set(drawn)) > 200


def test_a_loop_is_split_over_processes_and_told_beside_what_each_process_of_the_bill_predicts():
    row = loops.bill.Row("cudnn", False, False, False, (100, 200, 100, 200), first=(0.05, 0.05, 0.07, 0.07), later=(0.01,) * 4, passes=(0, 0, 1, 1), begun=(1.0, 1.0))
    assert loops.parts((1, 2, 3, 4, 5), 2) == [(1, 2, 3), (4, 5)]
    # two new lengths in each process, at 0.05 on average beside a later call of 0.01
    said = loops.compared(row, [(100, 120), (100, 130)], [[0.06, 0.06], [0.06, 0.06]])
    assert said.split("new lengths")[1].split() == "predicted 0.240 s (0.200 to 0.280) measured 0.240 s (0.120, 0.120) +0.0%".split()


def test_winners_are_all_that_are_near_the_fastest():
    assert random_calls.winners({"flash": 1.0, "cudnn": 1.02, "math": 9.0}) == ["cudnn", "flash"]
