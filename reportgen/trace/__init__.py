"""Kineto JSON → ops, launches and activities of each forward. The only owner of raw trace keys.

An activity belongs to the forward in whose range its launch lies; the two are joined by
correlation. Kernels still running from the warm-up have no launch in any range and are counted
nowhere else than in `Integrity.unattributed`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import TraceMalformed
from . import unpack
from .kineto import BESIDE, KINDS, OCCUPANCY_KEYS, Event, Lanes, amount, correlation, number, sort_into_lanes
from .kineto import whole as whole_number
from .losses import in_words, share_kept, sift, with_orphans
from .pieces import Pieces, opened
from .shapes import FORWARD, Activity, ActivityKind, Forward, Integrity, Launch, Loss, Op, Trace, TraceLoss
from .stream import NoTrace, Stream

__all__ = ["FORWARD", "Activity", "ActivityKind", "Forward", "Integrity", "Launch", "Loss", "Op", "Trace", "TraceLoss", "in_words", "parse", "read", "share_kept"]


def read(file: Path) -> Trace:
    """Reads a Kineto trace (`.json` or `.json.gz`).

    Raises:
        TraceMalformed: names the file, the event and what was expected.
    """
    return parse(_document(Path(file)), str(file))


def _document(file: Path) -> Mapping[str, object]:
    """What the file holds, event by event. Evidence is whole or none: where it is cut or damaged, the place is looked for in the document as one.

    A sign that JSON does not allow, in a name or between two events, loses nothing and is read over.

    Raises:
        TraceMalformed: see `read`.
    """
    try:
        with opened(file) as source:
            pieces = Pieces(source, str(file), unpack.MOST_BYTES)
            stream = Stream(_within_limits(pieces), BESIDE)
            events = list(stream.events())
        whole = not (stream.cut or stream.damaged or pieces.broken) and bool(events)
    except (NoTrace, TraceMalformed):
        whole = False
    if not whole:
        document: Mapping[str, object] = unpack.document(file)
        return document
    return {**stream.other, "traceEvents": events}


def _within_limits(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces as long as they do not hold more objects and lists than a document may."""
    held = 0
    for piece in pieces:
        held += piece.count("{") + piece.count("[")
        if held > unpack.MOST_VALUES:
            return
        yield piece


def parse(document: Mapping[str, object], file: str = "trace") -> Trace:
    """The same from a document in memory."""
    events = document.get("traceEvents") if isinstance(document, Mapping) else None
    if not isinstance(events, list):
        raise TraceMalformed("expected an object with a list `traceEvents`, as torch.profiler's export_chrome_trace writes it",
                             where=file, cure="give a trace that torch.profiler exported")
    lanes = sort_into_lanes(events, file)
    if not lanes.forwards:
        raise TraceMalformed(f"no finished range named `{FORWARD}`: expected one around each forward", where=file,
                             cure=f'wrap each forward in torch.profiler.record_function("{FORWARD}")')
    by_correlation: dict[int, list[Event]] = defaultdict(list)
    for event in lanes.activities:
        by_correlation[correlation(event)].append(event)
    every = [_forward(index, event, lanes, by_correlation) for index, event in enumerate(lanes.forwards)]
    dropped = 1 if len(every) >= 2 else 0
    attributed = {activity.launch.correlation for forward in every for activity in forward.activities}
    kept = tuple(with_orphans(every[dropped:], attributed, by_correlation))
    whole, memsets_known, loss = sift(kept, bool(lanes.activities))
    counted = {forward.index for forward in whole}
    unattributed: Counter[str] = Counter(KINDS[event.category] for event in lanes.activities if correlation(event) not in attributed)
    return Trace(file, _device(document, lanes.activities), bool(lanes.activities), kept, Integrity(
        unattributed=dict(unattributed),
        launches_without_activity=sum(len(forward.unrecorded) for forward in kept),
        dropped_forwards=dropped,
        lost=tuple(forward.index for forward in kept if forward.index not in counted),
        differing=tuple(forward.index for forward in whole if signature(forward) != signature(whole[0])),
        launch_apis=dict(Counter(activity.launch.api for forward in kept for activity in forward.activities)),
        incomplete=lanes.incomplete,
    ), whole, memsets_known, loss)


def signature(forward: Forward) -> tuple[tuple[object, ...], ...]:
    """What must be equal for two forwards to be repetitions of each other."""
    return tuple((a.kind, a.name, a.grid, a.block, a.bytes) for a in forward.activities)


def _forward(index: int, span: Event, lanes: Lanes, activities: Mapping[int, list[Event]]) -> Forward:
    launched = [e for e in _within(lanes.launches, span, lanes.tolerance) if e.thread[0] == span.thread[0]]
    # Ops of the calling thread, and of any other thread that launched work for this forward.
    threads = {span.thread: None, **{e.thread: None for e in launched}}
    nested = {thread: list(_nest(_within(lanes.ops.get(thread, ()), span, lanes.tolerance), lanes.tolerance)) for thread in threads}
    paths = {thread: _paths([e for e in launched if e.thread == thread], pairs, lanes.tolerance) for thread, pairs in nested.items()}
    launches, unrecorded, found = [], [], []
    for event in launched:
        launch = Launch(event.name, correlation(event), _seconds(event.start, span), event.duration * 1e-6)
        records = activities.get(launch.correlation, ()) if launch.correlation else ()
        launches.append(launch)
        unrecorded += [] if records else [launch]
        path = paths[event.thread][id(event)]
        found += [_activity(e, launch, path, span) for e in records]
    ops = sorted((op for pairs in nested.values() for op, _ in _ops(pairs, span)), key=lambda op: (op.start, len(op.path)))
    return Forward(index, span.duration * 1e-6, tuple(ops), tuple(launches), tuple(found), tuple(unrecorded))


def _seconds(moment: float, span: Event) -> float:
    return (moment - span.start) * 1e-6


def _within(events: Iterable[Event], span: Event, tolerance: float) -> list[Event]:
    """The events, sorted by start, that lie inside `span`."""
    events = events if isinstance(events, list) else list(events)
    first = bisect_left(events, span.start - tolerance, key=lambda e: e.start)
    last = bisect_left(events, span.end + tolerance, key=lambda e: e.start)
    return [e for e in events[first:last] if e.end <= span.end + tolerance]


def _nest(events: list[Event], tolerance: float) -> Iterator[tuple[Event, tuple[Event, ...]]]:
    """Each event of one thread with the events around it, outermost first."""
    stack: list[Event] = []
    for event in events:
        while stack and event.end > stack[-1].end + tolerance or stack and event.start >= stack[-1].end:
            stack.pop()
        yield event, tuple(stack)
        stack.append(event)


def _ops(nested: list[tuple[Event, tuple[Event, ...]]], span: Event) -> Iterator[tuple[Op, Event]]:
    inside: Counter[int] = Counter()
    for event, parents in nested:
        if parents:
            inside[id(parents[-1])] += event.duration  # type: ignore[assignment]
    for event, parents in nested:
        yield Op(event.name, (*(p.name for p in parents), event.name), _seconds(event.start, span), event.duration * 1e-6,
                 max(0.0, event.duration - inside[id(event)]) * 1e-6), event


def _paths(launched: list[Event], nested: list[tuple[Event, tuple[Event, ...]]], tolerance: float) -> dict[int, tuple[str, ...]]:
    """By `id` of each launch of a thread, in time order: the names of the ops around it, in one sweep along both.

    External ids are not asked: in some traces they name unrelated ops.
    """
    paths: dict[int, tuple[str, ...]] = {}
    around: tuple[Event, ...] = ()
    place = 0
    for launch in launched:
        while place < len(nested) and nested[place][0].start <= launch.start + tolerance:
            event, parents = nested[place]
            around = (*parents, event)
            place += 1
        paths[id(launch)] = tuple(op.name for op in around if op.end + tolerance >= launch.end)
    return paths


def _activity(event: Event, launch: Launch, path: tuple[str, ...], span: Event) -> Activity:
    args = event.args
    stream = whole_number(args.get("stream"))
    if stream is None:
        digits = re.search(r"\d+", str(event.thread[1]))
        stream = int(digits.group()) if digits else 0
    occupancy = next((number(args[key]) for key in OCCUPANCY_KEYS if key in args), None)
    return Activity(
        kind=KINDS[event.category], name=event.name, start=_seconds(event.start, span), duration=event.duration * 1e-6,
        stream=stream, launch=launch, op_path=path, grid=_triple(args.get("grid")), block=_triple(args.get("block")),
        registers=amount(args.get("registers per thread")), shared_memory=amount(args.get("shared memory")),
        bytes=amount(args.get("bytes")), profiler_occupancy=occupancy)


def _triple(value: object) -> tuple[int, int, int] | None:
    if not isinstance(value, (list, tuple)) or len(value) != 3:
        return None
    x, y, z = (amount(part) for part in value)
    return (x, y, z) if x and y and z else None


def _device(document: Mapping[str, Any], activities: list[Event]) -> Mapping[str, object] | None:
    """The entry of the device that most activities ran on. ROCm writes none, or one without a name that claims
    a compute capability of CUDA's: that is no entry to reckon with."""
    entries = document.get("deviceProperties") or document.get("computeProperties") or []
    entries = [e for e in entries if isinstance(e, Mapping) and e.get("name")] if isinstance(entries, list) else []
    used = Counter(whole_number(event.args.get("device")) for event in activities).most_common(1)
    wanted = used[0][0] if used else None
    if wanted is None:
        return entries[0] if len(entries) == 1 else None
    return next((e for e in entries if whole_number(e.get("id")) == wanted), None)
