"""Takes the bill of a new shape: each way of calling in several fresh processes, in turn with the others, at lengths that nothing was called with before.

Building a plan and queuing a call are work of the CPU, whose pace moves by a third between processes and minutes.
"""

from __future__ import annotations

import os
import random
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
WARM_LENGTH, BEGIN_LENGTH = 48, 56
"""Of the call that starts the device's libraries, of another backend, and of a process's very first call; neither is in a row."""
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


def lengths(gpu: bool) -> tuple[tuple[int, ...], ...]:
    """Of each process."""
    return LENGTHS if gpu else tuple(tuple(one // 4 for one in part[:FEW]) for part in LENGTHS)


def measure(report: Report, task: Task) -> dict[str, Any]:
    """The fields of a `Row` of one process."""
    _switch(task)
    operands.start(task.device)
    clock = GpuClock(task.device) if operands.is_gpu(task.device) else CpuClock()
    _warm(task, clock)
    found: dict[str, Any] = {}
    with listening() as heard:
        found = _costs(report, task, clock)
    if heard.error is not None:
        return {**asdict(task.row), "reason": heard.reason if operands.is_gpu(task.device) else on_a_cpu(task.row.backend, heard.reason)}
    return {**asdict(task.row), **found}


def _switch(task: Task) -> None:
    if task.row.avoid:
        os.environ[SWITCH] = "1"  # torch reads it at the first call of cuDNN
    else:
        os.environ.pop(SWITCH, None)


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


def _costs(report: Report, task: Task, clock: Any) -> dict[str, Any]:
    """Every length once, then all again in another order each time, as a loop of random lengths meets them; each call has tensors of its own."""
    order, first, later = random.Random(task.row.id), {}, {length: [] for length in task.lengths}  # type: ignore[var-annotated]
    with pinned(task.row.backend):
        report.at(task.row.id, "the first call")
        begun = clock.once(at(task, BEGIN_LENGTH).run)
        for length in task.lengths:
            report.at(task.row.id, f"length {length}")
            first[length] = clock.once(at(task, length).run)
        report.at(task.row.id, "later calls")
        for _ in range(LATER):
            for length in order.sample(task.lengths, len(task.lengths)):
                later[length].append(clock.once(at(task, length).run))
        middle = [median(later[length]) for length in task.lengths]
        gpu = [clock.device(at(task, length).run, 5, seconds) for length, seconds in zip(task.lengths, middle)] if operands.is_gpu(task.device) else []
    return {"lengths": list(task.lengths), "first": list(first.values()), "later": middle, "gpu": [] if None in gpu else gpu, "begun": [begun]}


def joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The fields of one row from those of its processes; where the first has a reason instead of seconds, that stands."""
    timed = [part for part in parts if part.get("first")]
    if not timed:
        return parts[0]
    flat = {name: [value for part in timed for value in part[name]] for name in ("lengths", "first", "later", "gpu", "begun")}
    if len(flat["gpu"]) < len(flat["lengths"]):
        flat["gpu"] = []
    return {**timed[0], **flat, "passes": [number for number, part in enumerate(timed) for _ in part["lengths"]]}


def take(survey: dict[str, Any], file: Path, slug: str, progress: Progress) -> list[str]:
    """Writes the bill, and gives what went wrong in which row. A way of calling that declines, or ends its process, is not tried in a further one."""
    device, lost = survey["device"], []
    gpu = operands.is_gpu(device)
    found: dict[str, list[dict[str, Any]]] = {row.id: [] for row in rows(gpu)}
    progress.plan("bill", len(rows(gpu)) * len(lengths(gpu)), 4.0 if gpu else 2.0)
    for own in lengths(gpu):
        for row in rows(gpu):
            progress.stage("bill", row.id)
            if not any(part["reason"] for part in found[row.id]):
                try:
                    found[row.id].append(processes.run(measure, (Task(device, shape(gpu), row, own),), at=progress.at, patience=SILENCE))
                except ChildFailed as failure:
                    lost.append(f"{row.id}: {failure.reason}")
                    found[row.id].append({**asdict(row), "reason": failure.reason})
            progress.done()
    bill.write(file, {"header": header(survey, slug), "call": asdict(shape(gpu)), "rows": [joined(parts) for parts in found.values()]})
    return lost


def loop(report: Report, task: Task) -> dict[str, Any]:
    """A loop of calls at `task.lengths`, as a program has them: each waited for. `seconds`: of the loop, `steps`: of each call; the very first call is made before it.

    What stands beside the calls (making tensors) is not in it.
    """
    _switch(task)
    operands.start(task.device)
    clock = GpuClock(task.device) if operands.is_gpu(task.device) else CpuClock()
    _warm(task, clock)
    steps: list[float] = []
    with pinned(task.row.backend):
        clock.once(at(task, BEGIN_LENGTH).run)
        for number, length in enumerate(task.lengths):
            report.at(task.row.id, f"step {number}")
            tensors = at(task, length)
            steps.append(clock.once(tensors.run))
    return {"seconds": sum(steps), "steps": steps}
