"""`history.jsonl` as a file: what is damaged is named with its line and its field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reportgen.errors import RunInvalid
from reportgen.run import history

HEADER = {"schema_version": 1, "device": "NVIDIA H200"}
HELD = {"title": "Naive", "state": "ok", "timer": "cuda-graph", "times": {"gpu_time": [1e-3] * 7}}
FIRST = {"slot": "article", "blob": "a1", "recorded_on": "2026-01-10", "variants": {"naive": HELD}}
STEP = {"since": "a1", "timings": [{"variant": "naive", "quantity": "gpu_time", "significant": False, "threshold": 0.02}]}
SECOND = {**FIRST, "blob": "b2", "before": STEP}


def written(tmp_path: Path, *lines: object) -> Path:
    file = tmp_path / history.HISTORY_FILE
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return file


def test_a_whole_file_is_read(tmp_path):
    found = history.read(written(tmp_path, HEADER, FIRST, SECOND, {**FIRST, "slot": "article+tf32"}))
    assert {slot: [one.blob for one in states] for slot, states in found.slots.items()} == {"article": ["a1", "b2"], "article+tf32": ["a1"]}
    assert found.states[1].before.timings[0].threshold == 0.02 and found.states[0].variants["naive"].times["gpu_time"].median == 1e-3


@pytest.mark.parametrize(("lines", "said"), [
    ((), "history.jsonl: is empty, expected a header and states"),
    (("{",), "history.jsonl:1: is no JSON"),
    (({"device": "x"},), "history.jsonl:1: schema_version is missing"),
    (({**HEADER, "schema_version": 2},), "history.jsonl: was written by a newer version (schema 2, this one reads 1)"),
    ((HEADER, {**FIRST, "slot": "../article"}), "history.jsonl:2: slot is '../article', which cannot name a folder"),
    ((HEADER, {**FIRST, "slot": "a/b"}), "history.jsonl:2: slot is 'a/b', which cannot name a folder"),
    ((HEADER, {**FIRST, "slot": "article+../x"}), "history.jsonl:2: slot is 'article+../x', which cannot name a folder"),
    ((HEADER, {**FIRST, "variants": {"naive": {**HELD, "times": {"gpu_time": [-1.0]}}}}), "history.jsonl:2: variants.naive.times.gpu_time"),
    ((HEADER, FIRST, {**SECOND, "before": {**STEP, "since": "c3"}}), "history.jsonl:3: before.since is 'c3', and no earlier state of the slot has that blob"),
    ((HEADER, FIRST, {**SECOND, "before": {**STEP, "timings": [{**STEP["timings"][0], "variant": "sdpa_flash"}]}}),
     "history.jsonl:3: before.timings has gpu_time of 'sdpa_flash', which the two states do not have"),
    ((HEADER, FIRST, {**FIRST, "slot": "b"}, SECOND), "history.jsonl:4: slot is 'article', and its other states do not stand beside it"),
    ((HEADER, FIRST, {**SECOND, "before": {**STEP, "conditions": [{"about": "weather", "name": "x"}]}}), "history.jsonl:3: before.conditions[0].about is 'weather', expected one of clock"),
])
def test_damage_is_named_with_line_and_field_and_what_to_do(tmp_path, lines, said):
    with pytest.raises(RunInvalid) as caught:
        history.read(written(tmp_path, *lines))
    problem, cure = str(caught.value).removeprefix(f"{tmp_path}/").splitlines()
    assert problem.startswith(said), problem
    assert cure in ("  what to do: take it again with `make history` in a whole clone, or restore the file from version control", "  what to do: update this checkout")
