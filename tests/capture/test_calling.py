"""One side of a comparison on a CPU: what runs, whether it is right, what it takes; and the lines that it answers by."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from dataclasses import asdict  # noqa: E402

from reportgen.capture import calling, processes, side  # noqa: E402
from reportgen.capture.faults import Cause, ChildFailed, Fault  # noqa: E402
from reportgen.shapes import Call  # noqa: E402
from reportgen.shapes.asked import Asked  # noqa: E402

SMALL = Call(1, 2, 2, 32, 32, 16, 16)
PLAIN, DROPPED = Asked("plain", SMALL), Asked("dropped", SMALL, dropout=0.1)
IMPOSSIBLE = Asked("impossible", Call(1, 2, 2, 32, 32, 16, 16, mask="float"), form="bias in fp32")


class Heard:
    def __init__(self) -> None:
        self.results: dict[Any, Any] = {}

    def at(self, subject: str, phase: str) -> None: ...

    def result(self, key: Any, value: Any) -> None:
        self.results[key] = value


def test_what_runs_is_seen_and_held_beside_fp64():
    heard = Heard()
    calling.show(heard, calling.Plan("cpu", (PLAIN, DROPPED)))  # type: ignore[arg-type]
    plain, dropped = heard.results[PLAIN.id], heard.results[DROPPED.id]
    assert (plain["state"], plain["picked"], plain["kernels"]) == ("ok", "flash", None)
    assert plain["ops"][0].startswith("aten::_scaled_dot_product_flash_attention") and 0 < plain["error"] <= plain["allowed"]
    assert (dropped["state"], dropped["picked"]) == ("ok", "math"), "on a CPU flash takes no dropout; the check is made without it"
    assert plain["inputs"] == dropped["inputs"] and len(plain["output"]) == 16


def test_a_call_is_timed_and_one_that_fails_says_why(monkeypatch: pytest.MonkeyPatch):
    whole = calling.asking.make

    def make(asked: Asked, device: str) -> Any:
        if asked is DROPPED:
            raise RuntimeError("no such kernel here")
        return whole(asked, device)

    monkeypatch.setattr(calling.asking, "make", make)
    heard = Heard()
    process = calling.measure(heard, calling.Plan("cpu", (PLAIN, DROPPED), rounds=2))  # type: ignore[arg-type]
    assert list(heard.results[PLAIN.id]) == ["wall_time"] and heard.results[PLAIN.id]["wall_time"] > 0
    assert heard.results[DROPPED.id] == {"untimed": "no such kernel here."}
    assert process["sm_mhz"] is None and process["neighbours"] is None


def test_a_digest_is_of_the_bits():
    one = torch.tensor([1.0, 2.0])
    assert calling.digest(one) == calling.digest(one.clone()) != calling.digest(torch.tensor([1.0, 2.0000002]))
    assert calling.digest(torch.arange(6.0).view(2, 3).t()) == calling.digest(torch.tensor([0.0, 3.0, 1.0, 4.0, 2.0, 5.0]))


def kernel(name: str, ts: float) -> dict[str, Any]:
    return {"cat": "kernel", "name": name, "ts": ts}


@pytest.mark.parametrize(("names", "expected"), [
    ("ababab", ["a", "b"]), ("xbabab", ["a", "b"]), ("ababa", None), ("abab", None), ("abbaab", None), ("", None),
])
def test_the_last_two_calls_must_agree_on_the_kernels(names: str, expected: list[str] | None):
    events = [kernel(name, place) for place, name in enumerate(names)]
    assert calling.last_call([{"cat": "gpu_memset", "name": "m", "ts": 0}, *reversed(events)]) == expected


def answers(monkeypatch: pytest.MonkeyPatch, run: Any, *tasks: dict[str, Any]) -> list[dict[str, Any]]:
    monkeypatch.setattr(processes, "run", run)
    out = io.StringIO()
    side.serve(io.StringIO("".join(json.dumps(task) + "\n" for task in tasks)), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


TASK = {"do": "time", "device": "cpu", "asked": [asdict(PLAIN)]}


def test_a_side_answers_line_by_line(monkeypatch: pytest.MonkeyPatch):
    def run(target: Any, args: Any, at: Any, result: Any) -> Any:
        assert target is calling.measure and args == (calling.Plan("cpu", (PLAIN,)),)
        at(PLAIN.id, "timing")
        result(PLAIN.id, {"wall_time": 0.5})
        return {"sm_mhz": None}

    assert answers(monkeypatch, run, TASK) == [{"at": [PLAIN.id, "timing"]}, {"result": [PLAIN.id, {"wall_time": 0.5}]}, {"done": {"sm_mhz": None}}]


def test_a_side_outlives_a_process_that_dies(monkeypatch: pytest.MonkeyPatch):
    def run(*_: Any, **__: Any) -> Any:
        raise ChildFailed(Fault(Cause.KILLED, "the process was killed by SIGSEGV"), PLAIN.id, "timing")

    broken = {"failed": {"subject": PLAIN.id, "phase": "timing", "reason": "the process was killed by SIGSEGV"}}
    assert answers(monkeypatch, run, TASK, TASK) == [broken, broken]
