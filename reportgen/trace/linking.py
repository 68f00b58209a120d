"""Arrays as read → threads nested, activities in order and linked to the host calls that queued them."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any

from .gathering import Gathered
from .kineto import queues_work
from .stream import Stream
from .whole import Activities, Lane, Thread, WholeTrace

DEEPEST = 8
"""Calls between a runtime's and the driver's that has its number, at most; there is none in real traces."""


def link(gathered: Gathered, stream: Stream, where: str) -> WholeTrace:
    threads = list({id(thread): thread for thread in gathered.threads.values()}.values())
    latest = max((abs(thread.start[-1]) for thread in threads if len(thread)), default=0.0)
    tolerance = 0.001 + 2 * math.ulp(latest)  # children may stick out of their parents by a hair
    moved = [_in_order(thread, numbers) for thread, numbers in zip(threads, gathered.sequences)]
    for thread in threads:
        thread.parent = _parents(thread, tolerance)
    activities, duplicates = _ordered(gathered.activities)
    trace = WholeTrace(where, gathered.names, stream.other, threads, activities, gathered.zeros, duplicates=duplicates, odd=gathered.odd, damaged=stream.damaged)
    _join(trace, gathered, moved)
    for raw in gathered.arguments.values():
        trace.shapes = trace.shapes or bool(raw.dims)
        trace.strides = trace.strides or bool(raw.strides)
        trace.values = trace.values or any(raw.values)
    return trace


def _order(start: Sequence[float], duration: Sequence[float], rank: Sequence[int] | None = None) -> list[int] | None:
    """Places in order of begin, the longer one first of two that begin at once; `None` where they are in order."""
    order = sorted(range(len(start)), key=start.__getitem__)
    moved = any(place != at for at, place in enumerate(order))
    at, last = 0, len(order) - 1
    while at < last:
        first = start[order[at]]
        if start[order[at + 1]] != first:
            at += 1
            continue
        end = at + 2
        while end <= last and start[order[end]] == first:
            end += 1
        tied = order[at:end]
        sorted_tied = sorted(tied, key=lambda one: (-duration[one], rank[one] if rank else 0, one))
        if sorted_tied != tied:
            order[at:end] = sorted_tied
            moved = True
        at = end
    return order if moved else None


def _in_order(thread: Thread, numbers: tuple[array[int], array[int], array[int]]) -> array[int] | None:
    """Puts a thread's events in order. Gives each old place's new one, or `None` where none moved."""
    order = _order(thread.start, thread.duration, thread.lane)
    moved: array[int] | None = None
    if order is not None:
        moved = array("i", bytes(4 * len(order)))
        for new, old in enumerate(order):
            moved[old] = new
        thread.start = array("d", map(thread.start.__getitem__, order))
        thread.duration = array("d", map(thread.duration.__getitem__, order))
        thread.name = array("i", map(thread.name.__getitem__, order))
        thread.lane = bytearray(map(thread.lane.__getitem__, order))
        thread.args = {moved[old]: raw for old, raw in thread.args.items()}
    for at, sequence, forward in zip(*numbers):
        place = moved[at] if moved is not None else at
        thread.sequence[place] = sequence
        if forward:
            thread.forward_thread[place] = forward
    return moved


def _parents(thread: Thread, tolerance: float) -> array[int]:
    """The event around each one, in one sweep."""
    parents = array("i")
    keep = parents.append
    ends: list[float] = []
    stack: list[int] = []
    at = 0
    for start, duration in zip(thread.start, thread.duration):
        end = start + duration
        while ends and (start >= ends[-1] or end > ends[-1] + tolerance):
            ends.pop()
            stack.pop()
        keep(stack[-1] if stack else -1)
        stack.append(at)
        ends.append(end)
        at += 1
    return parents


def _ordered(found: Activities) -> tuple[Activities, int]:
    """In order of their begin, each record once."""
    order = _order(found.start, found.duration)
    places = order if order is not None else list(range(len(found)))
    kept: list[int] = []
    seen: set[tuple[Any, ...]] = set()
    before = -1.0
    for place in places:
        if found.start[place] != before:
            before = found.start[place]
            seen.clear()
        key = (found.correlation[place], found.name[place], found.device[place], found.stream[place], found.duration[place])
        if found.duration[place] and found.correlation[place] and key in seen:
            continue
        seen.add(key)
        kept.append(place)
    columns: dict[str, Any] = {}
    for column in ("start", "duration", "name", "device", "stream", "bytes", "correlation"):
        values = getattr(found, column)
        columns[column] = array(values.typecode, map(values.__getitem__, kept))
    ordered = Activities(work=bytearray(map(found.work.__getitem__, kept)), **columns)
    return ordered, len(found) - len(kept)


def _join(trace: WholeTrace, gathered: Gathered, moved: list[array[int] | None]) -> None:
    """Finds each activity's host call by correlation, and the calls that left no record.

    A runtime's call and the driver's inside it may share a number: the outer one counts. External ids are not asked.
    """
    activities, names = trace.activities, trace.names
    used = set(activities.correlation)
    used.discard(0)
    queues: dict[int, bool] = {}
    calls: dict[int, tuple[int, int]] = {}
    unrecorded: Counter[int] = Counter()
    for index, old, number in zip(gathered.call_thread, gathered.call_event, gathered.call_number):
        order = moved[index]
        event = order[old] if order is not None else old
        thread = trace.threads[index]
        if number not in used:
            name = thread.name[event]
            queuing = queues.get(name)
            if queuing is None:
                queuing = queues[name] = queues_work(names[name])
            if queuing:
                unrecorded[name] += 1
            continue
        known = calls.setdefault(number, (index, event))
        if known != (index, event):
            if known[0] == index and _holds(thread, event, known[1]):
                calls[number] = (index, event)
            elif not (known[0] == index and _holds(thread, known[1], event)):
                trace.ambiguous += 1
    nowhere = (-1, -1)
    places = [calls.get(number, nowhere) for number in activities.correlation]
    activities.thread = array("i", (place[0] for place in places))
    activities.event = array("i", (place[1] for place in places))
    trace.unrecorded = {names[name]: count for name, count in unrecorded.items()} if len(activities) else {}


def _holds(thread: Thread, outer: int, inner: int) -> bool:
    return thread.lane[outer] == Lane.CALL and outer in islice(thread.around(inner), DEEPEST)
