"""Two maps compared: a changed choice stands first, then what became slower; what differs in the files alone is no change."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from map_doubles import built, point, shape_map, square

from reportgen.review.diff import as_json, maps, render, trees
from reportgen.review.diff.maps import Choice
from reportgen.shapes import record
from reportgen.shapes.record import Point


def compared(old: list[Point], new: list[Point]) -> maps.MapDiff:
    return maps.compare(built(*old), built(*new))


def kinds(found: maps.MapDiff) -> list[tuple[str, str | None, str | None]]:
    return [(change.choice.name, change.old, change.new) for change in found.changes]


FLASH_FIRST = [point(square(n), "flash", flash=100.0, cudnn=150.0) for n in (128, 512)]


def test_the_same_times_change_nothing():
    found = compared(FLASH_FIRST, [point(square(n), "flash", flash=102.0, cudnn=150.0) for n in (128, 512)])
    assert found.changes == () and found.slower == () and found.faster == () and found.common == 2
    assert maps.markdown(found) == "### The map of `nvidia-h200`\n\nNo choice changed. 2 calls in both."


def test_another_winner_changes_what_to_write():
    found = compared(FLASH_FIRST, [point(square(n), "flash", flash=100.0, cudnn=60.0) for n in (128, 512)])
    assert kinds(found) == [("WRITE", "torch", "cudnn")] * 2 + [("WINNER", "flash", "cudnn")] * 2
    assert [round(ratio, 2) for _, ratio in found.faster] == [0.6, 0.6]
    said = maps.markdown(found)
    assert "**A choice changed.** 2 calls in both." in said and "#### What to write changed: 2 calls\n\n- torch → cuDNN: batch 32, 16 heads, 128 queries and keys, causal, head dim 64, bf16" in said


def test_what_torch_picks_and_what_is_wrong_now():
    found = compared(FLASH_FIRST[:1], [point(square(128), "cudnn", flash="wrong", cudnn=150.0)])
    assert kinds(found) == [("WRONG", "flash", "flash"), ("PICKED", "flash", "cudnn"), ("WINNER", "flash", "cudnn")]
    assert maps.markdown(found).index(Choice.WRONG.value) < maps.markdown(found).index(Choice.PICKED.value)
    assert [(call.keys, round(ratio, 2)) for call, ratio in found.slower] == [(128, 1.5)]


def test_a_tie_is_no_change_of_the_winner():
    assert compared(FLASH_FIRST[:1], [point(square(128), "flash", flash=100.0, cudnn=101.0)]).changes == ()


def test_calls_that_only_one_has_are_counted():
    found = compared(FLASH_FIRST, [*FLASH_FIRST[:1], *(point(square(n), "flash", flash=100.0) for n in (1024, 2048))])
    assert (found.common, found.added, found.removed) == (1, 2, 1) and "1 call in both, 2 calls new, 1 call gone." in maps.markdown(found)


def write(root: Path, *points: Point) -> dict[str, Path]:
    held = shape_map(*points)
    file = root / "nvidia-h200" / "map.jsonl"
    record.begin(file, asdict(held.header))
    for one in points:
        record.append(file, {**asdict(one), "readings": [record.as_fields(reading) for reading in one.readings]})
    (root / "nvidia-h200" / "article").mkdir()
    return {"nvidia-h200/article": root / "nvidia-h200" / "article"}


def test_a_tree_names_a_changed_choice_before_everything_else(tmp_path: Path):
    old, new = write(tmp_path / "a", *FLASH_FIRST), write(tmp_path / "b", *(point(square(n), "flash", flash=100.0, cudnn=60.0) for n in (128, 512)))
    seen = trees.compare_trees("old", old, "new", new)
    text = render.tree_markdown(seen)
    assert text.startswith("## Recorded runs: new against old\n\n### The map of `nvidia-h200`\n\n**A choice changed.**") and text.index("A choice changed") < text.index("1 slot with the same evidence")
    assert json.loads(json.dumps(as_json.tree_json(seen)))["maps"]["nvidia-h200"]["changes"][0] == {
        "what": "write", "call": "b32-h16-q128-k128-d64-bf16-causal", "old": "torch", "new": "cudnn"}


def test_a_map_of_the_new_side_alone_is_named_and_one_of_both_alike_is_not(tmp_path: Path):
    old, new = write(tmp_path / "a", *FLASH_FIRST), write(tmp_path / "b", *FLASH_FIRST)
    assert trees.compare_trees("old", old, "new", new).maps == {}
    (tmp_path / "a" / "nvidia-h200" / "map.jsonl").unlink()
    assert "- New map of `nvidia-h200`: 2 calls" in render.tree_markdown(trees.compare_trees("old", old, "new", new))


@pytest.mark.parametrize("line", ["{", '{"call": 1}'])
def test_a_damaged_map_is_named_and_nothing_else_is_lost(tmp_path: Path, line: str):
    old, new = write(tmp_path / "a", *FLASH_FIRST), write(tmp_path / "b", *FLASH_FIRST)
    with (tmp_path / "b" / "nvidia-h200" / "map.jsonl").open("a", encoding="utf-8") as opened:
        opened.write(line + "\n")
    assert "**Could not be compared**: `nvidia-h200/map.jsonl`: " in render.tree_markdown(trees.compare_trees("old", old, "new", new))
