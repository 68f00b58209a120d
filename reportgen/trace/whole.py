"""A whole trace file of whatever model → its host events, nested, and its GPU activities, linked. No marker is wanted.

Read event by event: a file of hundreds of megabytes stays a few dozen in memory. What a damaged or shortened file still holds is read.

Times are microseconds as written: a double since 1970 holds a quarter of one, so a duration is never a difference of two stamps.
"""

from __future__ import annotations

import gc
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ..errors import TraceMalformed
from .kineto import BESIDE
from .stream import NoTrace, Stream

STDIN = Path("-")
ANOTHER = "give a trace that torch.profiler exported (export_chrome_trace, .json or .json.gz)"


class Lane(IntEnum):
    """What an event of the host is."""

    PYTHON = 1
    MODULE = 2
    NOTE = 3
    OP = 4
    CALL = 5


class Work(IntEnum):
    """What an activity of the GPU is."""

    KERNEL = 0
    MEMCPY = 1
    MEMSET = 2


WORK_NAMES = {Work.KERNEL: "kernel", Work.MEMCPY: "memcpy", Work.MEMSET: "memset"}


class Raw(NamedTuple):
    """The arguments of an op as recorded; what was not is an empty tuple or text.

    dims, strides: a tuple of whole numbers per tensor, of tuples for a list of tensors; types, values: as written
    stack, modules: what older profilers wrote into the op itself
    """

    dims: tuple[Any, ...] = ()
    types: tuple[str, ...] = ()
    strides: tuple[Any, ...] = ()
    values: tuple[str, ...] = ()
    stack: str = ""
    modules: str = ""


@dataclass
class Thread:
    """The events of one thread in order of their begin, what surrounds another before it; parallel arrays.

    name: place in `WholeTrace.names`; parent: the event around it, −1 where there is none
    args: of those ops whose arguments a rule asks for
    sequence: autograd's number of an op; forward_thread: autograd's number of the thread that a backward op's forward ran on
    """

    process: object
    thread: object
    start: array[float] = field(default_factory=lambda: array("d"))
    duration: array[float] = field(default_factory=lambda: array("d"))
    name: array[int] = field(default_factory=lambda: array("i"))
    lane: bytearray = field(default_factory=bytearray)
    parent: array[int] = field(default_factory=lambda: array("i"))
    args: dict[int, Raw] = field(default_factory=dict)
    sequence: dict[int, int] = field(default_factory=dict)
    forward_thread: dict[int, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.start)

    def around(self, event: int) -> Iterator[int]:
        """The events around it, innermost first."""
        while (event := self.parent[event]) >= 0:
            yield event

    def behind(self, event: int) -> int:
        """The first event that does not lie inside this one: `range(event + 1, behind(event))` is what does."""
        parent, last = self.parent, event + 1
        while last < len(parent) and parent[last] >= event:
            last += 1
        return last


@dataclass
class Activities:
    """Kernels, copies and memsets in order of their begin; parallel arrays.

    device, stream: −1 where not recorded; bytes: 0 where not recorded
    thread, event: the host call that queued it, −1 where the trace does not hold it
    """

    start: array[float] = field(default_factory=lambda: array("d"))
    duration: array[float] = field(default_factory=lambda: array("d"))
    name: array[int] = field(default_factory=lambda: array("i"))
    work: bytearray = field(default_factory=bytearray)
    device: array[int] = field(default_factory=lambda: array("i"))
    stream: array[int] = field(default_factory=lambda: array("q"))
    bytes: array[int] = field(default_factory=lambda: array("q"))
    correlation: array[int] = field(default_factory=lambda: array("q"))
    thread: array[int] = field(default_factory=lambda: array("i"))
    event: array[int] = field(default_factory=lambda: array("i"))

    def __len__(self) -> int:
        return len(self.start)


class Resources(NamedTuple):
    """Of a kernel for which the profiler wrote an occupancy of 0; as recorded."""

    name: int
    device: int
    grid: tuple[int, ...]
    block: tuple[int, ...]
    registers: int
    shared_memory: int


@dataclass
class WholeTrace:
    """A trace file.

    names: every name once; events and activities hold its place
    other: what the document holds beside its events (`deviceProperties`)
    calls: correlation → thread and event of the host call
    zeros: kernels with an occupancy of 0 → how many, and their microseconds
    strides, values, shapes: whether any op has them
    unrecorded: host call that queues work and left no GPU record → how often
    duplicates, ambiguous, odd: see `ledger.model.Integrity`
    cut, damaged: how the file ends early; places at which no event could be read
    """

    file: str
    names: list[str]
    other: Mapping[str, Any]
    threads: list[Thread]
    activities: Activities
    zeros: dict[Resources, list[float]]
    unrecorded: dict[str, int] = field(default_factory=dict)
    shapes: bool = False
    strides: bool = False
    values: bool = False
    duplicates: int = 0
    ambiguous: int = 0
    odd: int = 0
    cut: str | None = None
    damaged: int = 0

    @property
    def begin(self) -> float:
        """The stamp of the first event, in microseconds."""
        return min([thread.start[0] for thread in self.threads if len(thread)] + list(self.activities.start[:1]), default=0.0)

    def path(self, thread: int, event: int) -> tuple[str, ...]:
        """The ops around an event and, where it is an op, its own name, outermost first."""
        lane = self.threads[thread]
        inside = [event, *lane.around(event)]
        return tuple(self.names[lane.name[one]] for one in reversed(inside) if lane.lane[one] == Lane.OP)


def read_whole(file: Path) -> WholeTrace:
    """Reads a trace (`.json`, `.json.gz`; `-` is the standard input).

    Raises:
        TraceMalformed: it cannot be read, or is no trace.
    """
    from .pieces import Pieces, opened

    if file == STDIN:
        return read_pieces(Pieces(sys.stdin.buffer, "standard input"), "standard input")
    source: BinaryIO
    with opened(file) as source:
        return read_pieces(Pieces(source, str(file)), str(file))


def read_pieces(pieces: Iterable[str], where: str) -> WholeTrace:
    """The same from text in pieces, of `trace.pieces.Pieces` or of a test."""
    from .gathering import Gathered, gather
    from .linking import link

    stream = Stream(pieces, BESIDE)
    collecting = gc.isenabled()
    gc.disable()  # a third to three fifths of the time of reading goes into looking for cycles, and there are none
    try:
        gathered = Gathered()
        try:
            gather(stream, gathered)
        except NoTrace as reason:
            raise TraceMalformed(f"this is no trace of torch.profiler: {reason}", where=where, cure=ANOTHER) from None
        if not gathered.recognised:
            raise TraceMalformed("this is no trace of torch.profiler: none of its events is an op, a call of the runtime or a kernel", where=where, cure=ANOTHER)
        trace = link(gathered, stream, where)
        trace.cut = stream.cut or getattr(pieces, "broken", None)
        return trace
    finally:
        if collecting:
            gc.enable()
