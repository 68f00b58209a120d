"""What lies beside two maps compared: a changed pick or refusal is told, a price only beyond what two processes of the same code lie apart."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from folder_doubles import NO_MASK, answer, asked, row
from folder_doubles import bill as billed
from map_doubles import square

from reportgen.review.diff import as_json, beside, render, trees
from reportgen.review.diff.beside import Answered
from reportgen.shapes import bill, record
from reportgen.shapes.answers import WHY_FILE, Answer
from reportgen.shapes.bill import Row
from reportgen.shapes.folder import Folder

PROMPT = answer("a prompt", "flash", flash=50.0, cudnn=90.0, efficient=200.0)
MASKED = answer("a prompt with a mask", "efficient", square(1024, mask="bool"), flash=NO_MASK, cudnn=89.0, efficient=215.0)
WAYS = Row("cudnn", False, False, False, (100, 200, 300, 400, 500), (2.0, 0.040, 0.041, 0.042, 0.043), (0.0,) * 5)


def compared(old: list[Answer], new: list[Answer]) -> beside.BesideDiff:
    return beside.compare(asked(*old), asked(*new))


def kinds(found: beside.BesideDiff) -> list[tuple[str, str, str | None]]:
    return [(change.answered.name, change.name, change.backend) for change in found.answers]


def test_the_same_answers_at_other_prices_are_no_change():
    found = compared([PROMPT, MASKED], [answer("a prompt", "flash", flash=80.0, cudnn=90.0, efficient=200.0), MASKED])
    assert found.answers == () and found.asked == 2 and beside.markdown(found) == ""


def test_another_pick_is_told_with_both():
    found = compared([PROMPT, MASKED], [answer("a prompt", "cudnn", flash=50.0, cudnn=90.0, efficient=200.0), MASKED])
    assert kinds(found) == [("PICKED", "a prompt", None)]
    assert beside.markdown(found) == ("### What torch answers on `nvidia-h200`, and the bill of a new length\n\n**torch answers otherwise.** 2 calls asked about on both sides.\n\n"
                                      "#### torch picks another backend: 1 call\n\n- flash → cuDNN: a prompt")


def test_a_new_refusal_is_told_in_torchs_own_words_and_one_that_went_with_those_it_had():
    found = compared([PROMPT, MASKED], [answer("a prompt", "flash", flash=50.0, cudnn="cuDNN is too old.", efficient=200.0),
                                        answer("a prompt with a mask", "efficient", square(1024, mask="bool"), flash=70.0, cudnn=89.0, efficient=215.0)])
    assert kinds(found) == [("REFUSED", "a prompt", "cudnn"), ("TAKEN", "a prompt with a mask", "flash")]
    said = beside.markdown(found)
    assert "#### Declined now, and taken before: 1 call\n\n- cuDNN: a prompt: cuDNN is too old." in said
    assert "#### Taken now, and declined before: 1 call\n\n- flash: a prompt with a mask: before, Flash Attention does not support non-null attn_mask." in said


def test_other_words_of_a_refusal_are_told_last_and_a_wrong_result_first():
    other = NO_MASK.replace("does not support non-null attn_mask", "takes no mask")
    found = compared([PROMPT, MASKED], [answer("a prompt", "cudnn", flash="wrong", cudnn=90.0, efficient=200.0),
                                        answer("a prompt with a mask", "efficient", square(1024, mask="bool"), flash=other, cudnn=89.0, efficient=215.0)])
    assert kinds(found) == [("WRONG", "a prompt", "flash"), ("PICKED", "a prompt", None), ("WORDS", "a prompt with a mask", "flash")]
    said = beside.markdown(found)
    assert [said.index(kind.value) for kind in (Answered.WRONG, Answered.PICKED, Answered.WORDS)] == sorted(said.index(kind.value) for kind in (Answered.WRONG, Answered.PICKED, Answered.WORDS))
    assert "- flash: a prompt with a mask: Flash Attention takes no mask. (before: Flash Attention does not support non-null attn_mask.)" in said


def test_calls_of_one_side_alone_are_not_compared():
    assert compared([PROMPT], [MASKED]).asked == 0 and compared([PROMPT], [MASKED]).answers == ()


def bills(old: Row, new: Row) -> beside.BesideDiff:
    return beside.compare(billed(old), billed(new))


def times(factor: float, **more: object) -> Row:
    return replace(WAYS, first=tuple(value * factor for value in WAYS.first), **more)


@pytest.mark.parametrize("factor, told", [(1.0, False), (1.4, False), (1 / 1.4, False), (1.6, True), (1 / 1.6, True)])
def test_a_price_is_told_beyond_what_two_processes_lie_apart(factor: float, told: bool):
    """The median of four is 41.5 ms; at 1.6 times that it is 66.4 ms."""
    found = bills(WAYS, times(factor))
    assert bool(found.bill) is told and found.rows == 1
    if factor == 1.6:
        assert beside.markdown(found).endswith("**A new length has another price.** 1 way of calling on both sides.\n\n#### The price of a new length: 1 way of calling\n\n"
                                               "- cuDNN, causal, forward: 41.5 ms → 66.4 ms")


def test_a_price_whose_rounds_mix_with_the_former_ones_is_none():
    """The median is twice the former one, but the middle halves overlap."""
    assert bills(times(1.0), replace(WAYS, first=(2.0, 0.040, 0.042, 0.125, 0.125))).bill == ()


def test_only_lengths_of_both_sides_are_held_beside_each_other():
    """The dearer lengths are the new side's alone."""
    longer = replace(WAYS, lengths=(*WAYS.lengths, 7, 8, 9, 10, 11, 12), first=(*WAYS.first, *(0.9,) * 6), later=(0.0,) * 11)
    assert bills(WAYS, longer).bill == ()


def test_a_way_that_has_no_price_any_more_is_told_with_the_reason_and_another_layout_is_another_way():
    found = bills(row("flash", 0.1, 50.0), row("flash", 0.1, 50.0, reason="it declines"))
    assert [(change.old is None, change.new, change.reason) for change in found.bill] == [(False, None, "it declines")]
    assert "- flash, causal, forward: 100 µs → no price (it declines)" in beside.markdown(found)
    assert bills(WAYS, times(9.0, layout="bshd")).rows == 0


def test_other_software_is_named_also_where_no_answer_changed():
    old, new = asked(PROMPT), asked(PROMPT)
    assert new.answers is not None
    newer = replace(new, answers=replace(new.answers, header=replace(new.answers.header, software={**new.answers.header.software, "torch": "2.12.0"})))
    assert beside.markdown(beside.compare(old, newer)).endswith("torch answers as before. 1 call asked about on both sides. Other software: torch 2.11.0+cu130 → 2.12.0.")


def write(root: Path, one: Folder, rows: Folder) -> dict[str, Path]:
    device = root / "nvidia-h200"
    (device / "article").mkdir(parents=True)
    assert one.answers is not None and rows.bill is not None
    record.begin(device / WHY_FILE, asdict(one.answers.header))
    for each in one.answers.answers:
        record.append(device / WHY_FILE, {**asdict(each), "readings": [record.as_fields(reading) for reading in each.readings]})
    bill.write(device / bill.BILL_FILE, asdict(rows.bill))
    return {"nvidia-h200/article": device / "article"}


def test_a_tree_tells_it_in_words_and_as_json(tmp_path: Path):
    old = write(tmp_path / "a", asked(PROMPT, MASKED), billed(WAYS))
    new = write(tmp_path / "b", asked(answer("a prompt", "cudnn", flash=50.0, cudnn=90.0, efficient=200.0), MASKED), billed(times(2.0)))
    seen = trees.compare_trees("old", old, "new", new)
    text = render.tree_markdown(seen)
    assert "- flash → cuDNN: a prompt" in text and "- cuDNN, causal, forward: 41.5 ms → 83.0 ms" in text
    found = json.loads(json.dumps(as_json.tree_json(seen)))["beside"]["nvidia-h200"]
    assert found["answers"] == [{"what": "picked", "call": "a prompt", "backend": None, "old": "flash", "new": "cudnn"}]
    assert found["bill"] == [{"row": "cudnn, causal, forward", "old_us": 41500.0, "new_us": 83000.0, "reason": None}]
    assert trees.compare_trees("old", old, "old", old).beside == {}


def test_a_damaged_file_is_named_and_nothing_else_is_lost(tmp_path: Path):
    old, new = (write(tmp_path / name, asked(PROMPT), billed(WAYS)) for name in ("a", "b"))
    with (tmp_path / "b" / "nvidia-h200" / WHY_FILE).open("a", encoding="utf-8") as opened:
        opened.write("{\n")
    assert "**Could not be compared**: `nvidia-h200/why.jsonl`: is no JSON" in render.tree_markdown(trees.compare_trees("old", old, "new", new))
