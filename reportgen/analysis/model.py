"""What is true of one run: samples and traces brought together, each fact with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from variants import SIX

from ..hardware.kernel_names import KernelName
from ..hardware.occupancy import Difference, Occupancy
from ..numbers.statistics import Comparison, Estimate, compare
from ..run import Ceilings, Clocks, DeviceRecord, Host, LostPart, MaskedRow, Noticed, OwnShape, Probes, Protocol, Training
from ..run.workload import Workload
from ..trace import Integrity, TraceLoss
from .states import Lost, State
from .watch import Watch

FUSED = ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
BY_GPU_CLOCK = ("gpu_time", "gpu_time_cold", "wall_time")
"""What the GPU's clock has a part in."""


@dataclass(frozen=True)
class CounterFacts:
    """Hardware counters of one activity; bytes, percent, FLOP; `None` where the tool gave nothing.

    instructions: of warps, executed; issue_pct: of the issue slots, busy while an SM was
    tensor_pct, xu_pct, alu_pct: of the pipe's cycles (of XU and ALU: of the instructions that it could start)
    """

    dram_read_bytes: float | None = None
    dram_write_bytes: float | None = None
    l2_bytes: float | None = None
    theoretical_pct: float | None = None
    achieved_pct: float | None = None
    tensor_core_flop: float | None = None
    registers: int | None = None
    shared_memory: int | None = None
    duration: float | None = None
    instructions: float | None = None
    issue_pct: float | None = None
    tensor_pct: float | None = None
    xu_pct: float | None = None
    alu_pct: float | None = None


@dataclass(frozen=True)
class ActivityFacts:
    """One GPU activity of a typical forward.

    role: what it does in words (`matmul`, `scale`, `copy`, `mask`, `softmax`, `cast`, `fill`, …)
    duration: seconds, median over the recorded forwards
    requested_bytes, flop: modelled from the op and the workload's shape; `None` where not known
    occupancy_cause: what sets the profiler's field apart from the arithmetic, or `None`
    """

    kind: str
    name: str
    role: str
    op_path: tuple[str, ...]
    launch_api: str
    start: float
    duration: float
    launch_start: float
    decoded: KernelName | None = None
    bytes: int | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers: int | None = None
    shared_memory: int | None = None
    profiler_occupancy: float | None = None
    occupancy: Occupancy | None = None
    occupancy_cause: Difference | None = None
    requested_bytes: float | None = None
    flop: float | None = None
    counters: CounterFacts | None = None

    @property
    def op(self) -> str | None:
        return self.op_path[-1] if self.op_path else None

    @property
    def short(self) -> str:
        return self.decoded.short if self.decoded else self.name


@dataclass(frozen=True)
class OpFacts:
    """One CPU op of a typical forward; seconds from the forward's start, under the profiler."""

    name: str
    path: tuple[str, ...]
    start: float
    duration: float
    self_duration: float


@dataclass(frozen=True)
class VariantFacts:
    """Everything known of one variant. Times in seconds, sizes in bytes.

    kernels, memcpys, memsets: per forward, `None` without a GPU lane, and where the profiler lost records
    trace_loss: why nothing on the GPU can be counted although there is a trace, or `None`
    activities: of a typical forward, in launch order; empty where nothing can be counted
    ops: CPU ops of a forward in start order, the list that most recorded forwards dispatched
    transposes: how many of them are `aten::transpose`; other_ops: forwards that dispatched another list
    state: what became of it; lost: the parts of its evidence that could not be taken
    times: quantity (a name in `numbers.quantities`) → estimate over fresh processes; for
        `profiled_host_time` one value per recorded forward. First calls last until the call returns;
        `first_call` and `first_call_new_shape` are of all processes, so some of these calls loaded
        code that variants share and others found it loaded; `first_call_alone` is of the processes in
        which this variant ran before all others
    counters_reason: why this variant has no hardware counters although the run has some, or `None`
    """

    id: str
    title: str
    named: bool
    state: State
    reason: str | None = None
    lost: tuple[Lost, ...] = ()
    source: str = ""
    prediction: tuple[tuple[str, str], ...] = ()
    kernels: int | None = None
    memcpys: int | None = None
    memsets: int | None = None
    activities: tuple[ActivityFacts, ...] = ()
    ops: tuple[OpFacts, ...] = ()
    op_count: int | None = None
    transposes: int | None = None
    other_ops: int = 0
    trace_loss: TraceLoss | None = None
    integrity: Integrity | None = None
    times: Mapping[str, Estimate] = field(default_factory=dict)
    trace_gpu_time: float | None = None
    timer: str | None = None
    timer_note: str | None = None
    peak_memory_bytes: int | None = None
    relative_error: float | None = None
    allowed_error: float | None = None
    masked_row: MaskedRow | None = None
    own_mask: OwnShape | None = None
    training: Training | None = None
    trace_file: str | None = None
    counters_reason: str | None = None

    @property
    def ok(self) -> bool:
        """It ran and its result is right, so its numbers count."""
        return self.state.right

    def time(self, quantity: str) -> Estimate | None:
        """The quantity of that name, or `None` where it was not taken."""
        return self.times.get(quantity)

    @property
    def gpu_time(self) -> Estimate | None:
        return self.time("gpu_time")

    @property
    def gpu_time_cold(self) -> Estimate | None:
        return self.time("gpu_time_cold")

    @property
    def wall_time(self) -> Estimate | None:
        return self.time("wall_time")

    @property
    def host_time(self) -> Estimate | None:
        return self.time("host_time")

    @property
    def profiled_host_time(self) -> Estimate | None:
        return self.time("profiled_host_time")

    @property
    def first_call(self) -> Estimate | None:
        return self.time("first_call")

    @property
    def first_call_alone(self) -> Estimate | None:
        return self.time("first_call_alone")

    @property
    def first_call_new_shape(self) -> Estimate | None:
        return self.time("first_call_new_shape")

    @property
    def observed(self) -> int | None:
        """GPU activities per forward of any kind; `None` where one kind is not known."""
        if self.kernels is None or self.memcpys is None or self.memsets is None:
            return None
        return self.kernels + self.memcpys + self.memsets


class CaveatKind(Enum):
    """What a caveat warns of."""

    EDITED = "the record was changed after it was saved"
    NEIGHBOURS = "others used the GPU"
    GPU_BUSY = "the GPU was at work before the run began"
    BUSY_CPU = "others used the processors of a run on the CPU"
    BUSY_HOST = "others used the processors beside the GPU"
    WATCHED = "a tool watched the run"
    LAUNCHES_WAIT = "every launch waited for the GPU"
    THROTTLED = "the clocks were held back"
    CLOCKS_APART = "the clock differed between variants"
    RECORDS_LOST = "GPU records of a variant are lost"
    PART_LOST = "a part of the evidence could not be taken"
    FORWARDS_LOST = "GPU records of some forwards are lost"
    MEMSETS_LOST = "memsets left no record"
    ABOVE_WALL = "GPU time is above wall time"
    TIMER_NOTE = "GPU time was taken in another way"
    TIMERS_DISAGREE = "trace and timer disagree"
    BEYOND_CEILINGS = "a time is below what the ceilings allow"
    FORWARDS_DIFFER = "forwards ran different activities"
    OPS_DIFFER = "forwards dispatched different ops"
    UNCOUNTED = "counters of a variant are left out"
    OCCUPANCY_CONTRADICTED = "a tool contradicts the arithmetic"
    NOTICED = "what limited the run from its begin"


TRAVELLING = (CaveatKind.EDITED, CaveatKind.NEIGHBOURS, CaveatKind.GPU_BUSY, CaveatKind.BUSY_CPU, CaveatKind.WATCHED, CaveatKind.LAUNCHES_WAIT, CaveatKind.THROTTLED, CaveatKind.CLOCKS_APART, CaveatKind.ABOVE_WALL, CaveatKind.TIMER_NOTE, CaveatKind.TIMERS_DISAGREE,
              CaveatKind.BEYOND_CEILINGS)
"""Kinds that make times of the run suspect, whichever page shows them."""


@dataclass(frozen=True)
class Caveat:
    """What a reader must know before trusting the run. args: the values that its sentence names."""

    kind: CaveatKind
    args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def travels(self) -> bool:
        return self.kind in TRAVELLING


@dataclass(frozen=True)
class RunFacts:
    """Everything known of one run. `slot` names it, `recorded_on` is its time as recorded (ISO 8601, UTC); `floor` is the same-code floor of GPU time (relative).

    floors: where whole runs of the same code were compared: quantity → the largest shift of any variant,
        and `quantity a/b` (ids in alphabetical order) → the largest shift of the two variants' ratio
    watch: public reports of wrong results, tried here, and what torch picks (see `watch`)
    mask_step: op of the mask step's probe → its counters (see `mask_step`); those that were not counted are absent
    older: the run was recorded by an older version; only then may something be said to be recorded before it was measured
    counters_tool: what took the hardware counters, or `None` where there are none; `counters_reason` says why
    noticed, lost: see `run.Run`
    launches_wait, watched_by: what was in the run's processes beside it (see `disturbed`)
    """

    slot: str
    device: DeviceRecord
    software: Mapping[str, str | None]
    host: Host
    settings: Mapping[str, Any]
    workload: Workload
    label: str | None
    ceilings: Ceilings | None
    clocks: Clocks
    probes: Probes
    protocol: Protocol
    phases: Mapping[str, float]
    variants: Mapping[str, VariantFacts]
    has_gpu_lane: bool
    caveats: tuple[Caveat, ...] = ()
    counters_reason: str | None = None
    counters_tool: str | None = None
    watch: Watch = Watch()
    mask_step: Mapping[str, CounterFacts] = field(default_factory=dict)
    older: bool = False
    noticed: tuple[Noticed, ...] = ()
    lost: tuple[LostPart, ...] = ()
    launches_wait: tuple[str, ...] = ()
    watched_by: tuple[str, ...] | None = None
    floor: float = 0.0
    floors: Mapping[str, float] = field(default_factory=dict)
    recorded_on: str = ""
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def quick(self) -> bool:
        """Taken with `--quick`, which leaves things out; such a run is always labelled."""
        return (self.label or "").split("-")[-1] == "quick"

    @property
    def host_told(self) -> bool:
        """Host time is what a call costs: no launch waited for the GPU, and no tool watched."""
        return not self.launches_wait and self.watched_by is None

    def ok(self, *names: str) -> bool:
        """True if every named variant is there and ran."""
        return all(name in self.variants and self.variants[name].ok for name in names)

    def floor_of(self, quantity: str, first: str, second: str) -> float:
        """The margin below which two variants are called equal in `gpu_time`, `wall_time`, `host_time`, …

        How far their ratio moves between whole runs, since inside a run only ratios are compared: a
        slow processor slows all variants of a run, which the quantity's own floor has in it. The clocks of
        the GPU move only what the GPU is a part of.
        """
        pair = f"{quantity} {'/'.join(sorted((first, second)))}"
        return self.floors.get(pair, self.floors.get(quantity, self.floor if quantity in BY_GPU_CLOCK else 0.0))

    def compare(self, quantity: str, first: str, second: str) -> Comparison | None:
        """Which of two variants needs less of a quantity, beyond the floor of their pair.

        `None` where either was not taken, or they were not taken in the same processes.
        """
        one, other = (self.variants[name].time(quantity) if name in self.variants else None for name in (first, second))
        if one is None or other is None or len(one.samples) != len(other.samples):
            return None
        return compare(one, other, self.floor_of(quantity, first, second))

    @property
    def six(self) -> tuple[VariantFacts, ...]:
        """The article's six variants that this run has, in order; others are in no verdict."""
        return tuple(self.variants[name] for name in SIX if name in self.variants)
