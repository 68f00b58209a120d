"""A call's name, pairs and operations, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reportgen.shapes import Call, grid
from reportgen.shapes.presets import PRESETS

ARTICLE = Call(8, 16, 16, 1024, 1024, 64, 64)


def test_the_name_holds_every_argument():
    assert ARTICLE.id == "b8-h16-q1024-k1024-d64-bf16-causal"
    assert Call(4, 32, 8, 16, 4096, 192, 128, "float16", "bool", "bshd", True).id == "b4-h32.8-q16-k4096-d192.128-fp16-bool-bshd-grad"


@pytest.mark.parametrize("call, pairs", [
    (ARTICLE, 1024 * 1025 // 2),
    (replace(ARTICLE, mask="none"), 1024 * 1024),
    (replace(ARTICLE, mask="bool"), 1024 * 1025 // 2),
    (Call(1, 1, 1, 16, 4096, 64, 64, mask="bool"), sum(4081 + i for i in range(16))),
    (Call(1, 1, 1, 1024, 1024, 64, 64, mask="window"), 256 * 257 // 2 + 256 * 768),
])
def test_pairs_that_count(call: Call, pairs: int):
    assert call.pairs == pairs


def test_operations_of_the_articles_workload():
    """Two products of 2·D operations a pair; the backward has five."""
    assert ARTICLE.flop == 4 * 64 * 524_800 * 128 == 17_196_646_400
    assert replace(ARTICLE, gradients=True).flop == 3.5 * 17_196_646_400


def test_bytes_of_few_kv_heads():
    assert Call(1, 32, 8, 1, 4096, 128, 128, mask="none").bytes == 2 * (32 * 256 + 8 * 4096 * 256)


def test_a_map_begins_with_what_tells_most_and_names_no_call_twice():
    calls = grid.points(gpu=True)
    assert len({call.id for call in calls}) == len(calls) == 359
    first = calls[:48]
    assert {call.queries for call in first} == {128, 256, 512, 1024, 2048, 4096, 8192, 16_384}
    assert {(call.head_dim, call.mask) for call in first} == {(dim, mask) for dim in (64, 128) for mask in ("causal", "none", "bool")}
    assert {call.head_dim for call in calls} == {64, 128, 192, 256, 512}
    assert {call.dtype for call in calls} == {"bfloat16", "float16", "float32"}
    assert {call.mask for call in calls} == {"none", "causal", "bool", "float", "window"}
    assert max(call.keys for call in calls) == 131_072 and any(call.queries == 16 and call.batch == 256 for call in calls)
    assert any(call.layout == "bshd" for call in calls) and any(call.grouped and call.gradients for call in calls)


def test_a_map_has_the_calls_at_which_shapes_that_it_had_not_seen_lost():
    """fp32 with gradients under every mask, decoding at other head dimensions than 128, lengths that are no multiple of 8 or of 64."""
    calls = grid.points(gpu=True)
    single = {(call.head_dim, call.mask, call.keys) for call in calls if call.dtype == "float32" and call.gradients}
    assert {(dim, mask, length) for dim in (64, 128, 256) for mask in ("causal", "none", "bool", "float") for length in (512, 2048)} <= single
    assert any(call.dtype == "float32" and call.head_dim == 256 and not call.gradients for call in calls)
    decoding = {(call.head_dim, call.keys, call.batch, call.grouped) for call in calls if call.queries == 1 and call.value_dim == call.head_dim}
    assert {(dim, keys, batch, few) for dim in (64, 256) for keys in (512, 4096, 32_768) for batch in (1, 16) for few in (True, False)} <= decoding
    assert {(call.head_dim, call.grouped) for call in calls if call.queries == 16 and call.head_dim != 128} == {(64, True), (64, False), (256, True), (256, False)}
    odd = {(call.head_dim, call.keys, call.mask) for call in calls if call.batch == 4 and not call.gradients}
    assert {(dim, length, mask) for dim in (64, 128) for length in (1000, 1023, 3000, 4095) for mask in ("causal", "none")} <= odd
    assert {call.keys for call in calls if call.batch == 4 and call.gradients and call.keys % 64} == {1000, 4095}


def test_the_odd_lengths_stand_beside_a_round_one_at_the_same_batch():
    """So that they are rows and columns of the map's page, which shows calls that differ in their length alone."""
    assert {Call(4, 16, 16, 4096, 4096, 128, 128), Call(4, 32, 32, 4096, 4096, 64, 64, mask="none")} <= set(grid.points(gpu=True))


def test_what_a_shorter_budget_measures_spans_lengths_masks_models_and_gradients():
    """A map of the first third: the middle of every list, and nothing of the spot checks."""
    first = grid.points(gpu=True)[:120]
    assert {call.queries for call in first if call.gradients} >= {128, 512, 2048, 8192, 16_384}
    assert all(set(preset.calls) <= set(first) for preset in PRESETS) and not any(call.dtype == "float32" or call.keys % 64 and call.keys != 577 for call in first)


def test_is_causal_is_asked_of_square_calls_alone():
    """torch aligns it at the top left, which is not what a cache needs."""
    assert all(call.queries == call.keys for gpu in (True, False) for call in grid.points(gpu) if call.mask == "causal")


def test_every_preset_is_in_the_map_with_its_source():
    calls = set(grid.points(gpu=True))
    assert len(PRESETS) == 8 and all(set(preset.calls) <= calls and preset.source.startswith("https://huggingface.co/") for preset in PRESETS)
    llama = next(preset for preset in PRESETS if preset.name == "Llama 3 8B")
    assert [call.id for call in llama.calls] == ["b1-h32.8-q2048-k2048-d128-bf16-causal", "b4-h32.8-q2048-k2048-d128-bf16-causal-grad", "b16-h32.8-q1-k4096-d128-bf16-none"]


def test_a_cpu_gets_a_small_map():
    calls = grid.points(gpu=False)
    assert len(calls) == 28 and max(call.score_elements for call in calls) <= 2**23
