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
    assert len({call.id for call in calls}) == len(calls) == 289
    first = calls[:48]
    assert {call.queries for call in first} == {128, 256, 512, 1024, 2048, 4096, 8192, 16_384}
    assert {(call.head_dim, call.mask) for call in first} == {(dim, mask) for dim in (64, 128) for mask in ("causal", "none", "bool")}
    assert {call.head_dim for call in calls} == {64, 128, 192, 256, 512}
    assert {call.dtype for call in calls} == {"bfloat16", "float16", "float32"}
    assert {call.mask for call in calls} == {"none", "causal", "bool", "float", "window"}
    assert max(call.keys for call in calls) == 131_072 and any(call.queries == 16 and call.batch == 256 for call in calls)
    assert any(call.layout == "bshd" for call in calls) and any(call.grouped and call.gradients for call in calls)


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
