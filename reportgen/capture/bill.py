"""Takes the bill of a new shape: each way of calling in a fresh process, at lengths that nothing was called with before."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from ..saying.progress import Progress
from ..shapes import Call, bill
from ..shapes.bill import FEW, HONOURED, LENGTHS, SWITCH, Row
from . import map_inputs, operands, processes
from .faults import ChildFailed
from .map_clock import CpuClock, GpuClock
from .map_session import header
from .processes import Report
from .refusal import listening, on_a_cpu
from .trying import pinned

LATER = 7
"""Later calls at each length."""
WARM_LENGTH = 48
"""Of the calls that start the device's libraries; in no row, and another backend's."""
ON_A_GPU, ON_A_CPU = ("efficient", "flash", "cudnn"), ("math", "flash")
SILENCE = 120.0


@dataclass(frozen=True)
class Task:
    """call: its lengths are left open; row: without seconds"""

    device: str
    call: Call
    row: Row
    lengths: tuple[int, ...]


def shape(gpu: bool) -> Call:
    return Call(4, 16, 16, 1024, 1024, 64, 64) if gpu else Call(1, 2, 2, 128, 128, 32, 32)


def rows(gpu: bool) -> list[Row]:
    """The rows without seconds: backend × mask × gradients, and cuDNN once more with `SWITCH`; all in the layout for which torch heeds it, so that rows differ in one thing."""
    plain = [Row(backend, mask, gradients, layout=HONOURED) for backend in (ON_A_GPU if gpu else ON_A_CPU) for gradients in (False, True) for mask in (False, True)]
    return plain + [replace(one, avoid=True) for one in plain if one.backend == "cudnn"]


def lengths(gpu: bool) -> tuple[int, ...]:
    return LENGTHS if gpu else tuple(one // 4 for one in LENGTHS[:FEW])


def measure(report: Report, task: Task) -> dict[str, Any]:
    """The fields of a `Row`."""
    if task.row.avoid:
        os.environ[SWITCH] = "1"  # torch reads it at the first call of cuDNN
    else:
        os.environ.pop(SWITCH, None)
    operands.start(task.device)
    clock = GpuClock(task.device) if operands.is_gpu(task.device) else CpuClock()
    row = {**asdict(task.row), "lengths": [], "first": [], "later": [], "gpu": []}
    _warm(task, clock)
    for length in task.lengths:
        report.at(task.row.id, f"length {length}")
        with listening() as heard:
            first, later, gpu = _costs(task, length, clock)
        if heard.error is not None:
            reason = heard.reason if operands.is_gpu(task.device) else on_a_cpu(task.row.backend, heard.reason)
            return {**asdict(task.row), "reason": reason}
        row["lengths"].append(length)
        row["first"].append(first)
        row["later"].append(later)
        row["gpu"] += [gpu] if gpu is not None else []
    if len(row["gpu"]) < len(row["lengths"]):
        row["gpu"] = []
    return row


def at(task: Task, length: int) -> map_inputs.Tensors:
    """The tensors of one length."""
    mask = "bool" if task.row.mask else "causal"
    return map_inputs.make(replace(task.call, queries=length, keys=length, mask=mask, layout=task.row.layout, gradients=task.row.gradients), task.device)  # type: ignore[arg-type]


def _warm(task: Task, clock: Any) -> None:
    """Starts the device and its matrix products with the math backend, so that no row pays for them."""
    tensors = at(task, WARM_LENGTH)
    with listening(), pinned("math"):
        tensors.run()
    clock.wait()


def _costs(task: Task, length: int, clock: Any) -> tuple[float, float, float | None]:
    tensors = at(task, length)
    with pinned(task.row.backend):
        first = clock.once(tensors.run)
        later = [clock.once(tensors.run) for _ in range(LATER)]
        return first, median(later), clock.device(tensors.run, 5, median(later)) if operands.is_gpu(task.device) else None


def take(survey: dict[str, Any], file: Path, slug: str, progress: Progress) -> list[str]:
    """Writes the bill, and gives what went wrong in which row. A row that ends its process says so."""
    device, lost = survey["device"], []
    gpu = operands.is_gpu(device)
    asked, found = rows(gpu), []
    progress.plan("bill", len(asked), 6.0 if gpu else 2.0)
    for row in asked:
        progress.stage("bill", row.id)
        try:
            found.append(processes.run(measure, (Task(device, shape(gpu), row, lengths(gpu)),), at=progress.at, patience=SILENCE))
        except ChildFailed as failure:
            lost.append(f"{row.id}: {failure.reason}")
            found.append({**asdict(row), "reason": failure.reason})
        progress.done()
    bill.write(file, {"header": header(survey, slug), "call": asdict(shape(gpu)), "rows": found})
    return lost


def loop(report: Report, task: Task) -> dict[str, Any]:
    """A loop of calls at `task.lengths`, as a program has them: each waited for. `seconds`: of the loop, `steps`: of each call; the very first call is made before it.

    What stands beside the calls (making tensors) is not in it.
    """
    if task.row.avoid:
        os.environ[SWITCH] = "1"
    else:
        os.environ.pop(SWITCH, None)
    operands.start(task.device)
    clock = GpuClock(task.device) if operands.is_gpu(task.device) else CpuClock()
    _warm(task, clock)
    steps: list[float] = []
    with pinned(task.row.backend):
        clock.once(at(task, WARM_LENGTH + 8).run)
        for number, length in enumerate(task.lengths):
            report.at(task.row.id, f"step {number}")
            tensors = at(task, length)
            steps.append(clock.once(tensors.run))
    return {"seconds": sum(steps), "steps": steps}
