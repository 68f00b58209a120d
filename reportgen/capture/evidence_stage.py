"""Everything beside the timings: the tasks in one process, in another one after a crash, and broken traces a second time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from .. import trace as trace_room
from ..errors import TraceMalformed
from ..run import PARTS
from ..trace import Loss, Trace, TraceLoss
from . import cupti, evidence, operands, processes
from .evidence import Answer, Task
from .faults import Cause, ChildFailed
from .journal import Journal
from .reserve import Reserve

COMPILE_PATIENCE = 300.0
REPORTED = tuple(part for part in PARTS if part != "records")
"""Tasks whose value has no other place for the reason why it is missing."""


class EvidenceStage:
    """Answers tasks. arguments: what `evidence.work` is given beside them; silence: seconds that one task may last; retaken: variant → what its first trace lacked."""

    def __init__(self, journal: Journal, device: str, arguments: tuple[Any, ...], silence: float = COMPILE_PATIENCE) -> None:
        self.journal, self.device, self.arguments, self.silence = journal, device, arguments, silence
        self.answers: dict[Task, dict[str, Any]] = {}
        self.retaken: dict[str, str] = {}
        self._again: set[Task] = set()
        self._reserve: Reserve | None = None

    def run(self, tasks: Sequence[Task], reserve: Reserve | None = None) -> dict[Task, dict[str, Any]]:
        """Answers these tasks, and gives all answers so far: one during which two processes die gets that as its answer. reserve: does them, if it can."""
        self._reserve = reserve
        while left := [task for task in tasks if task not in self.answers]:
            try:
                self._work(left, self._answered)
            except ChildFailed as failure:
                self._failed(failure, left)
        if operands.is_gpu(self.device):
            self._retake([name for task, name in tasks if task == "trace" and name and self.answers[task, name]["value"]])
        for task, name in tasks:
            answer = self.answers[task, name]
            if task in REPORTED and answer["status"] != "ok":
                self.journal.lose(task, (answer["reason"] or "unknown").rstrip("."), name)
        return self.answers

    def _work(self, tasks: list[Task], answered: Any) -> None:
        waiting = self._reserve.take(tasks) if self._reserve else None
        if waiting is not None:
            waiting.listen(self.journal.progress.at, answered, self.silence)
        else:
            processes.run(evidence.work, (tuple(tasks), *self.arguments), at=self.journal.progress.at, result=answered, patience=self.silence)

    def _failed(self, failure: ChildFailed, left: list[Task]) -> None:
        unanswered = [task for task in left if task not in self.answers]
        if not unanswered or failure.cause is Cause.POISONED and len(unanswered) < len(left):
            return  # the task that did it has its answer; the rest goes on in another process
        first = unanswered[0]
        if failure.cause.may_pass and first not in self._again:
            self._again.add(first)
            self.journal.progress.note(f"note: {failure.subject}, {failure.phase}: {failure.reason}; it is tried once more")
            return
        self._answered(first, asdict(Answer(status="failed", reason=failure.reason)))

    def _answered(self, task: Task, answer: Any) -> None:
        if task[0] == "call":  # a compiled variant is timed; its first calls are of no interest here
            return
        self.answers[task] = answer
        self.journal.add(f"evidence: {task[0]}", answer["seconds"])

    def _retake(self, names: list[str]) -> None:
        """Traces of which no forward is whole are taken again, each by itself; the better one is kept.

        A profiler that keeps no record at all, twice, is not asked a third time.
        """
        blind = False
        for name in names:
            loss = self._loss(name)
            if loss is None:
                continue
            if not (blind and loss.cause is Loss.NO_LANE):
                self.journal.progress.note(f"note: {name}: {trace_room.in_words(loss)}; its trace is taken again, by itself")
                self._take_alone(name)
                self.retaken[name] = trace_room.in_words(loss)
                loss = self._loss(name)
            if loss is not None:
                blind = blind or loss.cause is Loss.NO_LANE
                self._lose(name, loss)

    def _take_alone(self, name: str) -> None:
        found: dict[Task, dict[str, Any]] = {}
        try:
            self._work([("profiler", None), ("trace", name)], lambda task, answer: found.update({task: answer}))
        except ChildFailed:
            pass  # the first trace stays
        again, former = found.get(("trace", name)), self.answers["trace", name]
        self.journal.add("evidence: trace, again", sum(answer["seconds"] for answer in found.values()))
        if again is not None and again["value"] and _kept(again["value"]) >= _kept(former["value"]):
            again["said"] = [*found.get(("profiler", None), {}).get("said", ()), *again["said"]]
            self.answers["trace", name] = again

    def _lose(self, name: str, loss: TraceLoss) -> None:
        said = tuple(dict.fromkeys([*self.answers["trace", name]["said"], *self.answers.get(("profiler", None), {}).get("said", ())]))
        words = f"{trace_room.in_words(loss)}{', also when its trace was taken again' if name in self.retaken else ''}"
        self.journal.lose("records", f"{words}{'; it said: ' + ' / '.join(said) if said else ''}", name)
        if loss.cause is Loss.NO_LANE and len(self.retaken) == 1 and name in self.retaken:
            self.journal.progress.note(f"  what to do: {cupti.cures(said)}; then record again")

    def _loss(self, name: str) -> TraceLoss | None:
        read = _read(self.answers["trace", name]["value"])
        if read is None:
            return None
        return read.loss if read.has_gpu_lane or read.loss else TraceLoss(Loss.NO_LANE, len(read.forwards), 0, 0)


def _read(document: Any) -> Trace | None:
    try:
        return trace_room.parse(document)
    except TraceMalformed:
        return None


def _kept(document: Any) -> float:
    read = _read(document)
    return -1.0 if read is None else 2.0 if read.loss is None and read.has_gpu_lane else trace_room.share_kept(read) if read.has_gpu_lane else 0.0
