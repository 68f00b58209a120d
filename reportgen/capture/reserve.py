"""A process in reserve: it imports what takes seconds while another one measures nothing, shares its probes, and has tasks of its own when that one is gone."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..run.workload import Workload
from . import evidence, operands, processes, trying
from .claims import FIRST, RESERVE, Claims
from .evidence import Task
from .faults import ChildFailed
from .limits import available_processors
from .patience import TraceSteps
from .processes import Report
from .rounds import Plan

SLOW_IMPORTS = ("torch.fx.experimental.symbolic_shapes", "torch._dynamo", "torch._inductor")
"""What a backward pass with a gradient handed over, a dispatch mode and the profiler's start import at their first use: 1 to 3 s."""
LOOK = 0.01
ROOM = 64 * 2**30
"""Bytes of free GPU memory from which on two processes try probes beside each other: the largest probe wants 20 GiB."""
CLAIMED, HANDED = "claimed", "tasks.json"


class Reserve:
    """Begun, then taken or given up.

    compiles: something is to be compiled, so the compiler is imported as well
    shared: probes of which it does those that nobody else has taken, where the device has room for two (see `_may_share`)
    arguments: what `evidence.work` is given beside its tasks
    """

    def __init__(self, compiles: bool, shared: Sequence[Task], arguments: tuple[Any, ...]) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._place = Path(self._folder.name)
        (self._place / CLAIMED).mkdir()
        self._asked = (self._place, compiles, tuple(shared), *arguments)
        self._child: processes.Started | None = None
        self.claims = Claims(self._place / CLAIMED, FIRST)
        """For the process that works meanwhile."""

    def begin(self) -> None:
        """Starts it. Where it cannot be started, there is none."""
        try:
            self._child = processes.Started(wait_and_work, self._asked)
        except ChildFailed:
            self._child = None

    def took(self, task: Task) -> bool:
        """Whether the task is a probe that it has taken; its answers come when it is taken itself."""
        return self._child is not None and task[0] == "probe" and trying.probe_of(str(task[1])) in Claims(self.claims.folder, RESERVE).taken()

    def take(self, tasks: Sequence[Task]) -> processes.Started | None:
        """The process, at work on these tasks; `None` where there is none (any more)."""
        child, self._child = self._child, None
        if child is not None:
            written = self._place / "part"
            written.write_text(json.dumps(tasks), encoding="utf-8")
            os.replace(written, self._place / HANDED)
        return child

    def give_up(self) -> None:
        """Ends it where nobody took it."""
        child, self._child = self._child, None
        if child is not None:
            child.give_up()
        self._folder.cleanup()


def wait_and_work(report: Report, place: Path, compiles: bool, shared: Sequence[Task], device: str, workload: Workload, plan: Plan, steps: TraceSteps) -> None:
    """`evidence.work` with the tasks that a file in `place` holds, once it is there; before that the imports, and what is shared.

    Nobody listens meanwhile, so what it has found by then is handed over with the rest.
    """
    report.at("a process in reserve", "importing")
    with evidence.fresh_caches():
        for name in SLOW_IMPORTS:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001 - what needs it will fail as well, and say why
                continue
        if compiles:
            evidence.prefetch_compiler()
        kept = _Kept(report)
        try:
            claims = Claims(place / CLAIMED, RESERVE)
            if shared and _may_share(device, claims, place):
                evidence.work(kept, tuple(shared), device, workload, plan, steps, claims)
                operands.release(device)
        finally:
            tasks = _handed(place)
            for task, answer in kept.answers.items():
                report.result(task, answer)
        evidence.work(report, with_cures(tasks, kept.answers), device, workload, plan, steps)


class _Kept(Report):
    """Keeps what is handed over; what is at work is told at once."""

    def __init__(self, line: Report) -> None:
        self.line, self.answers = line, {}  # type: ignore[var-annotated]

    def at(self, subject: str, phase: str) -> None:
        self.line.at(subject, phase)

    def result(self, key: Any, value: Any) -> None:
        self.answers[key] = value


def with_cures(tasks: Sequence[Task], answers: Mapping[Task, Any]) -> tuple[Task, ...]:
    """The tasks without those that have an answer; what the cures among the answers cost is timed before the profiler starts."""
    left = [task for task in tasks if task not in answers]
    place = next((number for number, task in enumerate(left) if task[0] == "profiler"), len(left))
    return (*left[:place], *trying.cures(answers), *left[place:])


def _may_share(device: str, claims: Claims, place: Path) -> bool:
    """Whether the device has room for a second process. On a GPU the other one comes first: some give themselves to one alone."""
    if not operands.is_gpu(device):
        return available_processors() > 1
    import torch

    while not claims.any():
        if (place / HANDED).exists():
            return False
        time.sleep(LOOK)
    try:
        return int(torch.cuda.mem_get_info(device)[0]) >= ROOM
    except RuntimeError:
        return False


def _handed(place: Path) -> list[Task]:
    """The tasks, once they are there. This process ends with its parent, so somebody makes the file."""
    while not (place / HANDED).exists():
        time.sleep(LOOK)
    return [(task, name) for task, name in json.loads((place / HANDED).read_text(encoding="utf-8"))]
