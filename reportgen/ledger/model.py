"""What a ledger is made of. Times in seconds of the GPU, sizes in bytes, shares from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ..hardware.attention_ops import Backend, Direction, Kind

__all__ = ["Advice", "Arguments", "Backend", "Call", "CallSite", "Cause", "Cure", "Device", "Direction", "Drag", "DragKind", "FalseZero", "GpuTime", "Integrity",
           "KernelTime", "Kind", "Ledger", "Modelled", "Place", "Reason", "Recorded", "Rest", "Shape", "Stretch", "Tensor", "Totals", "Where"]


class Place(NamedTuple):
    """An event of the host: the thread's place in `WholeTrace.threads`, the event's place in its lane."""

    thread: int
    event: int


@dataclass(frozen=True)
class Tensor:
    """An argument that is a tensor, as recorded. strides: in elements; `None` where the profiler did not record them."""

    dims: tuple[int, ...]
    type: str
    strides: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Arguments:
    """What a call was given, as far as recorded: a value that was not recorded is `None`.

    mask: `None` also where no mask was given; `mask_known` tells the two apart
    gqa: `enable_gqa`, which repeats K and V
    quoted: name of the argument → what the trace holds, word by word
    """

    query: Tensor | None = None
    key: Tensor | None = None
    value: Tensor | None = None
    mask: Tensor | None = None
    mask_known: bool = False
    dropout: float | None = None
    causal: bool | None = None
    scale: float | None = None
    gqa: bool | None = None
    quoted: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GpuTime:
    """The sum of the durations of GPU activities, and how many they are."""

    seconds: float = 0.0
    activities: int = 0

    def __add__(self, other: GpuTime) -> GpuTime:
        return GpuTime(self.seconds + other.seconds, self.activities + other.activities)


@dataclass(frozen=True)
class KernelTime:
    """A kernel of a call or a site by name. family: what the name says, or `None` where nobody knows it."""

    name: str
    family: str | None
    direction: Direction
    time: GpuTime


@dataclass(frozen=True)
class Call:
    """One time that attention was computed.

    place: the op that is the call, its first op where it is written by hand, the launch where only a kernel's name tells of it; `None` where a kernel has no launch
    parts: the ops of a call that is written by hand, in order
    start: seconds since the first event of the trace, on the host's clock
    forward, backward: of the activities queued under it, and of those that autograd queued for it
    activities: their places in `WholeTrace.activities`, those of the backward pass after the others
    alone: a backward pass whose forward the trace does not hold
    """

    kind: Kind
    backend: Backend | None
    op: str
    place: Place | None
    start: float
    forward: GpuTime
    backward: GpuTime = GpuTime()
    arguments: Arguments | None = None
    parts: tuple[Place, ...] = ()
    activities: tuple[int, ...] = ()
    alone: bool = False


class Located(Enum):
    """What tells one call site from another."""

    SOURCE = "source line"
    MODULE = "module"
    OPS = "op path"
    KERNEL = "kernel"


@dataclass(frozen=True)
class Where:
    """Where calls come from, by the best that was recorded.

    line: the innermost function of the model's own code, as the profiler writes it: `modeling_owlv2.py(410): forward`
    module: the class of the innermost module that is not torch's own: `Owlv2Attention`
    path: the ops around the call, outermost first, with the call's own op
    kernel: the kernel that stands for the site where nothing else is known
    """

    located: Located
    line: str | None = None
    module: str | None = None
    path: tuple[str, ...] = ()
    kernel: str | None = None


@dataclass(frozen=True)
class Shape:
    """Calls with equal arguments. arguments: `None` where the trace has none."""

    arguments: Arguments | None
    calls: int
    time: GpuTime


class DragKind(Enum):
    """What a call drags along."""

    COPY = "copies that feed it or take its result"
    MASK = "a mask that is built for it"
    PADDING = "padding"
    REPEATED_KV = "repeated K and V"
    FIRST_CALL = "first calls of new shapes"
    CAST = "casts inside it"


@dataclass(frozen=True)
class Drag:
    """What a site's calls drag along, of one kind.

    gpu: not part of the site's own time, except for `CAST`
    host: seconds of the host, where that is what it costs (first calls), else 0
    path: the ops that do it, outermost first
    calls: how many of the site's calls have it
    """

    kind: DragKind
    gpu: GpuTime
    host: float
    path: tuple[str, ...]
    calls: int
    activities: tuple[int, ...] = ()


class Cause(Enum):
    """What ruled out a faster way, by a recorded argument; or why that cannot be told."""

    MASK = "a mask"
    TYPE = "the element type"
    STRIDE = "the last stride"
    HEAD_DIM = "the head dimension"
    DROPOUT = "dropout"
    GQA_TYPE = "enable_gqa in FP32"
    WEIGHTS = "the weights are asked for"
    BY_HAND = "written by hand"
    NOT_COMPILED = "flex_attention without a compiler"
    NEW_SHAPES = "a new shape each step"
    MASK_PER_LAYER = "the same mask built again for each layer"
    REPEATED_KV = "K and V are repeated in memory"
    LAUNCH_BOUND = "the GPU waits for the host"
    NOT_SAID = "the trace does not say why"
    NOT_RECORDED = "what would say why was not recorded"


@dataclass(frozen=True)
class Reason:
    """A cause with what proves it.

    argument: the argument's name in the call; value: what the trace holds for it, word by word
    ruled_out: the backends that decline such a call by torch's own checks
    """

    cause: Cause
    argument: str | None = None
    value: str | None = None
    ruled_out: tuple[Backend, ...] = ()
    calls: int = 0


class Cure(Enum):
    """What to do about a cause."""

    CAUSAL_FLAG = "is_causal instead of a mask"
    CALL_SDPA = "call scaled_dot_product_attention"
    SIXTEEN_BITS = "a 16-bit element type"
    CONTIGUOUS_HEADS = "the head dimension contiguous"
    PAD_HEAD = "a head dimension that the backend takes"
    NO_DROPOUT = "no dropout"
    NO_WEIGHTS = "need_weights=False"
    ENABLE_GQA = "enable_gqa instead of repeated K and V"
    MASK_ONCE = "build the mask once"
    COMPILE_FLEX = "compile flex_attention"
    PIN_BACKEND = "pin another backend"
    FIXED_SHAPES = "few shapes instead of a new one each step"
    GRAPH = "a CUDA graph, or torch.compile"
    RECORD_MORE = "record shapes and stacks"


@dataclass(frozen=True)
class Modelled:
    """A saving that was not measured in this trace: scaled from a recorded run of the same device.

    seconds: of GPU time in the whole trace; share: of its GPU time
    run: the run's slot; device: its name
    """

    seconds: float
    share: float
    device: str
    run: str


@dataclass(frozen=True)
class Advice:
    """What to do, the page that explains it (a finding's slug), and what it saves where a recorded run lets that be scaled."""

    cure: Cure
    reason: Reason
    finding: str | None = None
    saving: Modelled | None = None


@dataclass(frozen=True)
class CallSite:
    """All calls from one place by one way.

    share: of the sum of the trace's GPU time, forward and backward, without what is dragged along
    kernels: by time; shapes: by time
    wrong: probes of "right before fast" (their names) that match its calls
    """

    where: Where
    kind: Kind
    backend: Backend | None
    op: str
    calls: tuple[Call, ...]
    forward: GpuTime
    backward: GpuTime
    share: float
    shapes: tuple[Shape, ...]
    kernels: tuple[KernelTime, ...]
    drags: tuple[Drag, ...] = ()
    reasons: tuple[Reason, ...] = ()
    advice: tuple[Advice, ...] = ()
    wrong: tuple[str, ...] = ()

    @property
    def time(self) -> GpuTime:
        return self.forward + self.backward


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


class ZeroCause(Enum):
    SHARED_MEMORY = "more shared memory than the profiler reckons with"
    SMALL_GRID = "a grid too small for one percent"
    UNEXPLAINED = "not explained"


@dataclass(frozen=True)
class FalseZero:
    """Kernels of one name for which the profiler writes an occupancy of 0. occupancy: the theoretical one, percent, where it can be worked out."""

    kernel: str
    cause: ZeroCause
    activities: int
    seconds: float
    occupancy: float | None
    shared_memory: int | None


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


@dataclass(frozen=True)
class Ledger:
    """The attention of one trace. sites: the greatest GPU time first; where the trace has no GPU, `host` says that times are those of the CPU's ops."""

    file: str
    devices: tuple[Device, ...]
    recorded: Recorded
    integrity: Integrity
    totals: Totals
    sites: tuple[CallSite, ...]
    rest: Rest
    stretches: tuple[Stretch, ...] = ()
    false_zeros: tuple[FalseZero, ...] = ()
    host: bool = False

    @property
    def attention(self) -> GpuTime:
        return sum((site.time for site in self.sites), GpuTime())
