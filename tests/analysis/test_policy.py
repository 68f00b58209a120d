"""Rules from a map: who comes first, where a class is split, what is left to torch, and that a wrong one is never given."""

from __future__ import annotations

from dataclasses import replace

import pytest
from map_doubles import built, point, square

from reportgen.analysis import policy
from reportgen.analysis.policy import Span
from reportgen.shapes import Call, grid

FASTER = {"math": 900.0, "efficient": 300.0, "flash": 200.0, "cudnn": 100.0}


def test_a_class_in_which_torch_picks_the_winner_is_left_to_torch():
    rules = policy.build(built(*(point(square(length), "cudnn", **FASTER) for length in (128, 512)))).rules
    assert [(rule.order, rule.spans, rule.evidence.default_worst) for rule in rules] == [((), {}, 0.0)]


def test_one_order_where_another_wins_everywhere_math_last():
    found = policy.build(built(*(point(square(length), "flash", **FASTER) for length in (128, 512))))
    assert [(rule.order, rule.spans) for rule in found.rules] == [(("cudnn", "flash", "efficient", "math"), {})]
    evidence = found.rules[0].evidence
    assert evidence.default_mean == pytest.approx(1.0) and evidence.own_worst == 0.0 and evidence.keys == (128, 512)
    assert found.pinning == found.rules and found.leaving == ()


def test_a_class_is_split_by_length_halfway_between_its_points():
    """√(512 × 2,048) = 1,024."""
    short, long = {"flash": 100.0, "cudnn": 150.0}, {"flash": 300.0, "cudnn": 150.0}
    found = policy.build(built(*(point(square(n), "flash", **(short if n < 1000 else long)) for n in (128, 512, 2048, 4096))))
    assert [(rule.spans, rule.order) for rule in found.rules] == [({"keys": Span(None, 1024)}, ()), ({"keys": Span(1025, None)}, ("cudnn", "flash", "math"))]
    assert found.order(square(1024)) == () and found.order(square(1025)) == ("cudnn", "flash", "math")


def test_a_class_is_split_by_batch_and_heads_where_the_length_tells_nothing():
    few, many = {"flash": 100.0, "cudnn": 150.0}, {"flash": 300.0, "cudnn": 150.0}
    found = policy.build(built(*(point(square(512, batch=batch), "flash", **(few if batch == 1 else many)) for batch in (1, 64))))
    assert [(rule.spans, rule.order) for rule in found.rules] == [({"batch_heads": Span(None, 128)}, ()), ({"batch_heads": Span(129, None)}, ("cudnn", "flash", "math"))]


def test_what_is_wrong_once_is_given_nowhere_in_its_class():
    found = policy.build(built(point(square(128), "flash", flash=200.0, cudnn="wrong", math=900.0), point(square(512), "flash", **FASTER)))
    assert all("cudnn" not in rule.order for rule in found.rules)
    other = policy.build(built(point(square(128), "flash", flash=200.0, cudnn="wrong", math=900.0), point(square(512, mask="none"), "flash", **FASTER)))
    assert other.order(square(512, mask="none"))[0] == "cudnn" and "cudnn" not in other.order(square(128))


def test_a_wrong_default_is_always_replaced():
    found = policy.build(built(point(square(128), "cudnn", flash=200.0, cudnn="wrong", math=900.0)))
    assert found.order(square(128)) == ("flash", "math") and found.rules[0].evidence.default_mean is None


def test_one_that_refuses_is_passed_over_and_one_without_memory_is_not():
    refused, full = point(square(128), "cudnn", flash="refused", cudnn=100.0), point(square(128), "cudnn", flash="no memory", cudnn=100.0)
    assert policy.regret(built(refused).spots[0], ("flash", "cudnn")) == 0.0
    assert policy.regret(built(full).spots[0], ("flash", "cudnn")) == float("inf")
    assert policy.regret(built(refused).spots[0], ("flash",)) == float("inf")


def test_a_call_of_no_class_is_left_to_torch():
    found = policy.build(built(*(point(square(length), "flash", **FASTER) for length in (128, 512))))
    assert found.order(square(300)) != ()
    for other in (square(128, mask="none"), square(128, gradients=True), square(128, head_dim=96, value_dim=96), square(128, kv_heads=4), square(128, dtype="float32"),
                  replace(square(128), queries=1), square(128, value_dim=32)):
        assert found.rule(other) is None and found.order(other) == ()


def test_windows_go_with_bool_masks_and_fp16_with_bf16_and_small_heads_with_the_next_measured():
    found = policy.build(built(point(square(128, mask="window"), "flash", **FASTER)))
    assert found.order(square(128, mask="bool", dtype="float16", layout="bshd")) != () and found.order(square(128, mask="float")) == ()
    assert found.order(square(128, mask="bool", head_dim=40, value_dim=40)) != ()


def test_a_head_dimension_goes_with_the_smallest_measured_one_that_holds_it():
    points = [point(square(128, head_dim=dim, value_dim=dim), "flash", **FASTER) for dim in (64, 128)]
    assert [(rule.dims.low, rule.dims.high) for rule in policy.build(built(*points)).rules] == [(1, 64), (65, 128)]


def test_nothing_that_tells_anything_gives_no_rule():
    assert policy.build(built()).rules == ()
    assert policy.build(built(point(square(128), None, math="no memory"), point(square(256), "flash", flash=100.0, cudnn="untimed"))).rules == ()


def test_rules_never_overlap():
    times = {128: (100, 150), 256: (150, 100), 512: (100, 150), 1024: (150, 100), 2048: (100, 150)}
    found = policy.build(built(*(point(square(n, batch=batch), "flash", flash=float(a + batch), cudnn=float(b)) for n, (a, b) in times.items() for batch in (1, 8))))
    for keys in range(1, 5000, 37):
        for batch in (1, 2, 3, 9, 100):
            call = Call(batch, 16, 16, keys, keys, 64, 64)
            assert sum(rule.holds(call) for rule in found.rules) == 1


def test_where_no_order_is_right_everywhere_the_one_that_fails_least_is_taken_and_told():
    """Efficient runs out of memory at one length and math at the other, and no length lies between: the same call in two layouts."""
    found = policy.build(built(point(square(128), "flash", efficient="no memory", math=900.0, flash=100.0, cudnn="wrong"),
                               point(square(128, layout="bshd"), "cudnn", efficient=100.0, math="no memory", flash="no memory", cudnn="wrong")))
    assert len(found.rules) == 1 and found.rules[0].evidence.own_worst == float("inf")


SPOTS = [call for call in grid.points(gpu=True) if call.dtype == "float32" or call.queries == 1]
"""Of the map's own grid, so that a rule which it cannot give is missed here."""


def spot_checks() -> policy.Policy:
    """As an H200 had it on shapes that its first map did not hold: with fp32, gradients and head dimension 256 efficient takes 21 % longer than math,
    and where one query is decoded at 256 cuDNN takes 22 % longer than efficient. Torch picks the slower one both times, and the fastest elsewhere."""
    points = []
    for call in SPOTS:
        if call.dtype == "float32":
            large = call.head_dim == 256 and call.gradients
            points.append(point(call, "efficient", math=1000.0 if large else 3000.0, efficient=1210.0 if large else 1000.0, flash="refused", cudnn="refused"))
        else:
            points.append(point(call, "cudnn", math=9000.0, efficient="refused" if call.grouped else 100.0 if call.head_dim == 256 else 400.0, flash=300.0,
                                cudnn=122.0 if call.head_dim == 256 else 110.0))
    return policy.build(built(*points))


@pytest.mark.parametrize("length", (128, 513, 3001, 11_000))
@pytest.mark.parametrize("mask", ("causal", "none", "bool", "float", "window"))
def test_fp32_with_gradients_at_large_heads_gets_math_at_lengths_that_the_map_has_not(mask: str, length: int):
    call = Call(2, 12, 12, length, length, 256, 256, "float32", mask, gradients=True)  # type: ignore[arg-type]
    assert call not in SPOTS and spot_checks().order(call) == ("math", "efficient")
    assert spot_checks().order(replace(call, head_dim=128, value_dim=128)) == () == spot_checks().order(replace(call, gradients=False))


@pytest.mark.parametrize("batch, heads, keys", [(1, 8, 200), (4, 24, 3001), (16, 32, 12_000), (64, 8, 777)])
def test_decoding_at_large_heads_gets_the_faster_one_at_other_lengths_and_batches(batch: int, heads: int, keys: int):
    call = Call(batch, heads, heads, 1, keys, 256, 256, mask="none")
    assert call not in SPOTS and spot_checks().order(call) == ("efficient", "cudnn", "flash", "math")
    assert spot_checks().order(replace(call, kv_heads=heads // 4)) == () == spot_checks().order(replace(call, head_dim=64, value_dim=64))


def test_the_rules_of_the_spot_checks_are_few_and_told_with_their_gain():
    """One per mask and head dimension; 21 and 22 % over all their calls, and nothing lost by the rule."""
    found = {(rule.kind.mask, rule.kind.bits): rule for rule in spot_checks().pinning}
    assert set(found) == {("causal", 32), ("none", 32), ("bool", 32), ("float", 32), ("none", 16)} and len(spot_checks().pinning) == 5
    assert found["float", 32].evidence.default_mean == pytest.approx(0.21) and found["none", 16].evidence.default_mean == pytest.approx(0.22)
    assert all(rule.evidence.own_worst == 0.0 and rule.dims == Span(193, 256) and not rule.spans for rule in spot_checks().pinning)
    assert len(found["none", 16].evidence.spots) == 6


def test_a_gain_that_turns_with_the_cache_is_a_rule_for_that_part_alone():
    """cuDNN loses from 4,096 keys on: √(512 × 4,096) = 1,448."""
    points = [point(call, "cudnn", efficient=100.0, cudnn=122.0 if call.keys >= 4096 else 80.0, math=900.0) for call in SPOTS if call.head_dim == 256 and call.dtype != "float32" and not call.grouped]
    found = policy.build(built(*points))
    assert [(rule.spans, rule.order) for rule in found.pinning] == [({"keys": Span(1449, None)}, ("efficient", "cudnn", "math"))]
    assert found.order(Call(4, 8, 8, 1, 1000, 256, 256, mask="none")) == ()
