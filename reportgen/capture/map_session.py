"""Taking a map: within its seconds, point by point into the file, through crashes, and on from where it was left."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from variants.backends import BACKENDS

from ..errors import CaptureFailed, ReportError
from ..saying.progress import Progress
from ..shapes import Call, record
from . import mapping, operands, processes
from .faults import ChildFailed

SILENCE = 120.0
"""Seconds after which a point that gives no sign is given up."""
MOST_CRASHES = 12
"""Processes that may end before the rest is left: the device is lost, and not a backend wrong."""


@dataclass
class Taken:
    """Where a map stands. there: points of an earlier session; fresh: of this one; left: not measured; whole: none is left"""

    file: Path
    there: int = 0
    fresh: int = 0
    left: int = 0
    crashes: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        return self.left == 0


def header(survey: dict[str, Any], slug: str) -> dict[str, Any]:
    """The fields of `record.Header`."""
    described = survey["environment"]
    software = {name: value for name, value in described["software"].items() if value is None or isinstance(value, str)}
    return {"schema_version": record.SCHEMA_VERSION, "device": {**described["device"], "slug": slug}, "software": software,
            "settings": described["settings"], "recorded_on": date.today().isoformat(), "rounds": mapping.ROUNDS}


def take(survey: dict[str, Any], calls: Sequence[Call], file: Path, slug: str, seconds: float, progress: Progress, anew: bool = False) -> Taken:
    """Measures those of `calls` that `file` does not hold yet, for `seconds` at most.

    A map of another device or other software is set aside as `map.before.jsonl`; one that is the same is continued.

    Raises:
        CaptureFailed: no point could be measured.
    """
    there = _continued(file, header(survey, slug), anew)
    todo = [call for call in calls if call not in there]
    taken = Taken(file, there=len(there), left=len(todo))
    until = time.monotonic() + seconds
    skip: list[tuple[str, str, str]] = []
    progress.plan("map", 1, min(seconds, len(todo) * 1.0))
    progress.stage("map", "map")
    device = survey["device"]

    def measured(name: str, point: dict[str, Any]) -> None:
        record.append(file, point)
        taken.fresh += 1
        taken.left -= 1
        done.add(name)
        progress.at(f"{taken.fresh + taken.there} of {len(calls)} points", name)

    done: set[str] = set()
    while taken.left and len(taken.crashes) < MOST_CRASHES:
        rest = tuple(call for call in todo if call.id not in done)
        try:
            processes.run(mapping.measure, (mapping.Plan(device, rest, until, tuple(skip)),), at=progress.at, result=measured, patience=SILENCE)
            break
        except ChildFailed as failure:
            taken.crashes.append(f"{failure.subject}, {failure.phase}: {failure.reason}")
            _learn(skip, done, measured, failure, todo)
    progress.done()
    if not taken.fresh and not taken.there and todo and taken.crashes:
        raise CaptureFailed(f"no point of the map could be measured ({taken.crashes[0]})", cure="`make doctor` says what this device can do")
    return taken


def _learn(skip: list[tuple[str, str, str]], done: set[str], measured: Any, failure: ChildFailed, todo: Sequence[Call]) -> None:
    """A backend that ended the process is not tried again at that point; a point that ends it in another way is recorded as failed."""
    call = next((one for one in todo if one.id == failure.subject), None)
    if call is None:
        return
    if failure.phase in BACKENDS and (call.id, failure.phase) not in {(name, backend) for name, backend, _ in skip}:
        skip.append((call.id, failure.phase, failure.reason))
        return
    from dataclasses import asdict

    readings = [{"backend": name, "state": "failed", "reason": failure.reason} for name in BACKENDS]
    measured(call.id, {"call": asdict(call), "picked": None, "readings": readings, "seconds": 0.0, "checked": [0, call.batch * call.kv_heads]})


def _continued(file: Path, fresh: dict[str, Any], anew: bool) -> set[Call]:
    """The calls that the file holds already, where it was begun on this device with this software; else it is begun."""
    if file.is_file():
        try:
            old = record.read(file)
        except ReportError:
            old = None
        if old is not None and not anew and _same(old.header, fresh):
            return {point.call for point in old.points}
        file.replace(file.with_name("map.before.jsonl"))
    record.begin(file, fresh)
    return set()


def _same(old: record.Header, fresh: dict[str, Any]) -> bool:
    return old.device.slug == fresh["device"]["slug"] and dict(old.software) == fresh["software"] and old.schema_version == fresh["schema_version"]


def gpu(device: str) -> bool:
    return operands.is_gpu(device)
