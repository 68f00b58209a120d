"""Taking a map: within its seconds, point by point into the file, through crashes, and on from where it was left."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from variants.backends import BACKENDS

from ..errors import CaptureFailed, ReportError
from ..saying.progress import Progress
from ..shapes import record
from . import mapping, operands, processes
from .faults import ChildFailed

SILENCE = 120.0
"""Seconds after which a point that gives no sign is given up."""
MOST_CRASHES = 12
"""Processes that may end before the rest is left: the device is lost, and not a backend wrong."""


@dataclass
class Taken:
    """Where a map stands. there: points of an earlier session; fresh: of this one; left: not measured; whole: none is left

    recorded: points of the recorded file with other software that stays because it has more; `file` then lies aside. 0 where none stays.
    """

    file: Path
    there: int = 0
    fresh: int = 0
    left: int = 0
    crashes: list[str] = field(default_factory=list)
    recorded: int = 0

    @property
    def whole(self) -> bool:
        return self.left == 0


def _lost(call: Any, reason: str) -> dict[str, Any]:
    readings = [{"backend": name, "state": "failed", "reason": reason} for name in BACKENDS]
    return {"call": asdict(call), "picked": None, "readings": readings, "seconds": 0.0, "checked": [0, call.batch * call.kv_heads]}


def _points(file: Path) -> tuple[record.Header, set[Any]]:
    known = record.read(file)
    return known.header, {point.call for point in known.points}


@dataclass(frozen=True)
class Work:
    """What is measured item by item; an item has an `id`.

    name: of the stage; noun: what one item is
    target, plan: the function of a fresh process, and its argument from (device, items, until, skip)
    there: the header of a file and the items that it holds; lost: the fields of an item that ended its process, for a reason
    choices: phases that can be left out of an item where they end its process
    """

    name: str
    noun: str
    target: Callable[..., Any]
    plan: Callable[..., Any]
    there: Callable[[Path], tuple[record.Header, set[Any]]]
    lost: Callable[[Any, str], dict[str, Any]]
    choices: tuple[str, ...] = tuple(BACKENDS)


MAP = Work("map", "points", mapping.measure, mapping.Plan, _points, _lost)


def header(survey: dict[str, Any], slug: str) -> dict[str, Any]:
    """The fields of `record.Header`."""
    described = survey["environment"]
    software = {name: value for name, value in described["software"].items() if value is None or isinstance(value, str)}
    return {"schema_version": record.SCHEMA_VERSION, "device": {**described["device"], "slug": slug}, "software": software,
            "settings": described["settings"], "recorded_on": date.today().isoformat(), "rounds": mapping.ROUNDS}


def take(survey: dict[str, Any], items: Sequence[Any], file: Path, slug: str, seconds: float, progress: Progress, anew: bool = False, work: Work = MAP,
         aside: Path | None = None) -> Taken:
    """Measures those of `items` that `file` does not hold yet, for `seconds` at most.

    A file that was begun on this device with this software is continued. Beside one of another device or software a fresh one is taken, and it becomes the
    recorded one when it is whole or has at least as many points; until then it is kept aside, and the next call continues it there.

    Args:
        anew: begin afresh in any case; a former file is kept aside as `map.before.jsonl`
        aside: the folder where what is not recorded is kept; `aside` beside `file` if not given

    Raises:
        CaptureFailed: nothing could be measured.
    """
    place = Place(file, aside or file.parent / "aside")
    there = place.begin(header(survey, slug), anew, work)
    todo = [item for item in items if item not in there]
    taken = Taken(place.at, there=len(there), left=len(todo))
    until = time.monotonic() + seconds
    skip: list[tuple[str, str, str]] = []
    progress.plan(work.name, 1, min(seconds, len(todo) * 1.0))
    progress.stage(work.name, work.name)
    device = survey["device"]

    def measured(name: str, point: dict[str, Any]) -> None:
        record.append(place.at, point)
        taken.fresh += 1
        taken.left -= 1
        done.add(name)
        progress.at(f"{taken.fresh + taken.there} of {len(items)} {work.noun}", name)

    done: set[str] = set()
    while taken.left and len(taken.crashes) < MOST_CRASHES:
        rest = tuple(item for item in todo if item.id not in done)
        try:
            processes.run(work.target, (work.plan(device, rest, until, tuple(skip)),), at=progress.at, result=measured, patience=SILENCE)
            break
        except ChildFailed as failure:
            taken.crashes.append(f"{failure.subject}, {failure.phase}: {failure.reason}")
            _learn(skip, measured, failure, todo, work)
    progress.done()
    taken.file, taken.recorded = place.end(taken)
    if not taken.fresh and not taken.there and todo and taken.crashes:
        raise CaptureFailed(f"none of the {work.noun} of the {work.name} could be measured ({taken.crashes[0]})", cure="`make doctor` says what this device can do")
    return taken


def _learn(skip: list[tuple[str, str, str]], measured: Any, failure: ChildFailed, todo: Sequence[Any], work: Work) -> None:
    """A backend that ended the process is not tried again at that item; an item that ends it in another way is recorded as failed."""
    item = next((one for one in todo if one.id == failure.subject), None)
    if item is None:
        return
    if failure.phase in work.choices and (item.id, failure.phase) not in {(name, backend) for name, backend, _ in skip}:
        skip.append((item.id, failure.phase, failure.reason))
        return
    measured(item.id, work.lost(item, failure.reason))


class Place:
    """Where a file is written: in its place, or aside while the recorded one has more to say. file: its place; aside: a folder"""

    def __init__(self, file: Path, aside: Path) -> None:
        self.at, self._file, self._aside, self._recorded = file, file, aside, 0

    def begin(self, fresh: dict[str, Any], anew: bool, work: Work) -> set[Any]:
        """What is held already of what the header `fresh` begins; where nothing is, it is begun."""
        old, items = _held(self._file, work)
        if old is not None and not anew and same(old, fresh):
            return items
        if old is not None and not anew and items:
            self.at, self._recorded = self._aside / self._file.name, len(items)
            old, items = _held(self.at, work)
            if old is not None and same(old, fresh):
                return items
        elif self._file.is_file():
            self._set_aside()
        record.begin(self.at, fresh)
        return set()

    def end(self, taken: Taken) -> tuple[Path, int]:
        """Makes a file that lies aside the recorded one where it has earned that. Gives where it lies, and how many points of the recorded one keep it aside."""
        if self.at != self._file and (taken.whole or taken.there + taken.fresh >= self._recorded):
            fresh = self.at
            self._set_aside()
            move(fresh, self._file)
            self.at, self._recorded = self._file, 0
        return self.at, self._recorded

    def _set_aside(self) -> None:
        self._aside.mkdir(parents=True, exist_ok=True)
        move(self._file, self._aside / f"{self._file.stem}.before{self._file.suffix}")


def move(file: Path, target: Path) -> None:
    """Puts `file` where `target` is, whole, also on another disk."""
    beside = target.with_name(f".{target.name}.new")
    shutil.copyfile(file, beside)
    beside.replace(target)
    file.unlink()


def _held(file: Path, work: Work) -> tuple[record.Header | None, set[Any]]:
    """A file's header and items; `None` where there is none that can be read."""
    try:
        return work.there(file) if file.is_file() else (None, set())
    except ReportError:
        return None, set()


def same(old: record.Header, fresh: dict[str, Any]) -> bool:
    """Whether a file was begun on this device with this software."""
    return old.device.slug == fresh["device"]["slug"] and dict(old.software) == fresh["software"] and old.schema_version == fresh["schema_version"]


def gpu(device: str) -> bool:
    return operands.is_gpu(device)
