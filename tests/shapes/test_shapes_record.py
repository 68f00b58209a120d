"""A map's file: appended whole, continued after a kill, refused in two lines where it is damaged."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from reportgen.errors import RunInvalid
from reportgen.shapes import Call, record

CALL = Call(8, 16, 16, 1024, 1024, 64, 64)
HEADER = {"schema_version": 1, "device": {"kind": "cuda", "name": "NVIDIA H200", "slug": "nvidia-h200"}, "software": {"torch": "2.11.0+cu130"},
          "settings": {}, "recorded_on": "2026-12-03", "rounds": 5}


def point(of: Call = CALL, **more: Any) -> dict[str, Any]:
    readings = [{"backend": "flash", "state": "ok", "gpu": [9.2e-5] * 5, "host": [2e-5] * 5, "first": 0.01, "peak_bytes": 4, "error": 0.002, "allowed": 0.005, "tensor": "output"},
                {"backend": "math", "state": "refused", "reason": "no"}]
    return {"call": asdict(of), "picked": "flash", "readings": readings, "seconds": 0.5, "checked": [3, 128], **more}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    record.begin(tmp_path / "gpu" / "map.jsonl", HEADER)
    return tmp_path / "gpu" / "map.jsonl"


def test_what_is_appended_is_read_again(file: Path):
    record.append(file, point())
    found = record.read(file)
    assert found.header.device.name == "NVIDIA H200" and found.header.software == {"torch": "2.11.0+cu130"}
    assert [p.call for p in found.points] == [CALL] and found.points[0].reading("flash").gpu == (9.2e-5,) * 5
    assert found.points[0].reading("math").reason == "no" and found.points[0].reading("cudnn") is None


@pytest.mark.parametrize("cut", [1, 30, 200])
def test_a_line_that_a_kill_cut_short_is_left_out_and_then_replaced(file: Path, cut: int):
    record.append(file, point())
    whole = file.read_bytes()
    record.append(file, point(Call(1, 1, 1, 64, 64, 64, 64)))
    with file.open("rb+") as opened:
        opened.truncate(len(whole) + cut)
    assert [p.call for p in record.read(file).points] == [CALL]
    record.append(file, point(Call(1, 1, 1, 64, 64, 64, 64)))
    assert [p.call.queries for p in record.read(file).points] == [1024, 64]


def test_a_call_that_stands_twice_counts_once(file: Path):
    record.append(file, point())
    record.append(file, point(picked="cudnn"))
    found = record.read(file)
    assert len(found.points) == 1 and found.points[0].picked == "flash"


@pytest.mark.parametrize("line, said", [
    ("{", "is no JSON"),
    (json.dumps(point(seconds="long")), "seconds is 'long', expected a number"),
    (json.dumps(point(call={**asdict(CALL), "head_dim": -1})), "call.head_dim is -1"),
    ("[" * 100_000, "is no JSON"),
])
def test_a_damaged_line_is_named(file: Path, line: str, said: str):
    with file.open("a") as opened:
        opened.write(line + "\n")
    with pytest.raises(RunInvalid) as refused:
        record.read(file)
    assert str(refused.value).startswith(f"{file}:2: ") and said in str(refused.value) and "make map" in str(refused.value)


def test_a_newer_map_is_refused(tmp_path: Path):
    record.begin(tmp_path / "map.jsonl", {**HEADER, "schema_version": 2})
    with pytest.raises(RunInvalid, match="newer version"):
        record.read(tmp_path / "map.jsonl")


def test_what_is_not_finite_is_unknown(file: Path):
    reading = {"backend": "cudnn", "state": "wrong", "error": float("nan"), "tensor": "output"}
    record.append(file, point(readings=[reading]))
    assert record.read(file).points[0].readings[0].error is None
