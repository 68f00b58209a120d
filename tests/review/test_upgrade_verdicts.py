"""What an upgrade changes at a call, and in which words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from upgrade_doubles import CUDNN, US, A, around, pair, seen, upgrade

from reportgen.numbers.statistics import Estimate
from reportgen.review import upgrade as judging
from reportgen.review import upgrade_words as words
from reportgen.review.upgrade import Cause, Change
from reportgen.shapes.upgrade import Given, Process, Seen


def only(a: Seen, b: Seen) -> judging.Judged:
    return judging.judged(upgrade(pair(a, b)))[0]


@pytest.mark.parametrize(("first", "second", "changes"), [
    (103.0, 103.0, (Change.SLOWER,)), (97.0, 97.0, (Change.FASTER,)), (101.5, 101.5, ()), (103.0, 100.0, ()), (103.0, 97.0, ()), (103.0, None, ()),
])
def test_a_time_is_changed_where_both_passes_say_so_in_the_same_direction(first: float, second: float | None, changes: tuple[Change, ...]):
    one = only(seen(100.0, 100.0), seen(first, second))
    assert one.changes == changes
    assert one.worse is (changes == (Change.SLOWER,)) and one.better is (changes == (Change.FASTER,))


def test_what_one_pass_alone_says_is_told():
    one = only(seen(100.0, 100.0), seen(103.0, 100.0))
    assert one.unconfirmed and not one.worse
    assert "1 call was called changed in the first pass and not in the second, which counts as not told apart." in words.answer(upgrade(one.pair), [one])


def test_fewer_than_seven_processes_decide_nothing():
    few = {"gpu_time": Estimate((1.0, 1.001, 1.002, 1.003, 1.004, 1.005))}
    more = {"gpu_time": Estimate(tuple(2 * value for value in few["gpu_time"].samples))}
    assert not judging.flagged(few, more)
    seven = {"gpu_time": Estimate((*few["gpu_time"].samples, 1.006))}, {"gpu_time": Estimate((*more["gpu_time"].samples, 2.1))}
    assert judging.flagged(*seven)


def test_host_time_decides_nothing():
    host = {"host_time": Estimate((1.0,) * 7)}, {"host_time": Estimate((2.0,) * 7)}
    assert not judging.flagged(*host)


@pytest.mark.parametrize(("b", "cause", "said"), [
    (seen(150.0, 150.0, picked="cudnn", kernels=CUDNN, ops=("aten::cudnn",), output="p"), Cause.BACKEND, "50 % more GPU time; flash → cuDNN; other bits"),
    (seen(150.0, 150.0, kernels=("another",)), Cause.KERNELS, "50 % more GPU time; other kernels"),
    (seen(250.0, 250.0, ops=("aten::_to_copy", "aten::flash")), Cause.OPS, "2.5 times the GPU time; other ops"),
    (seen(90.0, 90.0), Cause.SAME_KERNELS, "10 % less GPU time; by the same kernels"),
    (seen(90.0, 90.0, kernels=None), Cause.NOT_SEEN, "10 % less GPU time"),
])
def test_a_change_of_time_comes_with_what_was_seen_to_change(b: Seen, cause: Cause, said: str):
    one = only(seen(100.0, 100.0), b)
    assert one.cause is cause and words.said(one) == said


@pytest.mark.parametrize(("before", "after", "worse", "better"), [
    ("ok", "wrong", True, False), ("ok", "refused", True, False), ("refused", "wrong", True, False), ("wrong", "refused", False, True), ("wrong", "ok", False, True), ("refused", "failed", False, False),
])
def test_an_outcome_is_worse_the_later_it_is_noticed(before: str, after: str, worse: bool, better: bool):
    one = only(Seen(before), Seen(after, "because"))  # type: ignore[arg-type]
    assert (one.worse, one.better) == (worse, better) and one.changes == (Change.STATE,)
    assert words.said(one).startswith(f"{words.STATES[before]} → {words.STATES[after]}")


@pytest.mark.parametrize(("a", "b", "expected"), [
    ({}, {}, False), ({}, {"output": "p"}, True), ({}, {"output": "p", "inputs": "j"}, None), ({"output": None}, {"output": "p"}, None),
])
def test_bits_are_compared_where_the_inputs_are_the_same_and_a_side_repeats_its_own(a: dict[str, str], b: dict[str, str], expected: bool | None):
    assert judging.other_bits(seen(**a), seen(**b)) is expected


def test_kernels_that_the_profiler_lost_are_no_other_kernels():
    assert only(seen(), seen(kernels=None)).changes == ()


def test_sides_are_named_by_what_differs():
    found = upgrade()
    assert (words.name(found, "a"), words.name(found, "b")) == ("torch 2.9.1", "torch 2.14.1")
    assert words.sides(found) == [("torch", "2.9.1", "2.14.1"), ("cuDNN", "9.10.2", "9.19.0")]
    switch = "TORCH_CUDNN_SDPA_DEPRIORITIZED"
    old = Given(A.software, {"environment": {switch: "1"}}, {switch: "1"})
    found = upgrade(a=old, b=Given(A.software, {"environment": {}}))
    assert (words.name(found, "a"), words.name(found, "b")) == (f"{switch}=1", f"no {switch}")
    assert words.sides(found) == [(switch, "1", "not set")]
    found = upgrade(b=A)
    assert (words.name(found, "a"), words.name(found, "b"), words.sides(found)) == ("side A", "side B", [])


def test_the_answer_names_the_worst_call_and_what_could_not_have_been_seen():
    found = upgrade(pair(seen(100.0, 100.0), seen(104.0, 104.0), "near"), pair(seen(100.0, 100.0), seen(150.0, 150.0, kernels=("x",)), "far"), pair(seen(), seen(), "same"))
    assert words.answer(found, judging.judged(found)) == [
        "**From torch 2.9.1 to torch 2.14.1, 2 of 3 calls are worse and none of 3 calls is better.** More time at 2 and other kernels at 1.",
        "Look first at “far”: 50 % more GPU time; other kernels.",
        "By GPU time, a slowdown is seen from 2 % on at the middle call, and from 2 % on at every one; below 2 % nothing counts.",
    ]


def test_a_call_without_times_is_named_for_it_may_be_slower():
    untimed = replace(seen(), times={}, untimed="side A: no graph of it.")
    found = upgrade(pair(seen(100.0), seen(100.0), "same"), pair(untimed, untimed, "dropout"), pair(replace(untimed, untimed=None), untimed, "drawn"))
    assert words.answer(found, judging.judged(found))[1] == (
        "2 calls right on both sides have no times to compare, so may be slower or faster (side A: no graph of it): “dropout” and “drawn”.")
    wrong = replace(untimed, state="wrong")
    found = upgrade(pair(seen(100.0), seen(100.0), "same"), pair(wrong, wrong, "dropout"))
    assert not any("no times to compare" in line for line in words.answer(found, judging.judged(found)))


def test_the_gpus_own_time_is_shown_before_a_wall_time_that_moved_more():
    a, b = (replace(seen(us, us), times={"gpu_time": around(us), "wall_time": around(wall)}, again={"gpu_time": around(us), "wall_time": around(wall)})
            for us, wall in ((100.0, 110.0), (50.0, 40.0)))
    shown = judging.judged(upgrade(pair(a, b)))[0].shift()
    assert shown is not None and (shown.quantity, shown.ratio) == ("gpu_time", 0.5)


def test_a_wrong_result_is_graver_than_any_time():
    found = judging.judged(upgrade(pair(seen(100.0, 100.0), seen(900.0, 900.0), "slow"), pair(seen(), Seen("wrong"), "wrong")))
    assert words.worst([one for one in found if one.worse]) == "“wrong”: right → wrong"


def test_clocks_apart_and_neighbours_are_told():
    ran = (Process("a", sm_mhz=1980.0), Process("b", sm_mhz=1755.0, neighbours=1, throttle=("power cap",)))
    assert words.caveats(upgrade(ran=ran)) == [
        "The GPU ran at 1980 MHz on side A and at 1755 MHz on side B, in the middle, so times compare clocks as well.",
        "Another process held the GPU during 1 of 2 timing processes.",
        "Clocks were held back (power cap).",
    ]
    assert words.caveats(upgrade(ran=(Process("a", sm_mhz=1980.0), Process("b", sm_mhz=1965.0)))) == []


def test_the_interval_leaves_out_one_where_the_rule_says_changed():
    shift = only(seen(100.0, 100.0), seen(103.0, 103.0)).shifts[0]
    assert shift.confirmed and shift.low is not None and shift.low > 1 and words.interval(shift) == "1.026 to 1.034"
    assert shift.a == 100 * US and shift.ratio == pytest.approx(1.03)
