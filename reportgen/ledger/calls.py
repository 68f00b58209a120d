"""Which ranges of a trace compute attention, and which GPU activities belong to each: by nesting, by autograd's numbers, by a kernel's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..hardware import attention_ops
from ..hardware.attention_ops import AttentionOp
from ..trace.whole import Lane, Raw, Thread, WholeTrace
from . import arguments, backward, by_hand, named
from .model import Arguments, Backend, Call, Direction, GpuTime, Kind, Place


@dataclass
class Open:
    """A call that is being put together."""

    kind: Kind
    backend: Backend | None
    op: str
    place: Place | None
    start: float
    arguments: Arguments | None = None
    parts: tuple[Place, ...] = ()
    forward: list[int] = field(default_factory=list)
    backward: list[int] = field(default_factory=list)
    alone: bool = False
    host: float = 0.0


Owners = list[dict[int, tuple[int, Direction]]]
"""Per thread: event → the call that its range belongs to, and which pass it is."""


def find(trace: WholeTrace) -> tuple[Call, ...]:
    """All calls, those of the host's ops in order of their begin, then those that only a kernel's name tells of."""
    ops = _ops(trace)
    found: list[Open] = []
    owners: Owners = [{} for _ in trace.threads]
    back: list[Place] = []
    for index, thread in enumerate(trace.threads):
        _roots(trace, index, thread, ops, found, owners[index], back)
    for chain in by_hand.find(trace):
        _by_hand(trace, chain, found, owners)
    backward.pair(trace, found, owners, back)
    _alone(trace, back, ops, found, owners)
    taken = _share_out(trace, found, owners)
    found += named.find(trace, taken)
    return tuple(_closed(trace, call, trace.begin) for call in found)


def _ops(trace: WholeTrace) -> Mapping[int, AttentionOp]:
    found = {}
    for place, name in enumerate(trace.names):
        op = attention_ops.find(name)
        if op is not None:
            found[place] = op
    return found


def _roots(trace: WholeTrace, index: int, thread: Thread, ops: Mapping[int, AttentionOp], found: list[Open], owners: dict[int, tuple[int, Direction]],
           back: list[Place]) -> None:
    """The outermost attention ops of a thread; what lies inside one tells its backend, and its arguments where it has none itself."""
    last, behind = -1, -1
    lanes = thread.lane
    for event, name in enumerate(thread.name):
        if name not in ops or lanes[event] != Lane.OP:
            continue
        op = ops[name]
        if event < behind:
            if op.direction is Direction.FORWARD and last >= 0:
                _inside(found[last], thread, event, op)
            continue
        behind = thread.behind(event)
        if op.direction is Direction.BACKWARD:
            last = -1
            back.append(Place(index, event))
            continue
        last = len(found)
        owners[event] = (last, Direction.FORWARD)
        found.append(Open(op.kind, op.backend, trace.names[name], Place(index, event), thread.start[event], _arguments(thread, event, op),
                          host=thread.duration[event]))


def _inside(call: Open, thread: Thread, event: int, op: AttentionOp) -> None:
    call.backend = call.backend or op.backend
    call.arguments = call.arguments or _arguments(thread, event, op)


def _arguments(thread: Thread, event: int, op: AttentionOp) -> Arguments | None:
    raw: Raw | None = thread.args.get(event)
    return arguments.read(raw, op.arguments) if raw is not None else None


def _by_hand(trace: WholeTrace, chain: by_hand.Chain, found: list[Open], owners: Owners) -> None:
    """A chain, unless a part of it lies in a call that is known already."""
    first = chain.parts[0]
    thread, owned = trace.threads[first.thread], owners[first.thread]
    if any(part.event in owned or any(one in owned for one in thread.around(part.event)) for part in chain.parts):
        return
    for part in chain.parts:
        owned[part.event] = (len(found), Direction.FORWARD)
    found.append(Open(chain.kind, None, "", first, thread.start[first.event], chain.arguments, chain.parts,
                      host=sum(thread.duration[part.event] for part in chain.parts)))


def _alone(trace: WholeTrace, back: list[Place], ops: Mapping[int, AttentionOp], found: list[Open], owners: Owners) -> None:
    """Backward ops of attention for which no forward was found."""
    for place in back:
        thread = trace.threads[place.thread]
        if place.event in owners[place.thread] or any(one in owners[place.thread] for one in thread.around(place.event)):
            continue
        op = ops[thread.name[place.event]]
        owners[place.thread][place.event] = (len(found), Direction.BACKWARD)
        found.append(Open(op.kind, op.backend, trace.names[thread.name[place.event]], place, thread.start[place.event], _arguments(thread, place.event, op), alone=True,
                          host=thread.duration[place.event]))


def _share_out(trace: WholeTrace, found: list[Open], owners: Owners) -> bytearray:
    """Gives each activity to the innermost range around its launch. Gives which ones are taken."""
    activities = trace.activities
    taken = bytearray(len(activities))
    for place, (index, event) in enumerate(zip(activities.thread, activities.event)):
        if index < 0:
            continue
        owned, parent = owners[index], trace.threads[index].parent
        if not owned:
            continue
        while event >= 0:
            if event in owned:
                number, direction = owned[event]
                call = found[number]
                (call.forward if direction is Direction.FORWARD else call.backward).append(place)
                taken[place] = 1
                break
            event = parent[event]
    return taken


def _closed(trace: WholeTrace, call: Open, begin: float) -> Call:
    duration = trace.activities.duration
    forward = GpuTime(sum(duration[one] for one in call.forward) * 1e-6, len(call.forward))
    behind = GpuTime(sum(duration[one] for one in call.backward) * 1e-6, len(call.backward))
    if not len(trace.activities):
        time = GpuTime(call.host * 1e-6, 0)
        forward, behind = (GpuTime(), time) if call.alone else (time, GpuTime())
    return Call(call.kind, call.backend, call.op, call.place, (call.start - begin) * 1e-6, forward, behind, call.arguments, call.parts,
                (*call.forward, *call.backward), call.alone)
