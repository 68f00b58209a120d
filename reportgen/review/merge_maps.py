"""Maps that were made elsewhere, and what lies beside them: which are new here, which go on, which say less than what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..run import device_slug, names
from ..shapes import answers, bill, folder, record
from ..shapes.beside import EXTRAS_FILE
from ..shapes.record import Header
from .trouble import Trouble

FILES = (record.MAP_FILE, *folder.FILES)


class State(Enum):
    """What a file means here; the value is what is said of it where it was settled."""

    NEW = "new"
    SAME = "recorded here already"
    CONTINUED = "goes on with the recorded one"
    OTHER = "replaced the recorded one"
    SHORTER = "has less than the recorded one of other software, which stays"


TAKEN = (State.NEW, State.CONTINUED, State.OTHER)


@dataclass(frozen=True)
class IncomingMap:
    """A file that can be read. place: below the folder of runs, `nvidia-h200/map.jsonl`; count, recorded: what it holds, and what the recorded one holds (see `Held`)"""

    file: Path
    place: str
    state: State
    count: int
    recorded: int = 0


@dataclass(frozen=True)
class Held:
    """items: what a file says, by what it is said of: calls, or ways of calling that have a price"""

    header: Header
    items: Mapping[Any, Any]


def find(source: Path) -> list[Path]:
    """Every map, and what lies beside one, in `source`; what a command keeps in a folder `aside` is not recorded and left out."""
    def kept(file: Path) -> bool:
        parts = file.relative_to(source).parts
        return not any(part.startswith(".") for part in parts) and "aside" not in parts[:-1]

    return sorted(file for name in FILES for file in source.rglob(name) if kept(file))


def survey(files: Sequence[Path], runs_root: Path, accept: bool = False) -> tuple[list[IncomingMap], list[tuple[Trouble, str]]]:
    """What each file means here, and a line per problem; changes nothing."""
    problems: list[tuple[Trouble, str]] = []
    found: dict[str, IncomingMap] = {}
    for file in files:
        try:
            held = read(file)
        except ReportError as error:
            problems.append((Trouble.DAMAGED, f"{error.where or file}: damaged: {error.problem}"))
            continue
        if wrong := names.problem("device.slug", held.header.device.slug):
            problems.append((Trouble.DAMAGED, f"{file}: damaged: {wrong}"))
            continue
        one, trouble = _settled(file, held, runs_root)
        first = found.setdefault(one.place, one)
        if first is not one and first.file.read_bytes() != file.read_bytes():
            problems.append((Trouble.ANOTHER_MAP, f"{file}: another {file.name} of {held.header.device.slug} than {first.file}"))
        elif trouble is not None:
            problems.append((Trouble.ANOTHER_GPU, f"{file}: another GPU than that of the recorded {one.place} has that name ({trouble})"))
        elif one.state is State.OTHER and not accept:
            problems.append((Trouble.WOULD_REPLACE_MAP, f"{file}: would replace another {one.place}"))
    return list(found.values()), problems


def _settled(file: Path, held: Held, runs_root: Path) -> tuple[IncomingMap, str | None]:
    """What a file means beside the recorded one, and what tells its GPU from that one's."""
    place = f"{held.header.device.slug}/{file.name}"
    target = runs_root / place
    count = len(held.items)
    if not target.is_file():
        return IncomingMap(file, place, State.NEW, count), None
    if target.read_bytes() == file.read_bytes():
        return IncomingMap(file, place, State.SAME, count, count), None
    try:
        old = read(target)
    except ReportError:
        return IncomingMap(file, place, State.OTHER, count), None
    other = ", ".join(device_slug.differing(asdict(held.header.device), asdict(old.header.device))) or None
    same_software = dict(old.header.software) == dict(held.header.software)
    goes_on = same_software and all(held.items.get(key) == value for key, value in old.items.items())
    state = State.CONTINUED if goes_on else State.SHORTER if not same_software and count < len(old.items) else State.OTHER
    return IncomingMap(file, place, state, count, len(old.items)), other


def read(file: Path) -> Held:
    """Raises:
        RunInvalid: the file cannot be read.
    """
    return READERS[file.name](file)


def _points(file: Path) -> Held:
    found = record.read(file)
    return Held(found.header, {point.call: point for point in found.points})


def _answers(file: Path) -> Held:
    found = answers.read(file)
    return Held(found.header, {answer.asked: answer for answer in found.answers})


def _bill(file: Path) -> Held:
    found = bill.read(file)
    return Held(found.header, {(row.id, row.layout): row for row in found.rows if row.first})


READERS: Mapping[str, Callable[[Path], Held]] = {record.MAP_FILE: _points, answers.WHY_FILE: _answers, bill.BILL_FILE: _bill, EXTRAS_FILE: _points, record.UNSEEN_FILE: _points}
