"""What a site's calls drag along: copies that feed them, masks built for them, padding, repeated K and V, casts inside, and the first call of a new shape.

Data flow is not recorded. So a copy feeds a call where it stands in the same module shortly before it and has as many numbers as q, k or v, one of its sizes
being the head dimension; a mask is built for a call where an op that masks are made of has the mask's last two sizes. Without recorded shapes nothing is said.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from ..hardware import attention_ops
from ..trace.whole import Lane, Raw, Thread, WholeTrace
from .model import Arguments, Backend, Call, CallSite, Drag, DragKind, GpuTime, Kind

REACH = 800
"""Most host events that are looked at before a call, and a quarter of it behind it."""
DEAR_TIMES, DEAR_SECONDS = 5.0, 1e-3
"""The first call of a shape is told where it took the host so many times as long as a later one, and so long."""
_COPIES = re.compile(r"aten::(?:contiguous|clone|reshape|to|_to_copy|type_as|repeat|repeat_interleave|expand|flatten)")
_PRODUCTS = frozenset(("aten::linear", "aten::addmm", "aten::mm", "aten::matmul", "aten::bmm", "aten::conv1d", "aten::conv2d"))
_PADS = re.compile(r"aten::(?:pad|constant_pad_nd)")
_CASTS = re.compile(r"aten::(?:to|_to_copy)")
_MASKS = re.compile(r"aten::(?:full|ones|zeros|full_like|ones_like|zeros_like|tril|triu|arange|eq|ne|ge|le|gt|lt|logical_\w+|bitwise_\w+|where|masked_fill|fill|clamp|rsub|sub|mul|add"
                    r"|to|_to_copy|clone|copy|contiguous|expand|repeat|cumsum|zero|scalar_tensor|index|maximum|minimum)_?")


class Found(NamedTuple):
    """An op that a call drags along."""

    kind: DragKind
    thread: int
    event: int
    inside: bool = False


def find(trace: WholeTrace, site: CallSite, queue: Queue | None = None) -> tuple[Drag, ...]:
    """The drags of a site, the dearest first. queue: of this trace, where several sites are looked at."""
    if site.kind is Kind.KERNEL or not trace.shapes:
        return ()
    queue = queue or Queue(trace)
    gathered: dict[tuple[DragKind, bool, tuple[str, ...]], list[tuple[int, int]]] = defaultdict(list)
    for number, call in enumerate(site.calls):
        for found in _of_call(trace, site, call):
            for activity in queue.under(found.thread, found.event):
                gathered[(found.kind, found.inside, _path(trace, found, activity))].append((number, activity))
    drags = [_drag(trace, *merged) for merged in _merged(gathered)]
    first = _first_calls(trace, site)
    return tuple(sorted([*drags, *([first] if first else [])], key=lambda drag: -max(drag.gpu.seconds, drag.host)))


class Queue:
    """Which activities a host event queued."""

    def __init__(self, trace: WholeTrace) -> None:
        self._trace = trace
        pairs: list[list[tuple[int, int]]] = [[] for _ in trace.threads]
        for place, (thread, event) in enumerate(zip(trace.activities.thread, trace.activities.event)):
            if thread >= 0:
                pairs[thread].append((event, place))
        self._pairs = [sorted(members) for members in pairs]

    def under(self, thread: int, event: int) -> list[int]:
        pairs = self._pairs[thread]
        first, last = bisect_left(pairs, (event, -1)), bisect_right(pairs, (self._trace.threads[thread].behind(event), -1))
        return [place for _, place in pairs[first:last]]


def _path(trace: WholeTrace, found: Found, activity: int) -> tuple[str, ...]:
    """The ops from the one that is dragged along to the one that queued the activity."""
    whole = trace.path(found.thread, trace.activities.event[activity])
    depth = len(trace.path(found.thread, found.event)) - 1
    return whole[depth:]


def _merged(gathered: dict[tuple[DragKind, bool, tuple[str, ...]], list[tuple[int, int]]]) -> Iterator[tuple[DragKind, bool, tuple[str, ...], list[tuple[int, int]]]]:
    """Of each kind one: the path that most activities have stands for it."""
    kinds: dict[tuple[DragKind, bool], list[tuple[tuple[str, ...], list[tuple[int, int]]]]] = defaultdict(list)
    for (kind, inside, path), members in gathered.items():
        kinds[(kind, inside)].append((path, members))
    for (kind, inside), parts in kinds.items():
        path = max(parts, key=lambda part: len(part[1]))[0]
        yield kind, inside, path, [member for _, members in parts for member in members]


def _drag(trace: WholeTrace, kind: DragKind, inside: bool, path: tuple[str, ...], members: list[tuple[int, int]]) -> Drag:
    activities = tuple(dict.fromkeys(activity for _, activity in members))
    seconds = math.fsum(trace.activities.duration[one] for one in activities) * 1e-6
    return Drag(kind, GpuTime(seconds, len(activities)), 0.0, path, len({number for number, _ in members}), activities, inside)


def _of_call(trace: WholeTrace, site: CallSite, call: Call) -> Iterator[Found]:
    if call.place is None or call.arguments is None or call.alone:
        return
    index, event = call.place
    thread = trace.threads[index]
    for step in _before(trace, thread, event):
        kind = _feeding(trace, thread, step, call.arguments, site.kind)
        if kind is not None:
            yield Found(kind, index, step)
    if call.parts:
        return
    for step in _behind(trace, thread, event):
        if _COPIES.fullmatch(trace.names[thread.name[step]]) and _takes(thread, step, call.arguments):
            yield Found(DragKind.RESULT, index, step)
    for step in _inside(trace, thread, event):
        name = trace.names[thread.name[step]]
        if _PADS.fullmatch(name):
            yield Found(DragKind.PADDING, index, step, True)
        elif site.backend is Backend.MATH and _CASTS.fullmatch(name):
            yield Found(DragKind.CAST, index, step, True)


def _before(trace: WholeTrace, thread: Thread, event: int) -> Iterator[int]:
    """The outermost ops before a call, back to the begin of its module or the attention before it, last first."""
    scope = next((one for one in thread.around(event) if thread.lane[one] in (Lane.MODULE, Lane.NOTE)), -1)
    outer = {one for one in thread.around(event)}
    for step in range(event - 1, max(scope, event - REACH, -1), -1):
        if thread.lane[step] != Lane.OP or step in outer:
            continue
        if attention_ops.find(trace.names[thread.name[step]]):
            return
        parent = thread.parent[step]
        if parent < 0 or thread.lane[parent] != Lane.OP or parent in outer:
            yield step


def _behind(trace: WholeTrace, thread: Thread, event: int) -> Iterator[int]:
    """The outermost ops after a call, up to the next product with a weight, attention, or end of the module."""
    scope = next((one for one in thread.around(event) if thread.lane[one] in (Lane.MODULE, Lane.NOTE)), -1)
    last = min(thread.behind(scope) if scope >= 0 else len(thread), thread.behind(event) + REACH // 4)
    step = thread.behind(event)
    while step < last:
        if thread.lane[step] != Lane.OP:
            if thread.lane[step] == Lane.MODULE:
                return
            step += 1
            continue
        name = trace.names[thread.name[step]]
        if name in _PRODUCTS or attention_ops.find(name):
            return
        yield step
        step = thread.behind(step)


def _takes(thread: Thread, step: int, given: Arguments) -> bool:
    """Whether this op works on as many numbers as come out of the call."""
    if given.query is None or given.value is None:
        return False
    out = math.prod(given.query.dims[:-1]) * given.value.dims[-1]
    inside = [raw for one in range(step, thread.behind(step)) if (raw := thread.args.get(one)) is not None]
    return any(math.prod(sizes) == out and len(sizes) >= 3 and given.value.dims[-1] in sizes for raw in inside for sizes in _sizes(raw))


def _inside(trace: WholeTrace, thread: Thread, event: int) -> Iterator[int]:
    """The ops inside a call that pad or cast, each once."""
    behind, skip = thread.behind(event), -1
    for step in range(event + 1, behind):
        if step >= skip and thread.lane[step] == Lane.OP:
            name = trace.names[thread.name[step]]
            if _PADS.fullmatch(name) or _CASTS.fullmatch(name):
                skip = thread.behind(step)
                yield step


def _feeding(trace: WholeTrace, thread: Thread, step: int, given: Arguments, kind: Kind) -> DragKind | None:
    """What this op does for the call, if anything."""
    name = trace.names[thread.name[step]]
    inside = [raw for one in range(step, thread.behind(step)) if (raw := thread.args.get(one)) is not None]
    if given.mask is not None and kind in (Kind.SDPA, Kind.BACKEND) and _MASKS.fullmatch(name) and _has(inside, given.mask.dims[-2:]):
        return DragKind.MASK
    if given.query is None or given.key is None or given.value is None:
        return None
    if _PADS.fullmatch(name):
        return DragKind.PADDING if any(_sizes(raw)[:1] and len(_sizes(raw)[0]) >= 3 and given.query.dims[-2] in _sizes(raw)[0] for raw in inside) else None
    if not _COPIES.fullmatch(name):
        return None
    own = {math.prod(tensor.dims) for tensor in (given.query, given.key, given.value)}
    dim = {given.query.dims[-1], given.value.dims[-1]}
    for raw in inside:
        for sizes, strides in zip(_sizes(raw), (*raw.strides, *[()] * len(raw.dims))):
            if math.prod(sizes) in own and dim.intersection(sizes) and len(sizes) >= 3:
                return DragKind.REPEATED_KV if _repeats(name, sizes, strides, given) else DragKind.COPY
    return DragKind.REPEATED_KV if name == "aten::repeat_interleave" and any(math.prod(sizes) * 2 <= max(own) and dim.intersection(sizes)
                                                                            for raw in inside for sizes in _sizes(raw)) else None


def _sizes(raw: Raw) -> list[tuple[int, ...]]:
    return [sizes for sizes in raw.dims if isinstance(sizes, tuple) and sizes and all(type(size) is int for size in sizes)]


def _has(inside: list[Raw], last: tuple[int, ...]) -> bool:
    """Whether an op works on tensors, or makes one, with these last two sizes."""
    if len(last) != 2:
        return False
    written = f"{last[0]}, {last[1]}]"
    return any(any(sizes[-2:] == last for sizes in _sizes(raw)) or any(value.endswith(written) for value in raw.values) for raw in inside)


def _repeats(name: str, sizes: tuple[int, ...], strides: object, given: Arguments) -> bool:
    """Whether heads of k and v are written out several times: a size of stride 0 that is copied, or five sizes of which two make up the heads."""
    if name in ("aten::repeat_interleave", "aten::repeat"):
        return True
    assert given.query is not None
    if isinstance(strides, tuple) and len(strides) == len(sizes):
        return len(sizes) >= 4 and any(stride == 0 and size > 1 for stride, size in zip(strides[:-2], sizes[:-2]))
    return len(sizes) == 5 and len(given.query.dims) == 4 and sizes[1] * sizes[2] == given.query.dims[1]


def _first_calls(trace: WholeTrace, site: CallSite) -> Drag | None:
    """Calls of a shape that the trace had not met, where they took the host far longer than later ones."""
    seen: set[str] = set()
    first: list[float] = []
    later: list[float] = []
    for call in site.calls:
        if call.place is None or call.arguments is None or call.parts:
            return None
        seconds = trace.threads[call.place.thread].duration[call.place.event] * 1e-6
        shape = repr((call.arguments.query, call.arguments.key, call.arguments.value, call.arguments.mask))
        (later if shape in seen else first).append(seconds)
        seen.add(shape)
    if not later:
        return None
    usual = median(later)
    dear = [seconds for seconds in first if seconds > DEAR_TIMES * usual and seconds > DEAR_SECONDS]
    return Drag(DragKind.FIRST_CALL, GpuTime(), sum(dear) - usual * len(dear), (), len(dear)) if dear else None

