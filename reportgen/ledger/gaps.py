"""Stretches in which a stream waits for a host that still launches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..trace.whole import WholeTrace
from .model import Call, Stretch

PAUSE = 1000.0
"""Microseconds: a host that launches nothing for longer does something else."""
FEWEST = 16
"""Activities of a stretch: fewer are the begin or the end of something."""


def stretches(trace: WholeTrace, calls: Iterable[Call]) -> tuple[Stretch, ...]:
    """The stretches of each stream in which it is idle for longer than it works, in order of their begin.

    A gap is the host's where the launch of the activity behind it began after the stream had run dry. A gap after an earlier
    launch is another's: the stream waited for an event, a copy or another stream.
    """
    activities = trace.activities
    streams: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in range(len(activities)):
        streams[activities.device[place], activities.stream[place]].append(place)
    attention = bytearray(len(activities))
    for call in calls:
        for one in call.activities:
            attention[one] = 1
    begin = trace.begin
    found = [stretch for (device, stream), places in streams.items() for stretch in _of_stream(trace, device, stream, places, attention, begin)]
    return tuple(sorted(found, key=lambda stretch: (stretch.start, stretch.device, stretch.stream)))


def _of_stream(trace: WholeTrace, device: int, stream: int, places: Sequence[int], attention: bytearray, begin: float) -> Iterable[Stretch]:
    """Runs in which what is idle outweighs what works: the sum of idle less busy time, from where it leaves zero to its greatest value."""
    activities = trace.activities
    first, best, best_at, balance = -1, 0.0, -1, 0.0
    waits = _waits(trace, places)
    at = 0
    while at < len(places):
        wait = waits[at]
        balance += (wait or 0.0) - activities.duration[places[at]]
        if first < 0:
            if wait:
                first, balance = at, wait - activities.duration[places[at]]
                best, best_at = balance, at
            at += 1
            continue
        if balance > best:
            best, best_at = balance, at
        if balance < 0 or wait is None or at == len(places) - 1:
            if best > 0 and best_at - first + 1 >= FEWEST:
                yield _stretch(trace, device, stream, places[first:best_at + 1], waits[first:best_at + 1], attention, begin)
                at = best_at
            first, balance = -1, 0.0
        at += 1


def _waits(trace: WholeTrace, places: Sequence[int]) -> list[float | None]:
    """Before each activity: microseconds that the stream waited for the host; `None` where it waited longer than a host that still launches."""
    activities = trace.activities
    waits: list[float | None] = []
    reached: float | None = None
    for place in places:
        start = activities.start[place]
        wait: float | None = 0.0
        if reached is None:
            wait = None
        elif start > reached and activities.thread[place] >= 0:
            launched = trace.threads[activities.thread[place]].start[activities.event[place]]
            if launched > reached:
                wait = start - reached if start - reached <= PAUSE else None
        end = start + activities.duration[place]
        reached = end if reached is None else max(reached, end)
        waits.append(wait)
    return waits


def _stretch(trace: WholeTrace, device: int, stream: int, places: Sequence[int], waits: Sequence[float | None], attention: bytearray, begin: float) -> Stretch:
    activities = trace.activities
    idle = sum(wait or 0.0 for wait in waits)
    start = activities.start[places[0]] - (waits[0] or 0.0)
    end = activities.start[places[-1]] + activities.duration[places[-1]]
    return Stretch(device, stream, (start - begin) * 1e-6, (end - start) * 1e-6, idle * 1e-6, len(places), sum(attention[place] for place in places))
