"""What a trace is made of, once Kineto's keys are behind us. Times in seconds, sizes in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

FORWARD = "attention_forward"
"""Name of the `record_function` range around each recorded forward."""

ActivityKind = Literal["kernel", "memcpy", "memset"]


@dataclass(frozen=True)
class Op:
    """A dispatched op on the CPU.

    start, duration: seconds; start counts from the forward's own start
    path: names from the outermost op down to this one
    """

    name: str
    path: tuple[str, ...]
    start: float
    duration: float
    self_duration: float


@dataclass(frozen=True)
class Launch:
    """The host call that queued an activity (`cudaLaunchKernel`, `cuLaunchKernelEx`, `cudaMemcpyAsync`, …)."""

    api: str
    correlation: int
    start: float
    duration: float

    @property
    def sets_memory(self) -> bool:
        return "Memset" in self.api


@dataclass(frozen=True)
class Activity:
    """One kernel, memcpy or memset on the GPU.

    start, duration: seconds; start counts from the forward's start on the CPU's clock
    op_path: ops around the launch, outermost first (without annotations); empty if none
    grid, block: threads layout; registers: per thread; shared_memory: bytes, static + dynamic
    bytes: moved by a memcpy or set by a memset
    profiler_occupancy: the profiler's own field in percent, as written
    """

    kind: ActivityKind
    name: str
    start: float
    duration: float
    stream: int
    launch: Launch
    op_path: tuple[str, ...]
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    registers: int | None = None
    shared_memory: int | None = None
    bytes: int | None = None
    profiler_occupancy: float | None = None

    @property
    def op(self) -> str | None:
        return self.op_path[-1] if self.op_path else None

    @property
    def launch_api(self) -> str:
        return self.launch.api


@dataclass(frozen=True)
class Forward:
    """One annotated forward; activities in launch order.

    index: the forward's place in the file, counted from 0 and including those set aside
    duration: seconds that the call took on the CPU, under the profiler
    unrecorded: the launches that left no GPU record
    orphans: GPU records between its launches, by number, that belong to no launch of a forward
    """

    index: int
    duration: float
    ops: tuple[Op, ...]
    launches: tuple[Launch, ...]
    activities: tuple[Activity, ...]
    unrecorded: tuple[Launch, ...] = ()
    orphans: int = 0


class Loss(Enum):
    """Why no forward of a trace can be counted."""

    NO_LANE = "the profiler kept no GPU record at all"
    RECORDS = "launches left no GPU record"
    CALLS = "GPU records have no launch"
    UNEQUAL = "what is whole has fewer launches than other forwards"


@dataclass(frozen=True)
class TraceLoss:
    """No forward of a trace is whole, so nothing on the GPU can be counted.

    forwards: forwards that were looked at, the first one not among them
    launches: launches inside them, of which `recorded` left a GPU record
    """

    cause: Loss
    forwards: int
    launches: int
    recorded: int


@dataclass(frozen=True)
class Integrity:
    """What a reader must know before trusting a count.

    unattributed: GPU activities whose launch lies in no recorded forward, by kind (leaked from
        warm-up, or launched outside); they are counted nowhere else
    launches_without_activity: launches inside forwards that left no GPU record
    dropped_forwards: forwards at the start that were set aside (the first active step)
    lost: `Forward.index` of those that are set aside because the profiler lost records of them
    differing: `Forward.index` of those whose activity list differs from the first whole one
    launch_apis: host call → activities it queued, over all kept forwards
    incomplete: records left out because the profiler gave them no end or no time
    """

    unattributed: Mapping[str, int]
    launches_without_activity: int
    dropped_forwards: int
    differing: tuple[int, ...]
    launch_apis: Mapping[str, int]
    incomplete: int = 0
    lost: tuple[int, ...] = ()


@dataclass(frozen=True)
class Trace:
    """A whole trace file.

    device: the profiler's `deviceProperties` entry of the GPU, or `None`
    forwards: all but the first; their CPU side is complete
    whole: those of them whose GPU side is complete too; only these may be counted
    memsets_known: false where the whole forwards' memset calls left no record
    loss: why no forward is whole, or `None`
    """

    file: str
    device: Mapping[str, object] | None
    has_gpu_lane: bool
    forwards: tuple[Forward, ...]
    integrity: Integrity
    whole: tuple[Forward, ...] = ()
    memsets_known: bool = True
    loss: TraceLoss | None = None
