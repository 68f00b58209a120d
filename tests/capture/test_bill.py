"""The bill of a new shape on a CPU: some lengths per way of calling, and a reason where there is none."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import bill as taking  # noqa: E402
from reportgen.shapes import bill  # noqa: E402
from reportgen.shapes.bill import SWITCH, Row  # noqa: E402


class Shown:
    def plan(self, *_: Any) -> None: ...
    def stage(self, *_: Any) -> None: ...
    def done(self) -> None: ...
    def at(self, *_: Any) -> None: ...


class Mute:
    def at(self, subject: str, phase: str) -> None: ...


def row(backend: str, **more: Any) -> dict[str, Any]:
    return taking.measure(Mute(), taking.Task("cpu", taking.shape(False), Row(backend, **{"mask": False, "gradients": False, **more}), (40, 24, 33)))  # type: ignore[arg-type]


def test_every_length_has_its_first_and_its_later_call():
    found = row("flash", gradients=True)
    assert found["lengths"] == [40, 24, 33] and len(found["first"]) == len(found["later"]) == 3 and min(found["first"] + found["later"] + found["begun"]) > 0
    assert len(found["begun"]) == 1 and found["gpu"] == [] and not found["reason"]


def test_the_processes_of_a_row_become_one_row():
    parts = [{**row("flash"), "first": [value] * 3} for value in (0.1, 0.2)]
    found = taking.joined([*parts, {**row("cudnn"), "reason": "it died"}])
    assert (found["lengths"], found["first"], found["passes"], len(found["begun"]), found["reason"]) == ([40, 24, 33] * 2, [0.1] * 3 + [0.2] * 3, [0, 0, 0, 1, 1, 1], 2, None)
    assert taking.joined([row("cudnn")])["reason"] and not taking.joined([row("cudnn")])["first"]


def test_every_row_takes_its_turn_in_every_round_and_one_that_declines_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    asked: list[tuple[str, int]] = []

    def run(target: Any, args: Any, at: Any, patience: float) -> dict[str, Any]:
        task = args[0]
        asked.append((task.row.id, task.lengths[0]))
        if task.row.mask:
            return {**asdict(task.row), "reason": "it declines"}
        return {**asdict(task.row), "lengths": list(task.lengths), "first": [0.2] * 4, "later": [0.1] * 4, "gpu": [], "begun": [1.0]}

    monkeypatch.setattr(taking.processes, "run", run)
    survey = {"device": "cpu", "environment": {"device": {"kind": "cpu", "name": "CPU", "slug": "cpu"}, "software": {"torch": "2.13"}, "settings": {}}}
    assert taking.take(survey, tmp_path / "bill.json", "cpu", Shown()) == []
    assert [name for name, length in asked if length == 160] == [one.id for one in taking.rows(False)]
    assert [name for name, length in asked if length in (192, 176)] == [one.id for one in taking.rows(False) if not one.mask] * 2
    found = bill.read(tmp_path / "bill.json")
    assert {len(one.split) for one in found.rows if one.first} == {3} and [one.reason for one in found.rows if one.mask] == ["it declines"] * 4


def test_a_backend_that_is_not_there_says_so():
    found = row("cudnn", avoid=True)
    assert "GPUs only" in found["reason"] and found["lengths"] == ()


def test_the_switch_is_set_in_the_process_that_avoids_and_in_no_other(monkeypatch: pytest.MonkeyPatch):
    import os

    monkeypatch.setenv(SWITCH, "1")
    row("flash")
    assert SWITCH not in os.environ
    row("cudnn", avoid=True)
    assert os.environ[SWITCH] == "1"


def test_twelve_rows_and_four_with_the_switch_on_a_gpu():
    found = taking.rows(True)
    assert len(found) == len({one.id for one in found}) == 16
    assert [one.backend for one in found if one.avoid] == ["cudnn"] * 4 and {one.layout for one in found} == {"bshd"}


def test_a_cpu_gets_fewer_and_shorter_ones():
    gpu, cpu = taking.lengths(True), taking.lengths(False)
    assert [len(part) for part in gpu] == [11] * 3 and [len(part) for part in cpu] == [4] * 3 and cpu[0] == (160, 83, 256, 112)


def test_a_loop_gives_its_seconds():
    task = taking.Task("cpu", taking.shape(False), Row("flash", False, False), (16, 24, 16))
    found = taking.loop(Mute(), task)  # type: ignore[arg-type]
    assert 0 < found["seconds"] == sum(found["steps"]) < 60 and len(found["steps"]) == 3
