"""The map, in a process of its own: point by point, every backend that takes the call, right ones timed in shuffled rounds."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from variants.backends import BACKENDS

from ..shapes import Call
from . import map_inputs, operands, picking
from .map_clock import CpuClock, GpuClock, calls
from .processes import Report
from .refusal import listening, on_a_cpu
from .trying import pinned

ROUNDS = 5
OUT_OF_THE_RUNNING = 6.0
"""A backend that takes so many times the fastest one's time is timed once: it cannot win."""
SLOW = 0.002
"""Seconds below which every backend gets all its rounds."""
MANY_KERNELS = ("math",)


@dataclass(frozen=True)
class Plan:
    """calls: in order; until: `time.monotonic()` at which no further point is begun; skip: (call id, backend) that ended a process before, with the reason"""

    device: str
    calls: tuple[Call, ...]
    until: float
    skip: tuple[tuple[str, str, str], ...] = ()
    rounds: int = ROUNDS


def measure(report: Report, plan: Plan) -> bool:
    """Hands over each point as it is done; true where all were."""
    operands.start(plan.device)
    clock = GpuClock(plan.device) if operands.is_gpu(plan.device) else CpuClock()
    for call in plan.calls:
        if time.monotonic() >= plan.until:
            return False
        dead = {backend: reason for name, backend, reason in plan.skip if name == call.id}
        report.result(call.id, point(report, call, plan, clock, dead))
    return True


@dataclass(frozen=True)
class Way:
    """How a backend computes a call.

    around: entered once before it is run many times, as a pin; run: gives the output, and the gradients where they are wanted
    check: what is held beside FP64 in its place, where `run` draws random numbers
    """

    around: Callable[[], AbstractContextManager[Any]]
    run: Callable[[], tuple[Any, ...]]
    check: Callable[[], tuple[Any, ...]] | None = None


def pins(tensors: map_inputs.Tensors) -> dict[str, Way]:
    """SDPA with each backend pinned."""
    return {name: Way(partial(pinned, name), tensors.run, tensors.check) for name in BACKENDS}


def point(report: Report, call: Call, plan: Plan, clock: Any, dead: dict[str, str]) -> dict[str, Any]:
    """The fields of `shapes.record.Point`."""
    return {"call": asdict(call), **readings(report, call.id, call, partial(map_inputs.make, call, plan.device), plan, clock, dead)}


def readings(report: Report, name: str, call: Call, make: Callable[[], map_inputs.Tensors], plan: Plan, clock: Any, dead: Mapping[str, str],
             ways: Callable[[map_inputs.Tensors], dict[str, Way]] = pins) -> dict[str, Any]:
    """The fields of `shapes.record.Point` but for the call. name: the subject of reports; ways: name → how it is computed; dead: what is not tried, and why."""
    began = time.perf_counter()
    report.at(name, "making the inputs")
    with listening() as heard:
        tensors = make()
        right = map_inputs.Right(tensors)
    if heard.error is not None:
        operands.release(plan.device)
        return {"picked": None, "readings": _nothing_fits(heard), "seconds": time.perf_counter() - began, "checked": [0, call.batch * call.kv_heads]}
    found: list[dict[str, Any]] = []
    runs, known = {}, ways(tensors)
    for backend, way in known.items():
        report.at(name, backend)
        found.append({"backend": backend, "state": "failed", "reason": dead[backend]} if backend in dead else _first(backend, way, right, clock, plan.device))
        if found[-1]["state"] == "ok":
            runs[backend] = found[-1]
    picked = picked_backend(tensors)
    report.at(name, "timing")
    _rounds(runs, known, random.Random(name), clock, plan)
    for reading in found:
        reading.pop("estimate", None)
    done = {"picked": picked, "readings": found, "seconds": time.perf_counter() - began, "checked": [len(right.groups), call.batch * call.kv_heads]}
    del tensors, right, known
    if call.score_elements > 2**28:
        operands.release(plan.device)
    return done


def _nothing_fits(heard: Any) -> list[dict[str, Any]]:
    reason = "the inputs and their exact result do not fit the device's memory" if heard.out_of_memory else heard.reason
    return [{"backend": name, "state": "no memory" if heard.out_of_memory else "failed", "reason": reason} for name in BACKENDS]


def picked_backend(tensors: map_inputs.Tensors) -> str | None:
    """What torch takes with nothing pinned; the call ends at the op. `None` where it takes none."""
    with listening(), picking.listener(stop=True) as seen:
        tensors.run()
    found = picking.backend(seen.ops)
    return found[0] if found else None


def _first(name: str, way: Way, right: map_inputs.Right, clock: Any, device: str) -> dict[str, Any]:
    """The first call with a backend, whether it is right, its memory and a first guess of its time."""
    import torch

    reading: dict[str, Any] = {"backend": name, "state": "ok"}
    values: Any = ()
    with listening() as heard:
        with way.around():
            began = time.perf_counter()
            values = way.run()
            clock.wait()
            reading["first"] = time.perf_counter() - began
            judged = right.judged(way.check() if way.check else values)
            values = ()
            if operands.is_gpu(device):
                torch.cuda.reset_peak_memory_stats(device)
                before = torch.cuda.memory_allocated(device)  # afterwards: what the former call held may still be given back
            reading["estimate"] = clock.once(way.run)
            if operands.is_gpu(device):
                reading["peak_bytes"] = max(0, torch.cuda.max_memory_allocated(device) - before)
    if heard.error is not None:
        reason = heard.reason if operands.is_gpu(device) else on_a_cpu(name, heard.reason)
        state = "no memory" if heard.out_of_memory else "refused" if heard.declined else "failed"
        if heard.out_of_memory:
            operands.release(device)
        return {"backend": name, "state": state, "reason": reason}
    reading.update({key: judged[key] for key in ("tensor", "error", "allowed")})
    if not judged["right"]:
        reading["state"] = "wrong"
        reading.pop("estimate")
    return reading


def _rounds(runs: dict[str, dict[str, Any]], ways: Mapping[str, Way], drawn: random.Random, clock: Any, plan: Plan) -> None:
    """Times the right backends in rounds, each in another order; those far behind once, at the end."""
    if not runs:
        return
    least = min(reading["estimate"] for reading in runs.values())
    behind = {name for name, reading in runs.items() if reading["estimate"] > max(SLOW, OUT_OF_THE_RUNNING * least)}
    order = [name for name in runs if name not in behind]
    host, counts = {}, {}
    for name in order:
        with ways[name].around():
            run = ways[name].run
            host[name] = clock.host(run, 3)
            alone = clock.device(run, 1, host[name])
            counts[name] = calls(alone or runs[name]["estimate"], name in MANY_KERNELS)
            clock.device(run, counts[name], host[name])  # settles clocks and caches
    for reading in runs.values():
        reading["gpu"], reading["host"] = [], []
    for _ in range(plan.rounds):
        drawn.shuffle(order)
        for name in order:
            _round(runs[name], ways[name], clock, counts[name], host[name])
    for name in sorted(behind):
        _round(runs[name], ways[name], clock, 1, 0.0)
    for reading in runs.values():
        if not reading["gpu"]:
            reading["reason"] = "its calls could not be queued in time, so its GPU time is not known"


def _round(reading: dict[str, Any], way: Way, clock: Any, count: int, host: float | None) -> None:
    with way.around():
        of_host = clock.host(way.run, min(count, 10)) if count > 1 or host else None
        seconds = clock.device(way.run, count, max(host or 0.0, of_host or 0.0, 0.002 if count == 1 else 0.0))
    if seconds is not None:
        reading["gpu"].append(seconds)
    if of_host is not None:
        reading["host"].append(of_host)
