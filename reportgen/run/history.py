"""What a device's slots held before, state by state, and what changed from one state to the next: as data, read from version control.

`history.jsonl` lies beside the device's map: a header, then a line per state, the slots in order and the oldest state of each first. A slot
holds the latest run alone, and a shallow clone or an unpacked archive has no others, so pages are made from this file (`make history` writes it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Optional

from ..errors import RunInvalid
from ..numbers.quantities import QUANTITIES, may_replace
from . import names, swap
from .decode import Misfit, decode
from .ranges import Known, Line, Setting, Share, Size, Times

HISTORY_FILE = "history.jsonl"
SCHEMA_VERSION = 1
CURE = "take it again with `make history` in a whole clone, or restore the file from version control"
DECIDING = tuple(name for name in QUANTITIES if may_replace(name))
"""What may replace a recorded run, in the order of columns; nothing else is called a change here."""
Part = Literal["device", "label", "workload", "software", "setting", "host", "protocol"]
About = Literal["clock", "neighbours", "evidence"]


class Newer(RunInvalid):
    """The file is of a newer program, which this one must not write over."""


@dataclass(frozen=True)
class Held:
    """A variant in a state.

    state: a value of `analysis.State`; backend: of SDPA, whose op was dispatched; seen: what ran on the device is known
    times: quantity → one value per fresh process, in seconds
    """

    title: Line
    state: str
    backend: str | None = None
    seen: bool = False
    timer: str | None = None
    times: Mapping[Annotated[str, Known(DECIDING)], Times] = field(default_factory=dict)


@dataclass(frozen=True)
class Around:
    """What surrounds a run and is not the same on both sides; baseline: no time is held against the code because of it."""

    part: Part
    key: str
    name: str
    old: str | None = None
    new: str | None = None
    baseline: bool = False


@dataclass(frozen=True)
class Condition:
    """How a run was taken, or evidence that one side has alone."""

    about: About
    name: str
    old: str | None = None
    new: str | None = None


@dataclass(frozen=True)
class Exact:
    """Something exact that differs in a variant (see `review.diff.StructureChange`). renamed: a kernel under another name, launched alike."""

    variant: str
    kind: str
    what: str
    old: Setting = None
    new: Setting = None
    times: Size = 1
    subject: str | None = None
    renamed: bool = False


@dataclass(frozen=True)
class Timing:
    """A deciding time on both sides. low, high: new ÷ old with 99 % confidence; threshold: the least relative change that would have counted."""

    variant: str
    quantity: str
    significant: bool
    threshold: Share
    low: Share | None = None
    high: Share | None = None


@dataclass(frozen=True)
class Flip:
    """A claim with another verdict."""

    claim: str
    old: str
    new: str


@dataclass(frozen=True)
class ProbeTurn:
    """A probe of a wrong result that came out otherwise for one choice of backend. old, new: outcomes of `run.Tried`"""

    name: Line
    choice: str
    old: str
    new: str


@dataclass(frozen=True)
class Step:
    """From an older state to this one. since: the older state's `blob`"""

    since: str
    around: tuple[Around, ...] = ()
    conditions: tuple[Condition, ...] = ()
    exact: tuple[Exact, ...] = ()
    timings: tuple[Timing, ...] = ()
    flips: tuple[Flip, ...] = ()
    probes: tuple[ProbeTurn, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Past:
    """A state of a slot.

    slot: the last part of the slot's path; blob: git's name for the content of its `run.json`
    committed: day of the commit that brought it, `None` where it is in no commit yet; recorded_on: as the run says
    default_backend: what torch picks with nothing pinned
    problem: why it cannot be read; then there is nothing else
    cut: what the slot held before is not in the clone that this was read from
    before: how it differs from the last state that could be read
    """

    slot: str
    blob: str
    committed: str | None = None
    recorded_on: str = ""
    software: Mapping[str, Optional[str]] = field(default_factory=dict)
    default_backend: str | None = None
    variants: Mapping[str, Held] = field(default_factory=dict)
    problem: str | None = None
    cut: bool = False
    before: Step | None = None

    @property
    def day(self) -> str:
        """ISO 8601, of the recording where it is known."""
        return self.recorded_on or self.committed or ""


@dataclass(frozen=True)
class Header:
    """device: its name"""

    schema_version: Size
    device: Line


@dataclass(frozen=True)
class History:
    """states: slot by slot, the oldest first"""

    header: Header
    states: tuple[Past, ...]

    @property
    def slots(self) -> dict[str, tuple[Past, ...]]:
        """Slot → its states, the oldest first."""
        return {slot: tuple(one for one in self.states if one.slot == slot) for slot in dict.fromkeys(one.slot for one in self.states)}


def write(file: Path, found: History) -> bool:
    """Writes the file as a whole; says whether it is another one than before."""
    lines = [_compact(asdict(found.header)), *(_compact(asdict(one)) for one in found.states)]
    content = "".join(f"{json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n" for line in lines).encode()
    if file.is_file() and file.read_bytes() == content:
        return False
    swap.write_whole(file, content)
    return True


def _compact(value: Any) -> Any:
    """JSON without what is at its default, which is nothing; an estimate is its samples."""
    if isinstance(value, dict):
        if set(value) == {"samples"}:
            return list(value["samples"])
        return {name: kept for name, item in value.items() if (kept := _compact(item)) not in (None, [], {}, False, "") or name in ("significant", "old", "new")}
    return [_compact(item) for item in value] if isinstance(value, (list, tuple)) else value


def read(file: Path) -> History:
    """The history in `file`.

    Raises:
        RunInvalid: names the file, the line and the field.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RunInvalid(f"cannot be read ({error})", where=str(file), cure=CURE) from None
    lines = [line for line in text.split("\n") if line]
    if not lines:
        raise RunInvalid("is empty, expected a header and states", where=str(file), cure=CURE)
    header: Header = _line(Header, lines[0], file, 1)
    if header.schema_version > SCHEMA_VERSION:
        raise Newer(f"was written by a newer version (schema {header.schema_version}, this one reads {SCHEMA_VERSION})", where=str(file), cure="update this checkout")
    states: list[Past] = []
    for number, line in enumerate(lines[1:], start=2):
        one: Past = _line(Past, line, file, number)
        problem = _fault(one, states)
        if problem:
            raise RunInvalid(problem, where=f"{file}:{number}", cure=CURE)
        states.append(one)
    return History(header, tuple(states))


def _line(kind: Any, line: str, file: Path, number: int) -> Any:
    where = f"{file}:{number}"
    try:
        return decode(kind, json.loads(line))
    except Misfit as misfit:
        raise RunInvalid(str(misfit), where=where, cure=CURE) from None
    except (ValueError, RecursionError):
        raise RunInvalid("is no JSON", where=where, cure=CURE) from None


def _fault(one: Past, earlier: list[Past]) -> str | None:
    """What a state says that the states before it do not allow."""
    workload, _, label = one.slot.partition("+")
    if not names.fits(workload) or ("+" in one.slot and not names.fits(label)):
        return names.problem("slot", one.slot) or f"slot is {one.slot!r}, which names no folder"
    if earlier and one.slot != earlier[-1].slot and one.slot in {each.slot for each in earlier}:
        return f"slot is {one.slot!r}, and its other states do not stand beside it"
    if one.before is None:
        return None
    old = next((each for each in reversed(earlier) if each.slot == one.slot and each.blob == one.before.since), None)
    if old is None:
        return f"before.since is {one.before.since!r}, and no earlier state of the slot has that blob"
    for timing in one.before.timings:
        if not all(timing.variant in each.variants and timing.quantity in each.variants[timing.variant].times for each in (old, one)):
            return f"before.timings has {timing.quantity} of {timing.variant!r}, which the two states do not have"
    return None
