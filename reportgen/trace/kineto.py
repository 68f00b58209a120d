"""Kineto's keys: which raw events matter and what they say. No other module knows them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import TraceMalformed
from ..saying import signs
from .shapes import FORWARD, ActivityKind

RECORD_AGAIN = "record the run again, or restore the file from version control"

KINDS: Mapping[str, ActivityKind] = {"kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset"}
_OP_CATEGORIES = ("cpu_op", "operator")
_HOST_CALL = re.compile(r"(?:.*_)?(?:runtime|driver)")
_LAUNCH_API = re.compile(r"(?:cuda|cu|hip|hipExt|hipModule|mc|mu)?(?:Graph|Module|ExtModule|Cooperative)*(?:Launch(?!HostFunc)|Memcpy|Memset)")
LATEST, LONGEST = 1e17, 1e10
"""Microseconds: the year 5138, where time stamps count from 1970, and three hours."""
BESIDE = ("deviceProperties", "computeProperties")
"""What is read of a document beside its events."""
OCCUPANCY_KEYS = ("est. achieved occupancy %", "theoretical occupancy %")


@dataclass(frozen=True, slots=True)
class Event:
    """A complete event (`ph` X) that some lane keeps; `start` and `duration` in microseconds, as written.

    `end` is their sum, for nesting alone: at time stamps since 1970 a double holds a quarter of a microsecond.
    """

    category: str
    name: str
    thread: tuple[object, object]
    start: float
    duration: float
    args: Mapping[str, Any]

    @property
    def end(self) -> float:
        return self.start + self.duration


@dataclass(frozen=True)
class Lanes:
    """The events of the file by what they are, each lane in time order; `tolerance` in microseconds."""

    forwards: list[Event]
    ops: dict[tuple[object, object], list[Event]]
    launches: list[Event]
    activities: list[Event]
    incomplete: int
    tolerance: float


def sort_into_lanes(raw_events: list[Any], file: str) -> Lanes:
    forwards: list[Event] = []
    launches: list[Event] = []
    activities: list[Event] = []
    incomplete = 0
    ops: dict[tuple[object, object], list[Event]] = defaultdict(list)
    for place, raw in enumerate(raw_events):
        if not isinstance(raw, Mapping):
            raise TraceMalformed(f"event {place} is {type(raw).__name__}, expected an object", where=file, cure=RECORD_AGAIN)
        if not isinstance(raw.get("ph", ""), str):
            raise _odd(raw, place, "ph", "text", file)
        if raw.get("ph") != "X":
            continue
        category = str(raw.get("cat", "")).lower()
        thread = (_plain(raw, place, "pid", file), _plain(raw, place, "tid", file))
        lane = _lane(category, raw.get("name"), forwards, ops, launches, activities, thread)
        if lane is None:
            continue
        event = _event(category, raw, thread, place, file)
        if event is None:
            incomplete += 1
        else:
            lane.append(event)
    used = {correlation(event) for event in activities}
    launches = [e for e in launches if correlation(e) in used or queues_work(e.name)]
    for lane in (forwards, launches, activities, *ops.values()):
        lane.sort(key=lambda e: (e.start, -e.duration))
    latest = max((abs(event.end) for event in forwards), default=0.0)
    # Epoch microseconds as doubles step by 0.25: children may stick out of their parents by a hair.
    return Lanes(forwards, ops, launches, activities, incomplete, tolerance=0.001 + 2 * math.ulp(latest))


def _odd(raw: Mapping[str, Any], place: int, key: str, expected: str, file: str) -> TraceMalformed:
    return TraceMalformed(f"event {place} ({str(raw.get('name'))[:60]!r}) has {key} {repr(raw.get(key))[:40]}, expected {expected}", where=file, cure=RECORD_AGAIN)


def _plain(raw: Mapping[str, Any], place: int, key: str, file: str) -> object:
    """The process or the thread of an event, as it is written."""
    found = raw.get(key)
    if found is not None and not isinstance(found, (str, int)):
        raise _odd(raw, place, key, "a number or text", file)
    return found


def queues_work(call: str) -> bool:
    """Whether a call of the runtime or the driver queues a kernel, a copy or a memset, so that the GPU should have a record of it."""
    return _LAUNCH_API.match(call) is not None


def _lane(category: str, name: object, forwards: list[Event], ops: Mapping[tuple[object, object], list[Event]], launches: list[Event],
          activities: list[Event], thread: tuple[object, object]) -> list[Event] | None:
    if category in KINDS:
        return activities
    if name == FORWARD and category in ("user_annotation", *_OP_CATEGORIES):
        return forwards
    if category in _OP_CATEGORIES:
        return ops[thread]
    return launches if _HOST_CALL.fullmatch(category) else None


def _event(category: str, raw: Mapping[str, Any], thread: tuple[object, object], place: int, file: str) -> Event | None:
    """The event, or `None` where the profiler recorded no end (`dur` −1) or no time (`ts` and `dur` 0) for it."""
    if not isinstance(raw.get("name"), str):
        raise _odd(raw, place, "name", "text", file)
    start, duration = number(raw.get("ts")), number(raw.get("dur"))
    if start is None or not 0 <= start <= LATEST:
        raise _odd(raw, place, "ts", "a number of microseconds", file)
    if duration is None or duration > LONGEST:
        raise _odd(raw, place, "dur", "a number of microseconds", file)
    if duration < 0 or (category in KINDS and start == 0 and duration == 0):
        return None
    args = raw.get("args")
    return Event(category, signs.name(raw["name"]), thread, start, duration, args if isinstance(args, Mapping) else {})


def number(value: object) -> float | None:
    """A finite number, also where it was written as text; anything else (`"inf"`, `None`, a flag) is `None`."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):  # no number, or a whole one with hundreds of digits
        return None
    return found if math.isfinite(found) else None


def whole(value: object) -> int | None:
    found = number(value)
    return None if found is None else int(found)


def amount(value: object) -> int | None:
    """A whole number that is not below 0, which no size and no count is."""
    found = whole(value)
    return None if found is None or found < 0 else found


def correlation(event: Event) -> int:
    """0 where there is none, which no launch has."""
    return whole(event.args.get("correlation")) or 0
