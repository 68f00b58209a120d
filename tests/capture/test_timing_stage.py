"""What becomes of timing processes that die, and of a workload that is too long: the stage with processes that are made up."""

from __future__ import annotations

from typing import Any

import pytest

from reportgen.capture import timing_stage
from reportgen.capture.faults import Cause, ChildFailed, Fault
from reportgen.capture.journal import Journal
from reportgen.capture.patience import Extent
from reportgen.capture.rounds import Plan
from reportgen.capture.timing_stage import TimingStage
from reportgen.errors import CaptureFailed
from reportgen.run.workload import ARTICLE
from reportgen.saying.progress import Silent


class Said(Silent):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


class Watching:
    def look(self, when: str, during: Any = None) -> None:
        return None


def died(cause: Cause, reason: str, subject: str = "naive", phase: str = "first call") -> ChildFailed:
    return ChildFailed(Fault(cause, reason), subject, phase)


def stage(monkeypatch, script, *, device="cuda", budget=None, asked=None, calls=()):
    """A stage whose processes do what `script` says: a failure each, then all is well. Returns the stage, its notes, and what each process was asked for.

    calls: variant and seconds of its first calls, told by each process before anything else
    """
    asked_for: list[Plan] = []
    left = list(script)

    def run(target, args, *, at, result, patience):
        asked_for.append(args[0])
        for name, seconds in calls:
            result(("call", name), seconds)
        if left:
            raise left.pop(0)
        return {"samples": {name: {"wall_time": 1.0} for name in args[0].variants}, "failures": {}, "phases": {}, "neighbours": {}, "chains": None}

    monkeypatch.setattr(timing_stage.processes, "run", run)
    said = Said()
    room = TimingStage(Journal(said), Watching(), asked or Extent(2), budget)
    return room, said.notes, asked_for, Plan(device, ARTICLE, ("naive", "sdpa_flash"), process=0, rounds=3, settle_seconds=0.1)


def test_a_process_that_a_signal_ended_is_tried_once_more(monkeypatch):
    room, notes, asked_for, plan = stage(monkeypatch, [died(Cause.KILLED, "the process was killed by SIGKILL")])
    assert room.run(plan).failures == {} and len(asked_for) == 3
    assert notes == ["note: naive, first call: the process was killed by SIGKILL; this process is tried once more"]


def test_one_that_dies_twice_during_a_variant_costs_that_variant(monkeypatch):
    room, _, asked_for, plan = stage(monkeypatch, [died(Cause.KILLED, "the process was killed by SIGKILL")] * 2)
    assert room.run(plan).failures == {"naive": {"status": "failed", "reason": "the process was killed by SIGKILL (while: first call)"}}
    assert [plan.variants for plan in asked_for] == [("naive", "sdpa_flash")] * 2 + [("sdpa_flash",)] * 2


def test_where_memory_ran_out_nothing_is_tried_again(monkeypatch):
    room, _, asked_for, plan = stage(monkeypatch, [died(Cause.OUT_OF_MEMORY, "the machine ran out of memory")])
    assert list(room.run(plan).failures) == ["naive"] and len(asked_for) == 3


def test_a_device_that_a_graph_spoils_is_timed_by_events(monkeypatch):
    """As on WSL: a capture that fails leaves every later call with the same error, so all variants would fail in turn."""
    room, notes, asked_for, plan = stage(monkeypatch, [died(Cause.GRAPHS, "CUDA error: unknown error.")])
    assert room.run(plan).failures == {}
    assert [one.no_graphs for one in asked_for] == [None, *["capturing one left the device unusable (CUDA error: unknown error)"] * 2]
    assert notes == ["note: CUDA error: unknown error.; GPU time is taken by events from here on, and not by CUDA graphs"]


def test_where_it_goes_wrong_without_graphs_as_well_the_variant_is_to_blame(monkeypatch):
    room, _, asked_for, plan = stage(monkeypatch, [died(Cause.GRAPHS, "CUDA error: unknown error."), died(Cause.POISONED, "CUDA error: unknown error.")])
    assert list(room.run(plan).failures) == ["naive"]
    assert [one.no_graphs is None for one in asked_for] == [True, False, True, True]


def test_what_dies_before_any_variant_points_at_the_doctor(monkeypatch):
    room, _, _, plan = stage(monkeypatch, [died(Cause.RAISED, "RuntimeError: CUDA error: no kernel image", "the device", "warming up")])
    with pytest.raises(CaptureFailed) as caught:
        room.run(plan)
    assert str(caught.value).splitlines() == ["a timing process failed before any variant ran: RuntimeError: CUDA error: no kernel image",
                                              "  what to do: `make doctor` says what it finds; the former run is untouched"]


def test_a_workload_of_hours_on_a_cpu_is_refused_after_one_call(monkeypatch):
    """One forward of 8.7 s, as the preset `long` takes on a thread: 965 s for the whole, 191 s for the least."""
    room, _, _, plan = stage(monkeypatch, [], device="cpu", budget=120.0, asked=Extent(7), calls=[("naive", 8.7)])
    with pytest.raises(CaptureFailed) as caught:
        room.run(plan)
    assert str(caught.value).splitlines() == [
        "one forward of naive takes about 8.70 s here, so a whole capture takes more than 965 s, and the shortest one more than 191 s",
        "  what to do: FORCE=1 (--force) takes the time; a smaller --sequence or --batch, or fewer --variants, are quicker"]


def test_a_call_that_takes_the_whole_budget_is_not_waited_for(monkeypatch):
    room, _, _, plan = stage(monkeypatch, [died(Cause.SILENT, "it gave no sign for 120 s")], device="cpu", budget=120.0)
    with pytest.raises(CaptureFailed, match="naive, first call: one call took more than 120 s here, so a whole capture would take far longer"):
        room.run(plan)


def test_force_takes_the_time(monkeypatch):
    room, _, asked_for, plan = stage(monkeypatch, [], device="cpu", budget=None, asked=Extent(3), calls=[("naive", 8.7)])
    assert len(room.run(plan).processes) == 3 and len(asked_for) == 3 and room.shortened is None


def test_what_takes_too_long_is_cut_short_and_told(monkeypatch):
    """A process that took 10.6 s with forwards of 1 s: the whole would take 147.9 s, without forward and backward 99.9 s."""
    clock = iter([0.0, 10.6, *[20.0] * 20])
    monkeypatch.setattr(timing_stage, "perf_counter", lambda: next(clock))
    room, notes, asked_for, plan = stage(monkeypatch, [], device="cpu", budget=120.0, asked=Extent(7), calls=[("naive", 1.0)])
    room.run(plan)
    assert (len(asked_for), room.extent.training, room.shortened.left_out) == (7, False, ("forward and backward",))
    assert notes == ["note: the whole would take about 148 s here, so it is cut short to about 99.9 s: no forward and backward. FORCE=1 (--force) takes the time"]
