"""Two torches, or one under two settings, beside each other on one device: what each does with the calls that people write. As data.

`upgrade.json` is recorded beside the map. Side A is what there was, side B what may come.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..errors import RunInvalid
from ..run import scrub
from ..run.decode import Misfit, decode
from ..run.model import DeviceRecord
from ..run.ranges import Count, Megahertz, Setting, Share, Size, Times
from ..run.write import known
from .asked import Asked
from .record import State

UPGRADE_FILE = "upgrade.json"
SCHEMA_VERSION = 1
CURE = "take it again with `make compare`, or restore the file from version control"
Side = Literal["a", "b"]
SIDES: tuple[Side, Side] = ("a", "b")


@dataclass(frozen=True)
class Given:
    """What a side was. variables: those of the environment that were set for it alone, by name"""

    software: Mapping[str, str | None]
    settings: Mapping[str, Setting | Mapping[str, str]] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seen:
    """What one side does with one call, with nothing pinned.

    state, reason: as a map's reading has them; picked: the backend whose op was dispatched
    ops: dispatched one after another in a forward; kernels: of one call in the order of their begin, `None` on a CPU and where the profiler lost some
    error, allowed, tensor: relative, beside FP64, of the tensor that is furthest off
    inputs, output: digests of the bits; output is `None` where a second call gave other bits
    times: quantity → one value per fresh process, in seconds; again: the same of the second pass, where there was one
    untimed: why there are no times
    """

    state: State
    reason: str | None = None
    picked: str | None = None
    ops: tuple[str, ...] = ()
    kernels: tuple[str, ...] | None = None
    error: float | None = None
    allowed: float | None = None
    tensor: str | None = None
    inputs: str | None = None
    output: str | None = None
    times: Mapping[str, Times] = field(default_factory=dict)
    again: Mapping[str, Times] = field(default_factory=dict)
    untimed: str | None = None


@dataclass(frozen=True)
class Pair:
    """A call on both sides."""

    asked: Asked
    a: Seen
    b: Seen


@dataclass(frozen=True)
class Process:
    """A timing process, in the order in which they ran.

    again: of the second pass; sm_mhz: the middle of what NVML said between calls; throttle: its reasons
    neighbours: other compute processes on the GPU; others_cpu_share: of all processors, used by somebody else
    """

    side: Side
    again: bool = False
    sm_mhz: Megahertz | None = None
    throttle: tuple[str, ...] = ()
    neighbours: Count | None = None
    others_cpu_share: Share | None = None


@dataclass(frozen=True)
class Upgrade:
    """processes: asked for, of each side and pass; ran: in order"""

    schema_version: Size
    device: DeviceRecord
    recorded_on: str
    processes: Size
    a: Given
    b: Given
    ran: tuple[Process, ...]
    pairs: tuple[Pair, ...]

    def given(self, side: Side) -> Given:
        return self.a if side == "a" else self.b


def write(file: Path, content: dict[str, Any]) -> None:
    """Writes the fields of an `Upgrade`, scrubbed and whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.new")
    fresh.write_text(json.dumps(known(scrub.content(content)), ensure_ascii=False, allow_nan=False, indent=1) + "\n", encoding="utf-8")
    fresh.replace(file)


def read(file: Path) -> Upgrade:
    """The comparison in `file`.

    Raises:
        RunInvalid: names the file and the field.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RunInvalid(f"cannot be read ({error})", where=str(file), cure=CURE) from None
    try:
        found: Upgrade = decode(Upgrade, data)
    except Misfit as misfit:
        raise RunInvalid(str(misfit), where=str(file), cure=CURE) from None
    if found.schema_version > SCHEMA_VERSION:
        raise RunInvalid(f"was written by a newer version (schema {found.schema_version}, this one reads {SCHEMA_VERSION})", where=str(file), cure="update this checkout")
    return found
