"""The bill of a new shape on a CPU: some lengths per way of calling, and a reason where there is none."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import bill as taking  # noqa: E402
from reportgen.shapes.bill import SWITCH, Row  # noqa: E402


class Mute:
    def at(self, subject: str, phase: str) -> None: ...


def row(backend: str, **more: Any) -> dict[str, Any]:
    return taking.measure(Mute(), taking.Task("cpu", taking.shape(False), Row(backend, **{"mask": False, "gradients": False, **more}), (40, 24, 33)))  # type: ignore[arg-type]


def test_every_length_has_its_first_and_its_later_call():
    found = row("flash", gradients=True)
    assert found["lengths"] == [40, 24, 33] and len(found["first"]) == len(found["later"]) == 3 and min(found["first"] + found["later"]) > 0


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


def test_lengths_are_of_every_kind_and_none_comes_twice():
    gpu, cpu = taking.lengths(True), taking.lengths(False)
    assert len(set(gpu)) == len(gpu) == 32 and len(set(cpu)) == len(cpu) == 12 and min(gpu) == 256 and max(gpu) == 1024
    assert [sum(length % of == 0 for length in gpu) for of in (128, 64, 8, 1)] == [7, 10, 16, 32]


def test_a_loop_gives_its_seconds():
    task = taking.Task("cpu", taking.shape(False), Row("flash", False, False), (16, 24, 16))
    found = taking.loop(Mute(), task)  # type: ignore[arg-type]
    assert 0 < found["seconds"] == sum(found["steps"]) < 60 and len(found["steps"]) == 3
