"""Everything beside the timings, task by task in one process: what it is, whether it is right, its trace."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import variants as variant_room

from ..run.workload import ARTICLE, NATIVE_BFLOAT16, PRESETS, Workload
from . import causes, ceilings, counters, cupti, environment, gradients, machine, memory, numerics, operands, picking, probes, processes, profiling, rounds, sampler, training, trying
from .faults import Spoiled
from .patience import LONG_TRACE, TraceSteps
from .processes import Report
from .refusal import listening

Task = tuple[str, "str | None"]
"""What to do, and for which variant; for `probe` and `cure`: which one with which choice, see `trying.steps`."""

VARIANT_TASKS: dict[str, Callable[..., Any]] = {
    "numerics": numerics.check,
    "masked_row": numerics.masked_row,
    "memory": memory.peak,
    "training": training.measure,
    "own_mask": gradients.own_mask,
    "trace": profiling.trace,
    "training_kernels": training.count_kernels,
}
DEVICE_TASKS: dict[str, Callable[..., Any]] = {"ceilings": ceilings.measure, "probes": probes.run_all, "picks": picking.picks}
WORDS = {
    "numerics": "accuracy against FP64",
    "masked_row": "a fully masked row",
    "memory": "peak memory",
    "training": "forward and backward",
    "own_mask": "gradients under a mask of its own",
    "trace": "trace",
    "training_kernels": "kernels of forward and backward",
    "ceilings": "copy and matmul ceilings",
    "probes": "probes",
    "probe": "beside FP64",
    "cure": "what a cure costs",
    "picks": "what torch picks",
    "profiler": "starting the profiler",
    "compiled": "compiling and timing",
}


PROFILED = ("profiler", "trace")
OWN_CURES: Task = ("cure", None)
"""Times the cures of the probes that this very process has tried, each under a task of its own."""


@dataclass(frozen=True)
class Answer:
    """What a task gave: a value, or torch's reason. seconds: how long it took; said: what the profiler complained of."""

    value: Any = None
    status: str = "ok"
    reason: str | None = None
    seconds: float = 0.0
    said: tuple[str, ...] = ()


def survey(report: Report, device: str | None, workload: Workload | None) -> dict[str, Any]:
    """Which device there is and what is to be computed on it.

    Returns:
        `device` (`cuda` or `cpu`), `environment` (see `environment.describe`), `workload`, `identity` (the GPU as NVML finds
        it, not to be recorded); and `notices`: why no GPU is used, or what keeps the report from being whole. Without
        a `device` it is the reason why the one that was asked for, or the GPU that is there, cannot be used.
    """
    report.at("", "looking")  # the stage's title says at what
    seen = machine.look(device, watch=0.3)
    notices = causes.diagnose(seen, device)
    if any(notice.effect is causes.Effect.NOTHING_MEASURED for notice in notices) or (operands.is_gpu(device or "cuda") and (device or seen.torch.available) and not causes.gpu_works(seen)):
        return {"notices": notices}
    device = device or ("cuda" if seen.torch.available else "cpu")
    described = plain(environment.describe(device))
    return {"device": device, "environment": described, "identity": sampler.identity(device), "notices": notices,
            "workload": workload or default_workload(device, described["device"].get("compute_capability"))}


def examine(report: Report, places: Sequence[tuple[str, Path]]) -> machine.Machine:
    """Everything that `doctor` wants to know, with a try of the profiler."""
    report.at("the machine", "looking")
    return machine.look(try_traces=True, places=places, watch=1.0)


def plain(value: Any) -> Any:
    """The value as JSON has it. `torch.__version__` is a class of torch's, which the parent would have to import."""
    return json.loads(json.dumps(value))


def default_workload(device: str, compute_capability: str | None) -> Workload:
    """The article's on a GPU, in fp16 on one without native bfloat16; a small one on a CPU."""
    if not operands.is_gpu(device):
        return PRESETS["small"]
    if compute_capability is not None and float(compute_capability) < NATIVE_BFLOAT16:
        return PRESETS["article-fp16"]
    return ARTICLE


def work(report: Report, tasks: tuple[Task, ...], device: str, workload: Workload, rounds_plan: rounds.Plan,
         steps: TraceSteps = LONG_TRACE) -> None:
    """Does the tasks in order and hands over each `Answer` at once, under the task as key. steps: of the recorded traces.

    Raises:
        Spoiled: a task left the device unusable; its answer has been handed over.
    """
    rounds.limit_threads(rounds_plan.most_threads)
    own: dict[Task, dict[str, Any]] = {}
    left = list(tasks)
    with fresh_caches():
        while left:
            task = left.pop(0)
            report.at(task[1] or "the device", WORDS[task[0]])
            if task == OWN_CURES:
                left[:0] = trying.cures(own)
            answer = Answer() if task == OWN_CURES else _answer(report, task, device, workload, rounds_plan, steps)
            given = dict(vars(answer))  # `asdict` would copy a trace leaf by leaf
            if task[0] == "probe":
                own[task] = given
            report.result(task, given)
            if answer.status != "ok" or task[0] == "probe":
                _still_answers(device)


@contextmanager
def fresh_caches() -> Iterator[None]:
    """Has the compiler keep what it makes in a folder that goes: what was compiled for an earlier run would make the first call look cheap."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TORCHINDUCTOR_CACHE_DIR=folder, TRITON_CACHE_DIR=os.path.join(folder, "triton"))
        yield


def _still_answers(device: str) -> None:
    try:
        operands.synchronize(device)
    except RuntimeError as error:
        raise Spoiled(str(error).splitlines()[0]) from error


def _answer(report: Report, task: Task, device: str, workload: Workload, rounds_plan: rounds.Plan, steps: TraceSteps) -> Answer:
    name, variant = task
    began, value, said_before = time.perf_counter(), None, len(processes.said())
    with listening() as heard:
        if name == "compiled":
            prefetch_compiler()
            value = rounds.measure(report, rounds_plan)
            operands.release(device)
        elif name == "profiler":
            profiling.start(device)
        elif name == "probe" and variant:
            value = trying.answer(variant, device)
        elif name == "cure" and variant:
            value = trying.seconds(variant, device)
        elif variant is None:
            value = DEVICE_TASKS[name](device, workload)
        else:
            more: dict[str, dict[str, Any]] = {"trace": {"steps": steps}, "training": {"graphs": rounds_plan.no_graphs is None}}
            value = VARIANT_TASKS[name](variant_room.load((variant,))[0], device, workload, **more.get(name, {}))
    said = cupti.complaints(processes.said()[said_before:]) if name in PROFILED else ()
    return Answer(plain(value), heard.status, heard.reason, time.perf_counter() - began, said)


def prefetch_compiler() -> None:
    """Imports what `torch.compile` needs (seconds), and keeps it to one process.

    Its pool of helpers would still be importing torch while the compiled forward is timed.
    """
    try:
        for name in ("torch._dynamo", "torch._inductor.compile_fx"):
            importlib.import_module(name)
        setattr(importlib.import_module("torch._inductor.config"), "compile_threads", 1)  # noqa: B010 - a module has no declared attributes
    except Exception:  # noqa: BLE001 - compiling will fail as well, and say why
        return


def count(report: Report, variant_ids: tuple[str, ...], device: str, workload: Workload, mode: str, gate: Path) -> counters.Outcome:
    """Hardware counters, taken by a tool that runs the forwards itself once the file `gate` is there; this process stays off the GPU."""
    report.at("all variants", "hardware counters")
    return counters.measure(variant_ids, device, workload, mode=mode, gate=gate)
