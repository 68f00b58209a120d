"""Calls that people write, what can be written instead, and what torch's answers come down to."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import RunInvalid
from reportgen.shapes import Call, answers, asked, change_words
from reportgen.shapes.answers import Answer, Changed
from reportgen.shapes.asked import Asked
from reportgen.shapes.record import Reading

CALL = Call(8, 16, 16, 1024, 1024, 64, 64)


def changes(call: Call, **more: Any) -> list[str]:
    return [change for change, _ in asked.changes(Asked("x", call, **more))]


@pytest.mark.parametrize("call, more, expected", [
    (CALL, {}, []),
    (replace(CALL, mask="bool"), {}, ["is_causal"]),
    (replace(CALL, mask="float"), {}, ["is_causal"]),
    (replace(CALL, mask="window"), {}, []),
    (replace(CALL, mask="bool", queries=16), {}, []),
    (replace(CALL, mask="bool", queries=1), {}, ["no mask"]),
    (replace(CALL, mask="bool"), {"form": "padding"}, []),
    (replace(CALL, dtype="float32", heads=32, kv_heads=8), {}, ["bfloat16", "repeated"]),
    (replace(CALL, head_dim=60, value_dim=60), {}, ["padded"]),
    (replace(CALL, head_dim=60, value_dim=60, dtype="float32"), {}, ["bfloat16"]),
    (replace(CALL, mask="float"), {"form": "bias in fp32"}, ["mask in the type of q"]),
    (CALL, {"form": "strided", "dropout": 0.1}, ["contiguous", "no dropout"]),
])
def test_what_can_be_written_instead(call: Call, more: dict[str, Any], expected: list[str]):
    assert changes(call, **more) == expected


def test_about_sixty_calls_with_names_of_their_own_and_small_ones_on_a_cpu():
    every = asked.calls(True)
    assert len(every) == len({one.name for one in every}) == len({one.id for one in every}) == 65
    assert max(one.call.score_elements for one in asked.calls(False)) <= 2 * 4 * 256 * 256


def test_every_change_has_words_and_code():
    assert set(change_words.WORDS) == set(asked.CHANGES)


def reading(backend: str, *rounds: float, state: Any = "ok", reason: str | None = None) -> Reading:
    return Reading(backend, state, reason, gpu=rounds)


def answer(picked: str | None, *readings: Reading, changed: tuple[Changed, ...] = ()) -> Answer:
    return Answer(Asked("x", CALL), picked, readings, 1.0, (1, 1), changed)


def told(one: Answer) -> list[str]:
    return [found.change if isinstance(found, Changed) else found.backend for found in answers.better(one)]


def test_the_faster_ones_come_in_the_order_of_their_price():
    causal = Changed("is_causal", Asked("x", CALL), "cudnn", (reading("cudnn", 1.0, 1.01), reading("flash", 0.5, 0.5)))
    masked = answer("efficient", reading("efficient", 4.0, 4.1), reading("math", 9.0), reading("cudnn", 2.0, 2.1), changed=(causal,))
    assert told(masked) == ["is_causal", "cudnn"]  # torch's pick after the change counts, and not the best that could be pinned then


@pytest.mark.parametrize("picked, readings, expected", [
    ("flash", (reading("flash", 1.0, 1.02), reading("cudnn", 0.99, 1.0)), []),                       # a tie
    ("flash", (reading("flash", 1.0, 1.02), reading("cudnn", 0.9, 1.01)), []),                       # one round on the other side
    ("flash", (reading("flash", 1.0, 1.02), reading("cudnn", 0.9, 0.91)), ["cudnn"]),
    ("flash", (reading("flash", 1.0), reading("cudnn", state="wrong")), []),                         # a wrong one cannot win
    ("cudnn", (reading("flash", 1.0), reading("cudnn", state="wrong")), ["flash"]),                  # torch picks a wrong one
    (None, (reading("math", 1.0),), ["math"]),
    ("math", (reading("math", state="no memory"), reading("flash", state="refused")), []),
])
def test_what_is_better_than_torchs_pick(picked: str | None, readings: tuple[Reading, ...], expected: list[str]):
    assert told(answer(picked, *readings)) == expected


SAID = ("No available kernel. Aborting execution. Memory efficient kernel not used because:. Memory Efficient attention has been runtime disabled. "
        "Flash attention kernel not used because:. Expected query, key and value to all be of dtype: {Half, BFloat16}. cuDNN attention kernel not used because:. "
        "cuDNN attention has been runtime disabled.")


@pytest.mark.parametrize("backend, said, words", [
    ("flash", SAID, "Expected query, key and value to all be of dtype: {Half, BFloat16}."),
    ("flash", "No available kernel.  Aborting execution. Flash attention kernel not used because:.", "No available kernel. Aborting execution."),
    ("efficient", "invalid dtype for bias.", "invalid dtype for bias."),
    ("math", None, None),
])
def test_torchs_words_about_one_backend(backend: str, said: str | None, words: str | None):
    assert answers.own_words(backend, said) == words


HEADER = {"schema_version": 1, "device": {"kind": "cpu", "name": "CPU", "slug": "cpu"}, "software": {"torch": "2.13"}}


def test_answers_are_read_as_they_were_written_and_a_cut_line_is_left_out(tmp_path: Path):
    file = tmp_path / "why.jsonl"
    one = {"asked": asdict(Asked("a prompt", CALL, 0.1)), "picked": "flash", "readings": [{"backend": "flash", "state": "ok", "gpu": [1e-4]}], "seconds": 1.0, "checked": [1, 2],
           "changed": [{"change": "no dropout", "asked": asdict(Asked("a prompt", CALL)), "picked": "cudnn", "readings": []}]}
    lines = [json.dumps(part) + "\n" for part in (HEADER, one, one)]
    file.write_text("".join([*lines, lines[1][:40]]), encoding="utf-8")
    found = answers.read(file)
    assert [(each.asked.name, each.asked.dropout, each.picked) for each in found.answers] == [("a prompt", 0.1, "flash")]
    assert found.answers[0].changed[0].picked == "cudnn" and answers.price(found.answers[0].readings[0]) == 1e-4


def test_a_change_that_is_none_is_named_with_its_line(tmp_path: Path):
    file = tmp_path / "why.jsonl"
    bad = {"asked": asdict(Asked("x", CALL)), "picked": None, "readings": [], "seconds": 1.0, "changed": [{"change": "magic", "asked": asdict(Asked("x", CALL)), "picked": None, "readings": []}]}
    file.write_text(json.dumps(HEADER) + "\n" + json.dumps(bad) + "\n", encoding="utf-8")
    with pytest.raises(RunInvalid, match=r"why\.jsonl:2: changed\S*change is 'magic'"):
        answers.read(file)
