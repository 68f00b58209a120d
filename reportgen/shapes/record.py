"""A recorded map: a header line, then one line per point, appended as it is measured, so that an interrupted map continues."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import RunInvalid
from ..run import scrub
from ..run.decode import Misfit, decode
from ..run.model import DeviceRecord
from ..run.ranges import Count, Seconds
from ..run.write import known
from .call import Call

MAP_FILE = "map.jsonl"
UNSEEN_FILE = "unseen.jsonl"
"""Of the same form: calls that the map has not, drawn by `benchmarks.heldout`, by which the advice is judged."""
SCHEMA_VERSION = 1
State = Literal["ok", "wrong", "refused", "failed", "no memory"]
CURE = "continue or record it anew with `make map`, or restore the file from version control"


@dataclass(frozen=True)
class Reading:
    """One backend at one point.

    state: `wrong` where the output or a gradient lies beyond what rounding excuses; `refused` in torch's words; `failed`: broke off
    gpu: seconds per call, one value per round (on a CPU wall time); empty where it was not timed, and fewer where it is out of the running
    host: seconds that a call costs the CPU, one value per round; empty on a CPU
    first: seconds of the very first call in its process
    peak_bytes: above the inputs
    error, allowed: relative, of the tensor that is furthest off, and what rounding excuses there; tensor: which one it is
    """

    backend: str
    state: State
    reason: str | None = None
    gpu: tuple[Seconds, ...] = ()
    host: tuple[Seconds, ...] = ()
    first: Seconds | None = None
    peak_bytes: Count | None = None
    error: float | None = None
    allowed: float | None = None
    tensor: str | None = None


@dataclass(frozen=True)
class Point:
    """A call, what torch picks for it with nothing pinned, and every backend's reading; seconds: that the point took.

    checked: how many (batch, kv head) groups of the result were held beside FP64, of how many
    """

    call: Call
    picked: str | None
    readings: tuple[Reading, ...]
    seconds: float
    checked: tuple[int, ...] = ()

    def reading(self, backend: str) -> Reading | None:
        return next((one for one in self.readings if one.backend == backend), None)


@dataclass(frozen=True)
class Header:
    """Where a map was taken.

    software: name → version; settings: the switches that change dispatch or results
    recorded_on: the day it was begun, `2026-12-03`
    """

    schema_version: int
    device: DeviceRecord
    software: Mapping[str, str | None]
    settings: Mapping[str, Any] = field(default_factory=dict)
    recorded_on: str = ""
    rounds: int = 0


@dataclass(frozen=True)
class ShapeMap:
    """header, and the points in the order in which they were measured, each call once."""

    header: Header
    points: tuple[Point, ...]

    @property
    def by_call(self) -> dict[Call, Point]:
        return {point.call: point for point in self.points}


def begin(file: Path, header: dict[str, Any]) -> None:
    """Writes a new map that has no point yet."""
    file.parent.mkdir(parents=True, exist_ok=True)
    _write(file, "w", scrub.content(header, scrub.Machine.here()))


def append(file: Path, point: dict[str, Any]) -> None:
    """Adds one point, whole or not at all: a line that a kill cut short is left out when the file is read."""
    _write(file, "a", point)


def _write(file: Path, mode: str, content: dict[str, Any]) -> None:
    line = json.dumps(known(content), ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"
    if mode == "a" and file.stat().st_size and not _ends_well(file):
        _drop_last(file)
    with open(file, mode, encoding="utf-8") as opened:
        opened.write(line)
        opened.flush()
        os.fsync(opened.fileno())


def _ends_well(file: Path) -> bool:
    with file.open("rb") as opened:
        opened.seek(-1, os.SEEK_END)
        return opened.read(1) == b"\n"


def _drop_last(file: Path) -> None:
    """Takes away a line without an end."""
    content = file.read_bytes()
    with file.open("rb+") as opened:
        opened.truncate(content.rfind(b"\n") + 1)


def discover(root: Path) -> list[Path]:
    """Every map below a folder of devices, in the order of their names."""
    return sorted(file for file in root.glob(f"*/{MAP_FILE}") if not file.parent.name.startswith(".") and not file.is_symlink())


def read(file: Path) -> ShapeMap:
    """The map in `file`. A last line without an end was cut short by a kill and is left out.

    Raises:
        RunInvalid: names the file, the line and the field.
    """
    header, found = lines(file, Point)
    points: dict[Call, Point] = {}
    for point in found:
        points.setdefault(point.call, point)
    return ShapeMap(header, tuple(points.values()))


def lines(file: Path, kind: Any) -> tuple[Header, list[Any]]:
    """The header in the first line, and a `kind` in each that follows; raises as `read`."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunInvalid(f"cannot be read ({error})", where=str(file), cure=CURE) from None
    found = text.split("\n")[:-1]
    if not found:
        raise RunInvalid("is empty, expected a header and points", where=str(file), cure=CURE)
    header: Header = _line(Header, found[0], file, 1)
    if header.schema_version > SCHEMA_VERSION:
        raise RunInvalid(f"was written by a newer version (schema {header.schema_version}, this one reads {SCHEMA_VERSION})", where=str(file), cure="update this checkout")
    return header, [_line(kind, line, file, number) for number, line in enumerate(found[1:], start=2)]


def _line(kind: Any, line: str, file: Path, number: int) -> Any:
    where = f"{file}:{number}"
    try:
        return decode(kind, json.loads(line))
    except Misfit as misfit:
        raise RunInvalid(str(misfit), where=where, cure=CURE) from None
    except (ValueError, RecursionError):
        raise RunInvalid("is no JSON", where=where, cure=CURE) from None


def as_fields(reading: Reading) -> dict[str, Any]:
    """The fields of a reading that are known, for its line."""
    return {name: value for name, value in asdict(reading).items() if value not in (None, (), [])}
