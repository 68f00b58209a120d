"""What a ledger says around its call sites: the devices, the whole, the rest, waiting, and whether the trace can be trusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..hardware.occupancy import Cause as ZeroCause


@dataclass(frozen=True)
class GpuTime:
    """The sum of the durations of GPU activities, and how many they are."""

    seconds: float = 0.0
    activities: int = 0

    def __add__(self, other: GpuTime) -> GpuTime:
        return GpuTime(self.seconds + other.seconds, self.activities + other.activities)


@dataclass(frozen=True)
class Device:
    """A GPU that the trace names or uses. name, capability: `None` where the trace does not tell, as on ROCm."""

    number: int
    name: str | None
    capability: tuple[int, int] | None
    time: GpuTime


@dataclass(frozen=True)
class Recorded:
    """What the profiler was asked to record, as far as the file holds it."""

    gpu: bool
    ops: bool
    shapes: bool
    strides: bool
    values: bool
    stacks: bool
    modules: bool


@dataclass(frozen=True)
class Totals:
    """The whole trace.

    gpu: the sum over all activities; busy: seconds in which at least one device worked, each device by itself
    span: seconds from the first event to the end of the last
    """

    gpu: GpuTime
    busy: float
    span: float
    kinds: Mapping[str, GpuTime]


@dataclass(frozen=True)
class Rest:
    """GPU time that is no attention. unnamed: that of kernels whose names nobody knows."""

    time: GpuTime
    unnamed: GpuTime
    largest_unnamed: str | None = None


@dataclass(frozen=True)
class Stretch:
    """A time in which a stream waits for the host that still launches.

    start: seconds since the first event; seconds: how long; idle: how much of it the stream had nothing to do
    attention: how many of its activities belong to attention
    """

    device: int
    stream: int
    start: float
    seconds: float
    idle: float
    activities: int
    attention: int


@dataclass(frozen=True)
class FalseZero:
    """Kernels of one name for which the profiler writes an occupancy of 0, for one cause.

    occupancy: the theoretical one in percent, the lowest and the highest
    shared_memory: bytes per block, the most
    """

    kernel: str
    cause: ZeroCause
    activities: int
    seconds: float
    occupancy: tuple[float, float]
    shared_memory: int


@dataclass(frozen=True)
class Integrity:
    """What a reader must know before trusting a number.

    unlinked: activities whose launch the trace does not hold, by kind
    apis: host call → activities that it queued; graph_launches: calls that queue a graph, graph_activities: what they queued
    unrecorded: launches without a GPU record, by host call
    duplicates: records that stand twice in the file, counted once; ambiguous: launches that share a number
    odd: records without a usable time, set aside; early: activities that begin before their launch does; overlapping: that begin before the one before them on their stream ends
    cut: how the file ends early, or `None`; damaged: places at which no event could be read
    unpaired: backward passes whose forward the trace does not hold
    """

    unlinked: Mapping[str, int]
    unlinked_seconds: float
    apis: Mapping[str, int]
    graph_launches: int
    graph_activities: int
    unrecorded: Mapping[str, int]
    duplicates: int = 0
    ambiguous: int = 0
    odd: int = 0
    early: int = 0
    overlapping: int = 0
    cut: str | None = None
    damaged: int = 0
    unpaired: int = 0
