"""How and under which conditions a run was taken: its host, its protocol, the GPU's clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from .ranges import Amount, Celsius, Count, Few, Megahertz, Number, Seconds, Share, Watts
from .workload import Workload


@dataclass(frozen=True)
class Host:
    """The machine around the device."""

    cpu: str | None = None
    logical_cpus: Few | None = None


@dataclass(frozen=True)
class Shortened:
    """A capture that was cut short, because the whole protocol would have taken too long.

    full_seconds: what it would have taken, as far as the first process could tell
    processes_asked: timing processes that were meant to be; left_out: what else was not done
    """

    full_seconds: Seconds
    processes_asked: Few | None = None
    left_out: tuple[str, ...] = ()


PARTS = {"ceilings": "copy and matmul ceilings", "probes": "probes", "memory": "peak memory", "masked_row": "a fully masked row",
         "training_kernels": "kernels of forward and backward", "records": "GPU records"}
"""What can be lost, and has no other place for the reason: word for programs → words for a person."""


@dataclass(frozen=True)
class LostPart:
    """A part of the evidence that could not be taken. what: a key of `PARTS`; variant: whose it was; reason: without a full stop."""

    what: str
    reason: str
    variant: str | None = None

    @property
    def words(self) -> str:
        return PARTS.get(self.what, self.what)


@dataclass(frozen=True)
class Protocol:
    """How the numbers were taken; `None` where it does not apply or was not recorded.

    processes, rounds: fresh timing processes, and how often each measured every quantity at most
    rounds_done: the most rounds that any quantity took in each process
    timer: the ways in which GPU time was taken, each once
    forwards_per_graph, forwards_per_wall_block, calls_per_host_block, settled: variant → how many
    input_sets: sets of operands that cold inputs rotate through
    first_call_order: per process, the variants in the order of their first calls
    settle_seconds: longest warm-up of one variant
    new_shape: the workload of `first_call_new_shape`
    trace_steps: what the profiler was told to skip and to record, in forwards
    traces_retaken: variant → what its first trace lacked; the one that was kept is the better of two
    threads: torch's CPU threads; pinned: the launching thread stayed on one processor
    shortened: how the capture was cut short, or `None`
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
    traces_retaken: Mapping[str, str] | None = None
    threads: Few | None = None
    pinned: bool | None = None
    shortened: Shortened | None = None


@dataclass(frozen=True)
class ClockSample:
    """What NVML said right after a block of `variant`; MHz, W, °C; `None` is unknown, also of the throttling.

    power_limit_watts: the limit enforced at that moment
    throttle: what held the clocks back, in words; empty where nothing did
    """

    variant: str | None = None
    sm_mhz: Megahertz | None = None
    memory_mhz: Megahertz | None = None
    power_watts: Watts | None = None
    temperature_c: Celsius | None = None
    throttle: tuple[str, ...] | None = None
    power_limit_watts: Watts | None = None


@dataclass(frozen=True)
class Look:
    """Who else was at work; `None` where nobody tells.

    when: `begin`, `process 3` (while it ran and right after it), `end`
    processes, graphics_processes: processes of others with a compute or a graphics context on the GPU
    gpu_busy_percent: share of the last second in which the GPU was computing, though nobody of the run was
    gpu_memory_used_bytes: memory in use, while nobody of the run held any
    load: processes that wanted to run in the last minute, on average
    others_cpu_share: share of all processors that other processes took while this one ran
    """

    when: str
    processes: Few | None = None
    graphics_processes: Few | None = None
    gpu_busy_percent: Amount | None = None
    gpu_memory_used_bytes: Count | None = None
    load: Amount | None = None
    others_cpu_share: Share | None = None


@dataclass(frozen=True)
class Clocks:
    """available: NVML answered; reason: why it did not
    other_processes: the most compute processes on the GPU beside the run's own in any look, `None` where nobody tells
    looks: who else was at work, from the run's begin to its end; empty where it was not recorded
    """

    available: bool = False
    reason: str | None = None
    samples: tuple[ClockSample, ...] = field(default=())
    other_processes: Few | None = None
    looks: tuple[Look, ...] = field(default=())


@dataclass(frozen=True)
class Noticed:
    """What kept a run from being whole before it began. cause: a word for programs (see `capture.causes`); said: the sentence for a person."""

    cause: str
    said: str = ""


def recorded(part: Host | Protocol) -> dict[str, Any]:
    """What a run recorded of this part: name → value, in the order of the fields."""
    return {each.name: value for each in fields(part) if (value := getattr(part, each.name)) is not None}
