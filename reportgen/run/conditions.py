"""How and under which conditions a run was taken: its host, its protocol, the GPU's clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .ranges import Celsius, Few, Megahertz, Number, Seconds, Watts
from .workload import Workload


@dataclass(frozen=True)
class Host:
    """The machine around the device."""

    cpu: str | None = None
    logical_cpus: Few | None = None


@dataclass(frozen=True)
class Protocol:
    """How the numbers were taken; `None` where it does not apply or was not recorded.

    processes, rounds: fresh timing processes, and how often each measured every quantity at most
    rounds_done: rounds of each process
    timer: the ways in which GPU time was taken, each once
    forwards_per_graph, forwards_per_wall_block, calls_per_host_block, settled: variant → how many
    input_sets: sets of operands that cold inputs rotate through
    first_call_order: per process, the variants in the order of their first calls
    settle_seconds: longest warm-up of one variant
    new_shape: the workload of `first_call_new_shape`
    trace_steps: what the profiler was told to skip and to record, in forwards
    threads: torch's CPU threads; pinned: the launching thread stayed on one processor
    """

    processes: Few | None = None
    start_method: str | None = None
    seed: Number | None = None
    rounds: Few | None = None
    rounds_done: tuple[Few, ...] | None = None
    timer: tuple[str, ...] | None = None
    forwards_per_graph: Mapping[str, Few] | None = None
    forwards_per_wall_block: Mapping[str, Few] | None = None
    calls_per_host_block: Mapping[str, Few] | None = None
    input_sets: Few | None = None
    warmed_first: tuple[str, ...] | None = None
    first_call_order: tuple[tuple[str, ...], ...] | None = None
    settle_seconds: Seconds | None = None
    settled: Mapping[str, Few] | None = None
    new_shape: Workload | None = None
    trace_steps: Mapping[str, Few] | None = None
    threads: Few | None = None
    pinned: bool | None = None


@dataclass(frozen=True)
class ClockSample:
    """What NVML said right after a block of `variant`; MHz, W, °C; throttle: what held the clocks back, in words."""

    variant: str | None = None
    sm_mhz: Megahertz | None = None
    memory_mhz: Megahertz | None = None
    power_watts: Watts | None = None
    temperature_c: Celsius | None = None
    throttle: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Clocks:
    """available: NVML answered; reason: why it did not
    other_processes: compute processes on the GPU beside the run's own, `None` where nobody tells
    """

    available: bool = False
    reason: str | None = None
    samples: tuple[ClockSample, ...] = field(default=())
    other_processes: Few | None = None


def recorded(part: Host | Protocol) -> dict[str, Any]:
    """What a run recorded of this part: name → value, in the order of the fields."""
    return {each.name: value for each in fields(part) if (value := getattr(part, each.name)) is not None}
