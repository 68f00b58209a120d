"""What a dead child of the evidence takes with it, and traces that are taken again: the stage with processes that are made up."""

from __future__ import annotations

from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import run_builder

from reportgen.capture import evidence_stage
from reportgen.capture.agenda import Agenda
from reportgen.capture.evidence import Answer
from reportgen.capture.evidence_stage import EvidenceStage
from reportgen.capture.faults import Cause, ChildFailed, Fault
from reportgen.capture.journal import Journal
from reportgen.saying.progress import Silent

KILLED = "the process was killed by SIGKILL"


class Said(Silent):
    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)


def stage(monkeypatch, deaths=(), values=None, again=None, device="cuda", said=()):
    """A stage whose processes answer every task, and die at each of `deaths` in turn. values: task → value; again: the same for a trace that is taken a second time."""
    deaths, seen = list(deaths), []

    def run(target, args, *, at, result, patience):
        tasks = args[0]
        retaken = again is not None and bool(seen)
        seen.append(tasks)
        for task in tasks:
            if deaths and deaths[0] == task[0]:
                deaths.pop(0)
                raise ChildFailed(Fault(Cause.KILLED, KILLED), task[1] or "the device", "at work")
            value = (again if retaken else values or {}).get(task, "a value")
            result(task, asdict(Answer(value=value, seconds=0.1, said=said if task[0] == "profiler" else ())))

    monkeypatch.setattr(evidence_stage.processes, "run", run)
    progress = Said()
    return EvidenceStage(Journal(progress), device, ()), progress.notes


def test_a_child_that_dies_once_costs_nothing(monkeypatch):
    room, notes = stage(monkeypatch, ["ceilings"], device="cpu")
    assert room.run([("ceilings", None), ("memory", "naive")])["ceilings", None]["value"] == "a value"
    assert notes == [f"note: the device, at work: {KILLED}; it is tried once more"] and room.journal.lost == []


def test_what_a_child_took_twice_is_told_with_its_reason_and_the_rest_is_there(monkeypatch):
    tasks = [("ceilings", None), ("memory", "naive"), ("masked_row", "naive"), ("training_kernels", "naive"), ("probes", None), ("numerics", "naive")]
    room, notes = stage(monkeypatch, ["ceilings"] * 2 + ["memory"] * 2 + ["probes"] * 2, device="cpu")
    answers = room.run(tasks)
    assert [task for task in tasks if answers[task]["status"] != "ok"] == [("ceilings", None), ("memory", "naive"), ("probes", None)]
    assert room.journal.lost == [{"what": "ceilings", "variant": None, "reason": KILLED}, {"what": "memory", "variant": "naive", "reason": KILLED},
                                 {"what": "probes", "variant": None, "reason": KILLED}]
    assert notes[-3:] == [f"warning: copy and matmul ceilings could not be taken: {KILLED}", f"warning: peak memory of naive could not be taken: {KILLED}",
                          f"warning: probes could not be taken: {KILLED}"]


def trace(lost: int = 0) -> dict[str, Any]:
    """The trace of flash, one kernel a forward; without the records of so many forwards' kernels."""
    document = run_builder.trace("sdpa_flash")
    records = [event for event in document["traceEvents"] if event["cat"] == "kernel"]
    for event in records[:lost]:
        document["traceEvents"].remove(event)
    return document


FLASH = ("trace", "sdpa_flash")


def test_a_trace_of_which_no_forward_is_whole_is_taken_again_by_itself(monkeypatch):
    room, notes = stage(monkeypatch, values={FLASH: trace(lost=4)}, again={FLASH: trace()})
    answers = room.run([("profiler", None), FLASH])
    assert len([event for event in answers[FLASH]["value"]["traceEvents"] if event["cat"] == "kernel"]) == 4
    assert list(room.retaken) == ["sdpa_flash"] and room.journal.lost == []
    assert len(notes) == 1 and notes[0].startswith("note: sdpa_flash: ") and notes[0].endswith("; its trace is taken again, by itself")


def test_where_it_stays_so_kinetos_words_and_the_cure_stand_beside_it(monkeypatch):
    words = ("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",)
    room, notes = stage(monkeypatch, values={FLASH: trace(lost=4)}, again={FLASH: trace(lost=4)}, said=words)
    room.run([("profiler", None), FLASH])
    (lost,) = room.journal.lost
    assert (lost["what"], lost["variant"]) == ("records", "sdpa_flash")
    assert lost["reason"].endswith(", also when its trace was taken again; it said: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")
    assert notes[-1] == ("  what to do: allow profiling: in a container --cap-add=SYS_ADMIN, on the host the driver's option "
                         "NVreg_RestrictProfilingToAdminUsers=0; then record again")


def test_a_whole_trace_and_one_of_a_cpu_are_taken_once(monkeypatch):
    for device, value in (("cuda", trace()), ("cpu", trace(lost=4))):
        room, notes = stage(monkeypatch, values={FLASH: value}, again={FLASH: None}, device=device)
        room.run([("profiler", None), FLASH])
        assert (room.retaken, notes) == ({}, [])


class Waiting:
    """A process in reserve that answers what it is given, up to the task of which it dies."""

    def __init__(self, dies_at: str | None = None) -> None:
        self.dies_at, self.given = dies_at, None

    def take(self, tasks):
        if self.given is not None:
            return None
        self.given = tasks
        return self

    def listen(self, at, answered, silence):
        for task in self.given:
            if task[0] == self.dies_at:
                raise ChildFailed(Fault(Cause.KILLED, KILLED), "the device", "at work")
            answered(task, asdict(Answer(value="of the reserve", seconds=0.1)))


def test_the_process_in_reserve_does_what_is_left_and_a_fresh_one_does_it_where_that_one_dies(monkeypatch):
    room, notes = stage(monkeypatch, device="cpu")
    room.run([("numerics", "naive")])
    waiting = Waiting(dies_at="probes")
    answers = room.run([("ceilings", None), ("probes", None), ("training", "naive")], waiting)
    assert waiting.given == [("ceilings", None), ("probes", None), ("training", "naive")]
    assert [answers[task]["value"] for task in answers] == ["a value", "of the reserve", "a value", "a value"]
    assert notes == [f"note: the device, at work: {KILLED}; it is tried once more"] and room.journal.lost == []


def test_what_the_first_tasks_lost_is_told_once(monkeypatch):
    room, notes = stage(monkeypatch, ["memory"] * 2, device="cpu")
    room.run([("memory", "naive")])
    room.run([("ceilings", None)])
    assert [one["what"] for one in room.journal.lost] == ["memory"]


def test_what_times_nothing_comes_before_what_does_and_the_profiler_starts_after_what_is_timed():
    alive = [SimpleNamespace(id="naive", brief=False), SimpleNamespace(id="extra", brief=True)]
    asked = Agenda(True, alive, ["naive_compiled"], training=True, quick=False)
    assert asked.untimed()[:8] == [("numerics", "naive"), ("masked_row", "naive"), ("memory", "naive"), ("numerics", "extra"), ("masked_row", "extra"), ("memory", "extra"),
                                   ("own_mask", "naive"), ("picks", None)]
    assert {task for task, _ in asked.untimed()[8:]} == {"probe"} and not any("causal-one-query" in str(step) for _, step in asked.untimed())
    assert asked.timed([("cure", "mask-layout math")]) == [
        ("ceilings", None), ("training", "naive"), ("cure", "mask-layout math"),
        *(("probe", f"causal-one-query {choice}") for choice in ("default", "math", "efficient", "flash", "cudnn")), ("cure", None), ("profiler", None), ("trace", "naive"), ("trace", "extra"), ("training_kernels", "naive"),
        ("probes", None), *((task, "naive_compiled") for task in ("compiled", "numerics", "masked_row", "memory", "trace"))]
    quick = Agenda(False, alive, [], training=False, quick=True)
    assert {task for task, _ in quick.untimed()} == {"numerics", "masked_row", "memory"}
    assert quick.timed() == [("ceilings", None), ("profiler", None), ("trace", "naive"), ("trace", "extra"), ("probes", None)]
