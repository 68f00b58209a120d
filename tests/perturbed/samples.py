"""Edits of run.json's samples: other times, other spreads, another number of processes. Times in microseconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from . import kineto
from .recorded import SIX, Traces

US = 1e-6
WIGGLE = (1.0, 1.0004, 0.9995, 1.0007, 0.9998, 0.9991, 1.0002)
"""Seven processes that lie within 0.2 %; the first is the median."""


def around(us: float, wiggle: Sequence[float] = WIGGLE) -> list[float]:
    """Seconds of seven processes around `us` microseconds, which is their median."""
    return [us * US * shift for shift in wiggle]


def of(run: dict[str, Any], variant: str) -> dict[str, list[float]]:
    return run["variants"][variant]["samples"]


def middle(run: dict[str, Any], variant: str, quantity: str = "gpu_time") -> float:
    """Seconds."""
    return median(of(run, variant)[quantity])


def on_gpu(run: dict[str, Any], traces: Traces, **microseconds: float) -> None:
    """Other GPU times, and everything that moves with them: cold and wall time, the trace, the chains.

    An eager loop takes as long as the GPU or, where that is longer, as the CPU needs to call.
    """
    for name, us in microseconds.items():
        found = of(run, name)
        factor = us * US / median(found["gpu_time"])
        found["gpu_time"] = [us * US] if len(found["gpu_time"]) == 1 else around(us)
        if "gpu_time_cold" in found:
            found["gpu_time_cold"] = [seconds * 1.0005 for seconds in found["gpu_time"]]
        found["wall_time"] = [max(seconds * 1.003, call * 1.01) for seconds, call in zip(found["gpu_time"], found["host_time"])]
        chains = run["probes"]["saving_accumulates"]
        if name in chains:
            chains[name] = {layers: [seconds * factor for seconds in values] for layers, values in chains[name].items()}
        if name in traces:
            kineto.stretch(traces[name], factor)


def each(run: dict[str, Any], quantities: Sequence[str], change: Callable[[str, list[float]], list[float]], names: Sequence[str] = SIX) -> None:
    """`change(variant, samples)` for these quantities of these variants."""
    for name in names:
        found = of(run, name)
        for quantity in quantities:
            if quantity in found:
                found[quantity] = change(name, found[quantity])


def host(run: dict[str, Any], **microseconds: float) -> None:
    """Other host times; a call that takes the CPU longer than the GPU sets the pace of an eager loop."""
    for name, us in microseconds.items():
        found = of(run, name)
        found["host_time"] = around(us)
        if "wall_time" in found and "gpu_time" in found:
            found["wall_time"] = [max(seconds * 1.003, us * US * 1.01) for seconds in found["gpu_time"]]


def processes(run: dict[str, Any], count: int) -> None:
    """As if `profile` had been told to start `count` timing processes."""
    def cut(values: list[Any]) -> list[Any]:
        return [values[place % len(values)] for place in range(count)]

    protocol = run["protocol"]
    for variant in run["variants"].values():
        if variant["named"]:
            variant["samples"] = {quantity: cut(values) for quantity, values in variant["samples"].items()}
    for name in ("naive", "naive_inplace"):
        chain = run["probes"]["saving_accumulates"][name]
        run["probes"]["saving_accumulates"][name] = {layers: cut(values) for layers, values in chain.items()}
    protocol["processes"] = count
    protocol["rounds_done"] = cut(protocol["rounds_done"])
    protocol["first_call_order"] = cut(protocol["first_call_order"])
    protocol["settled"] = dict.fromkeys(protocol["settled"], count)
    samples = run["clocks"]["samples"]
    run["clocks"]["samples"] = (samples * count)[: len(samples) * count // 7]
