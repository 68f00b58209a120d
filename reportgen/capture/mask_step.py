"""Why does the mask step cost what it costs? The same op with a mask that is broadcast, with one of full size, and a product.

All three work in place on one score matrix `[B, H, S, S]`, as the step of naive in place does, so their bytes differ by the mask alone.
They are timed like a forward's GPU time: one CUDA graph of many calls, replayed behind a sleep.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from ..run.workload import Workload
from ..trace.kineto import KINDS
from . import operands, timing, training
from .refusal import listening

OPS = ("broadcast", "full", "mul")
"""`masked_fill_` with the mask `[S, S]`; with the same mask written out as `[B, H, S, S]`; `mul_` by a number."""
TURNS = 3
NO_GPU = "there is no GPU"
CALLS = 3
FLAG_BYTES = 1

Step = Callable[[], Any]


def steps(device: str, workload: Workload) -> dict[str, Step]:
    """Name of `OPS` → the op. `mul` by −1, so that the scores stay as large as they are however often it runs."""
    import torch

    q, k, _, mask = operands.make(device, workload)
    scores = torch.matmul(q, k.transpose(-2, -1))
    full = mask.expand(scores.shape).contiguous()
    return {
        "broadcast": partial(scores.masked_fill_, mask, float("-inf")),
        "full": partial(scores.masked_fill_, full, float("-inf")),
        "mul": partial(scores.mul_, -1.0),
    }


def requested_bytes(workload: Workload) -> dict[str, int]:
    """Name of `OPS` → bytes: the scores read and written once, and the mask read once.

    >>> requested_bytes(Workload("tiny", 2, 3, 8, 4, "bfloat16"))
    {'broadcast': 1600, 'full': 1920, 'mul': 1536}
    """
    scores, square = 2 * workload.score_bytes, workload.sequence**2 * FLAG_BYTES
    return {"broadcast": scores + square, "full": scores + workload.batch * workload.heads * square, "mul": scores}


def measure(bench: Any, device: str, workload: Workload, late: Callable[[], bool] = lambda: False) -> dict[str, Any]:
    """`{"gpu_time": {op: seconds}, "timer", "note"}`, one process's medians, or `{"reason": why not}`.

    late: whether the process has used up its time; asked between repetitions.
    """
    import torch

    if not operands.is_gpu(device):
        return {"reason": NO_GPU}
    with listening() as heard, torch.no_grad():
        blocks, watch = {}, timing.HandedOver()
        for name, step in steps(device, workload).items():
            blocks[name] = bench.repeated(lambda turn, step=step: step(), watch)
        for block in blocks.values():
            block()  # the device is at its clocks, right after the forwards: one replay that counts for nothing is enough
        found: dict[str, list[float]] = {name: [] for name in blocks}
        for turn in range(TURNS):
            if turn and late():
                break
            for name, block in blocks.items():
                found[name].append(block())
    if heard.error is not None:
        return {"reason": (heard.reason or "unknown").rstrip(".")}
    return {"gpu_time": {name: median(values) for name, values in found.items()}, "timer": "cuda-graph", "note": watch.note()}


def kernels(device: str, workload: Workload) -> dict[str, Any]:
    """Name of `OPS` → `{"kernel", "grid", "block", "registers"}` of what it launches; call it where the profiler is warm.

    An op of which the profiler saw no kernel, or different ones, is absent.
    """
    import torch

    if not operands.is_gpu(device):
        return {}
    with torch.no_grad():
        ready = steps(device, workload)
        return {name: found for name, step in ready.items() if (found := _launched(device, step))}


def _launched(device: str, step: Step) -> dict[str, Any] | None:
    from torch.profiler import ProfilerActivity, profile

    step()
    operands.synchronize(device)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        for _ in range(CALLS):
            step()
            operands.synchronize(device)
    return launched(training.chrome_events(profiler))


def launched(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The one kernel among a Chrome trace's events as `run.MaskOp` has it; `None` where there is none, or more than one name."""
    seen = [event for event in events if KINDS.get(event.get("cat", "")) == "kernel" and event.get("args")]
    if len({event["name"] for event in seen}) != 1:
        return None
    arguments: Mapping[str, Any] = seen[-1]["args"]
    return {"kernel": seen[-1]["name"], "grid": arguments.get("grid"), "block": arguments.get("block"), "registers": arguments.get("registers per thread")}


def assembled(processes: Sequence[dict[str, Any] | None], launches: Mapping[str, Any], workload: Workload) -> dict[str, Any]:
    """The fields of `run.MaskStep`. processes: what `measure` gave in each, or `None` where it was not asked for; launches: what `kernels` gave."""
    taken = [one or {"reason": "not asked for in this run"} for one in processes] or [{"reason": "not asked for in this run"}]
    reason = next((one["reason"] for one in taken if "reason" in one), None)
    if reason:
        return {"reason": reason}
    bytes_of = requested_bytes(workload)
    return {
        "ops": {name: {"requested_bytes": bytes_of[name], "gpu_time": [one["gpu_time"][name] for one in taken], **launches.get(name, {})} for name in OPS},
        "timer": taken[0]["timer"],
        "note": next((one["note"] for one in taken if one["note"]), None),
    }
