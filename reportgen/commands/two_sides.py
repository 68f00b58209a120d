"""Two processes that stay, each with its own Python and environment, asked in turns: A B B A A B B A …"""

from __future__ import annotations

import json
import os
import random
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol

from ..company import parents
from ..errors import CaptureFailed, ReportError
from ..numbers.statistics import Estimate
from ..review import upgrade as judging
from ..saying.progress import Progress
from ..saying.units import plural
from ..shapes.asked import Asked
from ..shapes.upgrade import SCHEMA_VERSION, SIDES
from ..shapes.upgrade import Side as Letter

SEED = 20261203
MOST_CRASHES = 12
"""Processes of a side that may end before it is given up: the device is lost, and no call wrong."""


class Broken(Exception):
    """A process of a side ended. subject: the call that it was at"""

    def __init__(self, subject: str, reason: str) -> None:
        self.subject, self.reason = subject, reason
        super().__init__(reason)


class Side(Protocol):
    """What answers for a side; see `capture.side`."""

    def ask(self, task: dict[str, Any], at: Callable[[str, str], None], result: Callable[[str, Any], None]) -> Any:
        """What the task gives. Raises `Broken`, or a `ReportError` that the side told."""


class Started:
    """A side that is a process. `close` ends it."""

    def __init__(self, letter: Letter, python: str, variables: Mapping[str, str], root: Path) -> None:
        self._letter = letter
        environment = {**{name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}, **variables}
        try:
            self._process = subprocess.Popen([python, "-m", "reportgen", "side"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                             encoding="utf-8", env=parents.followed(environment))
        except OSError as error:
            raise CaptureFailed(f"side {letter.upper()}: {python} cannot be run ({error.strerror})", cure=f"name a Python that has torch: PYTHON_{letter.upper()}=") from None

    def ask(self, task: dict[str, Any], at: Callable[[str, str], None], result: Callable[[str, Any], None]) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._gone() from None
        for line in self._process.stdout:
            told = json.loads(line)
            if "at" in told:
                at(*told["at"])
            elif "result" in told:
                result(*told["result"])
            elif "failed" in told:
                raise Broken(told["failed"]["subject"], f"{told['failed']['reason']} (while: {told['failed']['phase']})")
            elif "error" in told:
                raise ReportError(f"side {self._letter.upper()}: {told['error']['problem']}", cure=told["error"]["cure"])
            else:
                return told["done"]
        raise self._gone()

    def _gone(self) -> CaptureFailed:
        return CaptureFailed(f"side {self._letter.upper()} ended with status {self._process.wait()}",
                             cure=f"see the message above; PYTHON_{self._letter.upper()} must be a Python that has torch")

    def close(self) -> None:
        """Waits for it to end; it ends when nobody can tell it anything any more."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass
        try:
            self._process.wait(5.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@dataclass
class Kept:
    """What has been taken so far; with the same `key` a later command goes on from there. save: called after each process

    seen: side → call → the fields of `Seen` without times; done: one entry per process that has ended
    """

    key: dict[str, Any]
    save: Callable[[dict[str, Any]], None]
    seen: dict[str, dict[str, dict[str, Any]]] = field(default_factory=lambda: {side: {} for side in SIDES})
    untimed: dict[str, str] = field(default_factory=dict)
    done: list[dict[str, Any]] = field(default_factory=list)

    def go_on(self, before: Mapping[str, Any] | None) -> bool:
        """Takes over what an earlier command has kept, if that was asked for the same."""
        if not before or before.get("key") != self.key:
            return False
        self.seen, self.untimed, self.done = before["seen"], before["untimed"], before["done"]
        return True

    def keep(self) -> None:
        self.save({"key": self.key, "seen": self.seen, "untimed": self.untimed, "done": self.done})

    def ended(self, again: bool, number: int, side: Letter) -> bool:
        return any((one["again"], one["number"], one["side"]) == (again, number, side) for one in self.done)

    def times(self, again: bool) -> dict[str, dict[str, dict[str, list[float]]]]:
        """side → call → quantity → one value per process."""
        found: dict[str, dict[str, dict[str, list[float]]]] = {side: {} for side in SIDES}
        for process in self.done:
            for name, times in process["times"].items() if process["again"] is again else ():
                for quantity, seconds in times.items():
                    found[process["side"]].setdefault(name, {}).setdefault(quantity, []).append(seconds)
        return found


@dataclass
class Taking:
    """A comparison while it is taken. calls: from whether the device is a GPU; processes: of each side, in each pass

    before, save: what an earlier command has kept, and how to keep what this one has
    """

    sides: Mapping[Letter, Side]
    calls: Callable[[bool], Sequence[Asked]]
    processes: int
    progress: Progress
    variables: Mapping[Letter, Mapping[str, str]]
    device: str | None = None
    before: Mapping[str, Any] | None = None
    save: Callable[[dict[str, Any]], None] = lambda state: None
    _crashes: int = 0
    _fields: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(self) -> dict[str, Any]:
        """The fields of `shapes.upgrade.Upgrade`.

        Raises:
            ReportError: a side has no torch or no such device, or the two are different devices; or the device was lost.
        """
        self.progress.plan("survey", 2, 6.0)
        surveys = {side: self._survey(side) for side in SIDES}
        device = surveys["a"]["device"]
        if _which(device) != _which(surveys["b"]["device"]):
            raise ReportError(f"side A computes on {device['name']} and side B on {surveys['b']['device']['name']}", cure="give both sides the same device: DEVICE=cuda or DEVICE=cpu")
        self.device = surveys["a"]["chosen"]
        asked = self.calls(device["kind"] != "cpu")
        self._fields = {one.id: asdict(one) for one in asked}
        given: dict[str, Any] = {side: {"software": surveys[side]["software"], "settings": surveys[side]["settings"], "variables": dict(self.variables[side])} for side in SIDES}
        self.kept = Kept({"device": device, "given": given, "processes": self.processes, "asked": [one.id for one in asked]}, self.save)
        if self.kept.go_on(self.before):
            self.progress.note(f"going on after {plural(len(self.kept.done), 'timing process', 'timing processes')} of an earlier command")
        self._show(asked)
        both = [one for one in asked if all(self.kept.seen[side][one.id]["state"] == "ok" for side in SIDES)]
        first = self._pass(both, again=False)
        doubtful = [one for one in both if one.id not in self.kept.untimed and judging.flagged(*(_estimates(first[side].get(one.id, {})) for side in SIDES))]
        second = self._pass(doubtful, again=True)
        return {
            "schema_version": SCHEMA_VERSION, "device": device, "recorded_on": date.today().isoformat(), "processes": self.processes, **given,
            "ran": [{"side": one["side"], "again": one["again"], **one["process"]} for one in self.kept.done],
            "pairs": [{"asked": self._fields[one.id], **{side: self._entry(side, one.id, first[side], second[side]) for side in SIDES}} for one in asked],
        }

    def _survey(self, side: Letter) -> dict[str, Any]:
        self.progress.stage("survey", f"side {side.upper()}: importing torch, looking at the device")
        found: dict[str, Any] = self.sides[side].ask({"do": "survey", "device": self.device}, self.progress.at, _nothing)
        self.progress.done()
        return {name: plain(found[name]) for name in ("chosen", "device", "software", "settings")}

    def _show(self, asked: Sequence[Asked]) -> None:
        self.progress.plan("calls", 2, None)
        self.progress.plan("timing", 2 * self.processes, None)
        for side in SIDES:
            self.progress.stage("calls", f"side {side.upper()}: what runs, and whether it is right")
            self._through(side, "show", asked, self.kept.seen[side], lambda reason: {"state": "failed", "reason": reason})
            self.kept.keep()
            self.progress.done()

    def _pass(self, asked: Sequence[Asked], again: bool) -> dict[str, dict[str, dict[str, list[float]]]]:
        """Times the calls in pairs of processes, A B B A …; side → call → quantity → one value per process."""
        kind = "again" if again else "timing"
        if asked:
            self.progress.plan(kind, 2 * self.processes, None)
        for number in range(self.processes if asked else 0):
            for side in SIDES if number % 2 == 0 else SIDES[::-1]:
                self.progress.stage(kind, f"timing{', once more' if again else ''}, pair {number + 1} of {self.processes}, side {side.upper()}")
                if not self.kept.ended(again, number, side):
                    self._process(side, again, number, [one for one in asked if one.id not in self.kept.untimed])
                self.progress.done()
        return self.kept.times(again)

    def _process(self, side: Letter, again: bool, number: int, asked: list[Asked]) -> None:
        """One timing process; the calls in an order that is the same on both sides of a pair."""
        random.Random(f"{SEED}/{again}/{number}").shuffle(asked)
        told: dict[str, dict[str, Any]] = {}
        process = self._through(side, "time", asked, told, lambda reason: {"untimed": reason})
        for name, times in told.items():
            if "untimed" in times:
                self.kept.untimed.setdefault(name, f"side {side.upper()}: {times['untimed']}")
        timed = {name: times for name, times in told.items() if name not in self.kept.untimed}
        self.kept.done.append({"again": again, "number": number, "side": side, "process": process or {}, "times": timed})
        self.kept.keep()

    def _through(self, side: Letter, do: str, asked: Sequence[Asked], found: dict[str, dict[str, Any]], lost: Callable[[str], dict[str, Any]]) -> Any:
        """Asks for all of them, in another process after a crash, without the call that it was at."""
        while rest := [one for one in asked if one.id not in found]:
            try:
                return self.sides[side].ask({"do": do, "device": self.device, "asked": [self._fields[one.id] for one in rest]}, self.progress.at, found.__setitem__)
            except Broken as broken:
                self._crashes += 1
                if self._crashes > MOST_CRASHES or broken.subject not in {one.id for one in rest}:
                    raise CaptureFailed(f"side {side.upper()}: {broken.reason}", cure="`make doctor` says what this device can do") from None
                found[broken.subject] = lost(broken.reason)
        return None

    def _entry(self, side: Letter, name: str, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of `shapes.upgrade.Seen`. A quantity that a process could not take is left out."""
        entry = self.kept.seen[side][name]
        if name in self.kept.untimed:
            return {**entry, "untimed": self.kept.untimed[name]}
        return {**entry, **{kind: {quantity: values for quantity, values in found.get(name, {}).items() if len(values) == self.processes}
                            for kind, found in (("times", first), ("again", second))}}


def _estimates(times: Mapping[str, list[float]]) -> dict[str, Estimate]:
    return {quantity: Estimate(tuple(values)) for quantity, values in times.items() if values}


def _which(device: Mapping[str, Any]) -> tuple[Any, ...]:
    """What says that two sides mean the same device."""
    return tuple(device.get(name) for name in ("kind", "name", "memory_bytes", "mig_profile"))


def plain(value: Any) -> Any:
    """As it is when it has been kept and read again."""
    return json.loads(json.dumps(value))


def _nothing(key: str, value: Any) -> None:
    return None
