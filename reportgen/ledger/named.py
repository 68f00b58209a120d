"""Attention that only a kernel's name tells of: inside a graph, without a launch, or under an op that is not known."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ..hardware.kernel_names import Stage, decode
from ..trace.whole import Lane, WholeTrace, Work
from .model import Direction, Kind, Place

if TYPE_CHECKING:
    from .calls import Open

@cache
def family(name: str) -> str | None:
    """The family of an attention kernel; `None` for any other."""
    found = decode(name)
    return found.family if found.implementation is not None else None


def direction(name: str) -> Direction:
    """Forward where the name does not tell."""
    return decode(name).direction or Direction.FORWARD


def find(trace: WholeTrace, taken: bytearray) -> list[Open]:
    """One call per main kernel that no call has; what prepares it and what combines its parts is of the same call."""
    activities, names = trace.activities, trace.names
    attention = {name: decode(names[name]).stage for name in set(activities.name) if family(names[name]) is not None}
    found: list[_Named] = []
    last: dict[tuple[int, int, int, Direction], _Named] = {}
    for place in range(len(activities)):
        name = activities.name[place]
        if taken[place] or name not in attention or activities.work[place] != Work.KERNEL:
            continue
        stage, way = attention[name], direction(names[name])
        index, launch = activities.thread[place], activities.event[place]
        op = _op(trace, index, launch)
        key = (index, op if op >= 0 else launch, activities.stream[place], way)
        call = last.get(key)
        if call is None or (stage is Stage.MAIN and call.main) or stage is Stage.PREPARE and call.main:
            call = last[key] = _Named(_open(trace, place, op, way))
            found.append(call)
        call.main = call.main or stage is Stage.MAIN
        taken[place] = 1
        (call.call.backward if way is Direction.BACKWARD else call.call.forward).append(place)
    return [one.call for one in found]


class _Named:
    """A call, and whether its main kernel has been seen."""

    def __init__(self, call: Open) -> None:
        self.call, self.main = call, False


def _open(trace: WholeTrace, place: int, op: int, way: Direction) -> Open:
    from .calls import Open

    activities = trace.activities
    index, launch = activities.thread[place], activities.event[place]
    backward = way is Direction.BACKWARD
    if index < 0:
        return Open(Kind.KERNEL, None, "", None, activities.start[place], alone=backward)
    thread = trace.threads[index]
    name = trace.names[thread.name[op]] if op >= 0 else ""
    return Open(Kind.UNKNOWN if name else Kind.KERNEL, None, name, Place(index, op if op >= 0 else launch), thread.start[launch], alone=backward)


def _op(trace: WholeTrace, index: int, launch: int) -> int:
    """The innermost op around a launch, −1 where there is none."""
    if index < 0:
        return -1
    thread = trace.threads[index]
    return next((event for event in thread.around(launch) if thread.lane[event] == Lane.OP), -1)
