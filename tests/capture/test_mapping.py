"""A point of the map on a CPU: timed where it is right, told where it is wrong or refused; crashes cost themselves."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from reportgen.capture import map_inputs, map_session, mapping, processes  # noqa: E402
from reportgen.capture.faults import Cause, ChildFailed, Fault  # noqa: E402
from reportgen.capture.map_clock import CpuClock  # noqa: E402
from reportgen.shapes import Call, record  # noqa: E402

SMALL = Call(1, 2, 2, 64, 64, 32, 32)
WITH_GRADIENTS = Call(1, 4, 2, 48, 48, 32, 32, mask="causal", gradients=True)


class Silent:
    def at(self, subject: str, phase: str) -> None: ...
    def result(self, key: Any, value: Any) -> None: ...


def measured(call: Call) -> dict[str, dict[str, Any]]:
    found = mapping.point(Silent(), call, mapping.Plan("cpu", (call,), time.monotonic() + 60, rounds=2), CpuClock(), {})
    return {reading["backend"]: reading for reading in found["readings"]}


@pytest.mark.parametrize("call", [SMALL, Call(1, 2, 2, 16, 64, 32, 32, mask="bool"), Call(2, 2, 2, 64, 64, 32, 32, mask="float", layout="bshd"), WITH_GRADIENTS])
def test_right_backends_are_timed_and_absent_ones_refused(call: Call):
    found = measured(call)
    assert found["math"]["state"] == "ok" and found["math"]["gpu"] and found["math"]["error"] <= found["math"]["allowed"]
    assert found["flash"]["state"] in ("ok", "refused")
    assert found["cudnn"]["state"] == found["efficient"]["state"] == "refused" and "gpu" not in found["cudnn"]
    assert "torch has this backend on GPUs only" in found["cudnn"]["reason"]


@pytest.mark.parametrize("broken, tensor", [
    (lambda out: out * 1.05, "output"),
    (lambda out: out.masked_fill(torch.ones_like(out, dtype=torch.bool).tril(-30), float("nan")), "output"),
    (lambda out: out + out.detach() * 0 + (out - out.detach()) * 0.5, "gradient of q"),
])
def test_a_wrong_result_is_told_and_has_no_time(monkeypatch: pytest.MonkeyPatch, broken: Any, tensor: str):
    import torch.nn.functional as F

    true = F.scaled_dot_product_attention
    monkeypatch.setattr(F, "scaled_dot_product_attention", lambda *args, **options: broken(true(*args, **options)))
    found = measured(Call(1, 2, 2, 64, 64, 32, 32, gradients=True))
    assert found["math"]["state"] == "wrong" and "gpu" not in found["math"]
    assert found["math"]["tensor"].startswith("gradient" if tensor != "output" else "output")


def test_few_groups_are_compared_where_all_would_be_too_many():
    large = Call(8, 16, 16, 1024, 1024, 64, 64)
    drawn = map_inputs.groups(large)
    assert drawn[:2] == [(0, 0), (7, 15)] and len(drawn) == 3 and drawn == map_inputs.groups(large)
    assert len(map_inputs.groups(WITH_GRADIENTS)) == 2


SURVEY = {"device": "cpu", "environment": {"device": {"kind": "cpu", "name": "CPU", "slug": "cpu"}, "software": {"torch": "2.13"}, "settings": {}}}
CALLS = (SMALL, WITH_GRADIENTS, Call(1, 1, 1, 8, 8, 8, 8))


class Shown:
    def plan(self, *_: Any) -> None: ...
    def stage(self, *_: Any) -> None: ...
    def done(self) -> None: ...
    def at(self, *_: Any) -> None: ...


def as_point(call: Call) -> dict[str, Any]:
    return {"call": asdict(call), "picked": "math", "readings": [{"backend": "math", "state": "ok", "gpu": [1e-3]}], "seconds": 0.1, "checked": [1, 1]}


def test_an_interrupted_map_goes_on_without_a_point_lost_or_twice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    asked: list[list[str]] = []

    def run(target: Any, args: Any, at: Any, result: Any, patience: float) -> bool:
        asked.append([call.id for call in args[0].calls])
        for call in args[0].calls[: 1 if len(asked) == 1 else None]:
            result(call.id, as_point(call))
        return len(asked) > 1

    monkeypatch.setattr(processes, "run", run)
    file = tmp_path / "map.jsonl"
    first = map_session.take(SURVEY, CALLS, file, "cpu", 10, Shown())
    assert (first.fresh, first.there, first.left, first.whole) == (1, 0, 2, False)
    second = map_session.take(SURVEY, CALLS, file, "cpu", 10, Shown())
    assert (second.fresh, second.there, second.left, second.whole) == (2, 1, 0, True)
    assert asked == [[call.id for call in CALLS], [call.id for call in CALLS[1:]]]
    assert [point.call for point in record.read(file).points] == list(CALLS)


def test_a_backend_that_ends_the_process_costs_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    plans: list[mapping.Plan] = []

    def run(target: Any, args: Any, at: Any, result: Any, patience: float) -> None:
        plans.append(args[0])
        if len(plans) == 1:
            raise ChildFailed(Fault(Cause.KILLED, "the process was killed by SIGSEGV"), SMALL.id, "flash")
        if len(plans) == 2:
            result(SMALL.id, as_point(SMALL))
            raise ChildFailed(Fault(Cause.KILLED, "the process was killed by SIGABRT"), WITH_GRADIENTS.id, "timing")
        for call in args[0].calls:
            result(call.id, as_point(call))

    monkeypatch.setattr(processes, "run", run)
    taken = map_session.take(SURVEY, CALLS, tmp_path / "map.jsonl", "cpu", 10, Shown())
    assert plans[1].skip == ((SMALL.id, "flash", "the process was killed by SIGSEGV"),)
    assert [len(plan.calls) for plan in plans] == [3, 3, 1] and taken.whole and len(taken.crashes) == 2
    lost = record.read(tmp_path / "map.jsonl").points[1]
    assert lost.call == WITH_GRADIENTS and {r.state for r in lost.readings} == {"failed"} and lost.readings[0].reason == "the process was killed by SIGABRT"


def under(monkeypatch: pytest.MonkeyPatch, file: Path, version: str, calls: tuple[Call, ...], only: int | None = None, anew: bool = False) -> map_session.Taken:
    """A session with that torch that measures the first `only` of the calls which are left."""
    monkeypatch.setattr(processes, "run", lambda target, args, at, result, patience: [result(call.id, as_point(call)) for call in args[0].calls[:only]])
    survey = {**SURVEY, "environment": {**SURVEY["environment"], "software": {"torch": version}}}
    return map_session.take(survey, calls, file, "cpu", 10, Shown(), anew)  # type: ignore[arg-type]


def test_a_shorter_map_of_other_software_lies_aside_until_it_is_as_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file, aside = tmp_path / "cpu" / "map.jsonl", tmp_path / "cpu" / "aside" / "map.jsonl"
    assert under(monkeypatch, file, "2.13", CALLS[:2]).whole
    first = under(monkeypatch, file, "2.14", CALLS, only=1)
    assert (first.file, first.recorded, first.fresh, first.left) == (aside, 2, 1, 2)
    assert record.read(file).header.software == {"torch": "2.13"} and len(record.read(file).points) == 2
    second = under(monkeypatch, file, "2.14", CALLS, only=1)
    assert (second.file, second.recorded, second.there, second.fresh, second.left) == (file, 0, 1, 1, 1)
    assert record.read(file).header.software == {"torch": "2.14"} and [point.call for point in record.read(file).points] == list(CALLS[:2])
    assert sorted(one.name for one in aside.parent.iterdir()) == ["map.before.jsonl"]
    assert record.read(aside.with_name("map.before.jsonl")).header.software == {"torch": "2.13"}
    third = under(monkeypatch, file, "2.14", CALLS)
    assert (third.there, third.fresh, third.whole) == (2, 1, True)


def test_what_lies_aside_of_a_third_software_is_begun_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "cpu" / "map.jsonl"
    under(monkeypatch, file, "2.13", CALLS)
    assert under(monkeypatch, file, "2.14", CALLS, only=1).recorded == 3
    again = under(monkeypatch, file, "2.15", CALLS, only=2)
    assert (again.there, again.fresh, again.recorded) == (0, 2, 3) and record.read(again.file).header.software == {"torch": "2.15"}


def test_a_whole_map_of_other_software_is_recorded_also_where_the_former_had_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The grid of an older program was longer."""
    file = tmp_path / "cpu" / "map.jsonl"
    under(monkeypatch, file, "2.13", CALLS)
    assert under(monkeypatch, file, "2.14", CALLS[:2]).file == file and len(record.read(file).points) == 2


def test_anew_begins_in_its_place_and_keeps_the_former_aside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "cpu" / "map.jsonl"
    under(monkeypatch, file, "2.13", CALLS)
    found = under(monkeypatch, file, "2.13", CALLS, only=1, anew=True)
    assert (found.file, found.there, found.fresh, found.recorded) == (file, 0, 1, 0)
    assert len(record.read(file.parent / "aside" / "map.before.jsonl").points) == 3


def test_a_damaged_map_gives_way_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    file = tmp_path / "cpu" / "map.jsonl"
    file.parent.mkdir()
    file.write_text("{\n")
    assert under(monkeypatch, file, "2.13", CALLS, only=1).file == file and (file.parent / "aside" / "map.before.jsonl").read_text() == "{\n"
