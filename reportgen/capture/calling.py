"""The calls that people write, with nothing pinned, in a process of its own: what runs, whether it is right, and what it takes."""

from __future__ import annotations

import ctypes
import hashlib
from dataclasses import dataclass
from statistics import median
from typing import Any

from ..shapes.asked import Asked
from ..trace.kineto import KINDS
from . import asking, gpu_bench, limits, map_inputs, neighbours, operands, picking, rounds, timing, training
from .processes import Report
from .refusal import listening
from .sampler import Sampler
from .undisturbed import undisturbed

ROUNDS = 4
SETTLE_SECONDS = 0.03
"""Longest warm-up of one call; the call before it has brought the clocks up."""
RESERVE = 2**31
PROFILED = 3
"""Calls under the profiler, which may lose the first; the last two must agree."""
NO_WORK = ("aten::detach", "aten::alias")
"""Ops that autograd's bookkeeping dispatches, more or fewer of them by the torch."""
LARGE = 2**26
"""Scores from which on memory is given back after a call."""


@dataclass(frozen=True)
class Plan:
    """asked: in the order in which they are called"""

    device: str
    asked: tuple[Asked, ...]
    rounds: int = ROUNDS


def measure(report: Report, plan: Plan) -> dict[str, Any]:
    """One timing process. Hands over, under each call's id, quantity → seconds, the median of this process; or `{"untimed": reason}`.

    Returns the fields of `shapes.upgrade.Process` but for the side.
    """
    import torch

    _begin(plan.device)
    clocks: list[dict[str, Any]] = []
    with Sampler(plan.device) as sampler:
        bench = gpu_bench.bench(plan.device)
        bench.warm_up(torch.bfloat16, RESERVE)
        processors = neighbours.Processors()
        with undisturbed(plan.device):
            for asked in plan.asked:
                report.at(asked.id, "timing")
                found: dict[str, Any] = {}
                with listening() as heard:
                    found = _times(asked, plan, bench)
                if heard.error is not None:
                    found = {"untimed": heard.reason or "unknown"}
                    bench.synchronize()  # raises where the device does not answer any more, which ends this process
                report.result(asked.id, found)
                if sampler.available:
                    clocks.append(sampler.sample())
                _give_back(asked, plan.device)
        inside = neighbours.inside(sampler, processors)
    speeds = [one["sm_mhz"] for one in clocks if one["sm_mhz"]]
    return {"sm_mhz": median(speeds) if speeds else None, "throttle": sorted({word for one in clocks for word in one["throttle"] or ()}),
            "neighbours": inside["processes"], "others_cpu_share": inside["others_cpu_share"]}


def _begin(device: str) -> None:
    rounds.limit_threads(None if operands.is_gpu(device) else max(1, limits.available_processors() - 1))
    operands.start(device)


def _give_back(asked: Asked, device: str) -> None:
    if asked.call.score_elements > LARGE:
        operands.release(device)


def _times(asked: Asked, plan: Plan, bench: Any) -> dict[str, float]:
    """Quantity → seconds: GPU, wall and host time on a GPU, wall time on a CPU."""
    tensors = asking.make(asked, plan.device)
    prepared = bench.prepare(lambda turn: tensors.run(), None, not operands.is_gpu(plan.device))
    timing.settle(prepared.warm, SETTLE_SECONDS)
    values: dict[str, list[float]] = {quantity: [] for quantity in prepared.blocks}
    for _ in range(plan.rounds):
        for quantity, block in prepared.blocks.items():
            values[quantity].append(block())
    return {quantity: median(found) for quantity, found in values.items()}


def show(report: Report, plan: Plan) -> bool:
    """Hands over, under each call's id, the fields of `shapes.upgrade.Seen` but for the times."""
    _begin(plan.device)
    for asked in plan.asked:
        report.at(asked.id, "what runs, and whether it is right")
        report.result(asked.id, _seen(asked, plan.device))
        _give_back(asked, plan.device)
    return True


def _seen(asked: Asked, device: str) -> dict[str, Any]:
    found: dict[str, Any] = {"state": "ok"}
    with listening() as heard:
        tensors = asking.make(asked, device)
        found["inputs"] = digest(tensors.q, tensors.k[:1], tensors.v[:1])
        with picking.listener() as listened:
            tensors.run()
        found["ops"], picked = [op for op in listened.ops if op not in NO_WORK], picking.backend(listened.ops)
        found["picked"] = picked[0] if picked else None
        checked = tensors.check or tensors.run  # dropout draws other keys in another torch
        values = checked()
        found["output"] = _steady(values, checked())
        judged = map_inputs.Right(tensors).judged(values)
        found.update({name: judged[name] for name in ("error", "allowed", "tensor")}, state="ok" if judged["right"] else "wrong")
        found["kernels"] = _kernels(tensors, device)
    if heard.error is None:
        return found
    state = "no memory" if heard.out_of_memory else "refused" if heard.declined else "failed"
    operands.synchronize(device)
    return {"state": state, "reason": heard.reason, "inputs": found.get("inputs")}


def digest(*tensors: Any) -> str:
    """Of the bits, 16 hexadecimal digits."""
    found = hashlib.sha256()
    for tensor in tensors:
        here = tensor.detach().contiguous().cpu()
        found.update(ctypes.string_at(here.data_ptr(), here.numel() * here.element_size()))
    return found.hexdigest()[:16]


def _steady(first: Any, second: Any) -> str | None:
    """The digest of the output, where a second call gives the same bits."""
    one = digest(first[0])
    return one if one == digest(second[0]) else None


def _kernels(tensors: Any, device: str) -> list[str] | None:
    import torch
    from torch.profiler import ProfilerActivity, profile

    if not operands.is_gpu(device):
        return None
    torch.cuda.synchronize(device)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(PROFILED):
            tensors.run()
            torch.cuda.synchronize(device)
    return last_call(training.chrome_events(profiler))


def last_call(events: list[dict[str, Any]]) -> list[str] | None:
    """The kernels of the last of `PROFILED` calls; `None` where the last two differ, or their number says that some are lost."""
    kernels = [event for event in events if KINDS.get(event.get("cat", "")) == "kernel"]
    names = [str(event["name"]) for event in sorted(kernels, key=lambda event: float(event["ts"]))]
    each, left = divmod(len(names), PROFILED)
    if left or not each or names[-each:] != names[-2 * each:-each]:
        return None
    return names[-each:]
