"""One forward and backward of a variant: its time, its memory, its kernels, or torch's refusal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import Any

from ..run.workload import Workload
from ..trace.kineto import KINDS, queues_work
from . import gradients, memory, operands
from .refusal import listening

REPETITIONS = 7
BLOCK_SECONDS = 0.01
"""Work inside one timed block, so that the clock's and the queue's granularity do not show."""
LONGEST_BLOCK = 50
SLOW_STEP = 0.05
"""Seconds from which on a step is not repeated to be judged."""
RANGE = "attention_training"


def measure(variant: Any, device: str, workload: Workload, graphs: bool = True) -> dict[str, Any]:
    """The fields of `run.Training`; kernels is `None` here (see `count_kernels`).

    GPU time by replaying a CUDA graph of several forwards and backwards, or, where that cannot be
    captured, by events around as many eager ones, which is an upper bound where launching is the
    bottleneck. Wall time is eager, back to back. One value per repetition, seconds. `wrong` where a gradient is off:
    its times are recorded, and count for nothing.
    graphs: whether a CUDA graph may be tried.
    """
    with listening() as heard:
        step = _step(variant, device, workload)
        found = gradients.compared(variant, device, workload, dict(zip(gradients.GRADIENTS, step())))
        wrong = gradients.what_is_off(found)
        block = _block_length(device, step)
        gpu = _gpu_times(device, step, block, graphs) if operands.is_gpu(device) else None
        result = {
            "status": "wrong" if wrong else "ok",
            "reason": wrong,
            "gpu_time": gpu,
            "wall_time": [_wall(device, step, block) for _ in range(REPETITIONS)],
            "kernels": None,
            "peak_memory_bytes": memory.above(device, step) if operands.is_gpu(device) else None,
            "compared": found,
        }
    return result if heard.error is None else refused(heard.status, heard.reason)


def refused(status: str, reason: str | None) -> dict[str, Any]:
    """The fields of `run.Training` for a variant that did not train."""
    return {"status": status, "reason": reason, "gpu_time": None, "wall_time": None, "kernels": None, "peak_memory_bytes": None, "compared": []}


def _step(variant: Any, device: str, workload: Workload) -> Callable[[], Any]:
    """A call that runs one forward and backward and returns the three gradients.

    `autograd.grad` rather than `.backward()`: nothing is accumulated into `.grad`, so every call is
    the same work and a graph may hold many.
    """
    import torch

    q, k, v, mask = operands.make(device, workload, requires_grad=True)
    upstream = gradients.upstream(device, workload)

    def step() -> Any:
        with torch.enable_grad():
            return torch.autograd.grad(variant.forward(q, k, v, mask), (q, k, v), upstream)

    return step


def _wall(device: str, step: Callable[[], Any], block: int) -> float:
    start = time.perf_counter()
    for _ in range(block):
        step()
    operands.synchronize(device)
    return (time.perf_counter() - start) / block


def _block_length(device: str, step: Callable[[], Any]) -> int:
    once = _wall(device, step, 1)
    if once < SLOW_STEP:
        once = median([once, _wall(device, step, 1), _wall(device, step, 1)])
    return max(1, min(LONGEST_BLOCK, round(BLOCK_SECONDS / once)))


def _gpu_times(device: str, step: Callable[[], Any], block: int, graphs: bool) -> list[float]:
    try:
        if not graphs:
            raise RuntimeError("no CUDA graphs on this device")
        run = _captured(step, block)
    except RuntimeError:
        import torch

        torch.cuda.synchronize(device)

        def run() -> None:
            for _ in range(block):
                step()

    return [_between_events(run) / block for _ in range(REPETITIONS + 1)][1:]


def _captured(step: Callable[[], Any], block: int) -> Callable[[], None]:
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(block):
            step()
    return graph.replay


def _between_events(run: Callable[[], None]) -> float:
    import torch

    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def count_kernels(variant: Any, device: str, workload: Workload) -> int | None:
    """GPU kernels of one forward and backward; `None` on a CPU, or if the variant does not train.

    Runs the profiler, whose first start in a process costs seconds: call it from the process that
    records the traces, where the profiler is warm, and put the result into `Training.kernels`.
    Copies and memsets are not kernels.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function

    if not operands.is_gpu(device):
        return None
    with listening() as heard:
        step = _step(variant, device, workload)
        for _ in range(2):
            step()
        torch.cuda.synchronize(device)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for _ in range(3):
                with record_function(RANGE):
                    step()
                torch.cuda.synchronize(device)
    return None if heard.error else kernels_in_last_range(chrome_events(profiler), RANGE)


def chrome_events(profiler: Any) -> list[dict[str, Any]]:
    """The events of a finished `torch.profiler.profile`, as its Chrome trace has them."""
    import json
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        return json.loads(file.read_text(encoding="utf-8", errors="replace"))["traceEvents"]


def kernels_in_last_range(events: list[dict[str, Any]], name: str) -> int | None:
    """Kernels that were launched inside the last range called `name`, on any thread.

    Autograd launches backward kernels from a thread of its own, so time decides and not the thread.
    The last of several ranges, because the profiler may lose the first kernels of a session.
    `None` if there is no such range, no kernel in it, or a launch in it that left no record: the profiler lost some.
    """
    ranges = [event for event in events if event.get("name") == name and event.get("cat") == "user_annotation"]
    if not ranges:
        return None
    last = max(ranges, key=lambda event: event["ts"])
    begin, end = last["ts"], last["ts"] + last["dur"]
    launched = {
        event["args"]["correlation"]: str(event.get("name"))
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and begin <= event["ts"] <= end and "correlation" in event.get("args", {})
    }
    recorded = Counter(event["args"].get("correlation") for event in events if event.get("cat") in KINDS)
    if any(queues_work(call) and "Memset" not in call and number not in recorded for number, call in launched.items()):
        return None
    kernels = sum(event.get("cat") == "kernel" and event["args"].get("correlation") in launched for event in events)
    return kernels or None
