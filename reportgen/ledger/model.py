"""What a ledger is made of. Times in seconds of the GPU, sizes in bytes, shares from 0 to 1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from ..hardware.attention_ops import Backend, Direction, Kind
from .around import Device, FalseZero, GpuTime, Integrity, Recorded, Rest, Stretch, Totals
from .reasons import Advice, Cause, Cure, Modelled, Reason

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

    COPY = "copies that feed it"
    RESULT = "copies of its result"
    MASK = "a mask that is built for it"
    PADDING = "padding"
    REPEATED_KV = "repeated K and V"
    FIRST_CALL = "first calls of new shapes"
    CAST = "casts inside it"


@dataclass(frozen=True)
class Drag:
    """What a site's calls drag along, of one kind.

    gpu: not part of the site's own time, but where `inside`
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
    inside: bool = False


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
