"""Brings runs and maps that were made elsewhere into docs/runs: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from .. import analysis as facts_room
from .. import run as run_room
from ..company import signals
from ..errors import ReportError
from ..run import device_slug, slots
from ..run import noise as noise_room
from . import merge_maps
from .diff import trees
from .merge_maps import IncomingMap
from .trouble import NothingMerged, Trouble


@dataclass(frozen=True)
class Incoming:
    """A valid run from elsewhere and what it means here.

    state: `new`, `same` (recorded here already, byte for byte), or `other` (would replace another run)
    edited: files that are not as they were saved (see `run.seal`)
    """

    folder: Path
    slot: str
    state: Literal["new", "same", "other"]
    edited: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merged:
    """What came of each run and of each map, or file beside one."""

    runs: tuple[Incoming, ...]
    maps: tuple[IncomingMap, ...] = ()


def find(sources: Sequence[Path]) -> list[Path]:
    """Every run's folder in `sources`: each is one itself, or a tree that holds some.

    Raises:
        ReportError: a source is not there, or holds neither a run nor a map.
    """
    found: list[Path] = []
    for source in sources:
        here = sorted(file.parent for file in source.rglob(run_room.RUN_FILE) if not any(part.startswith(".") for part in file.relative_to(source).parts))
        if not here and not merge_maps.find(source):
            raise ReportError("holds no run and no map", where=str(source), cure="name a folder that has run.json, or map.jsonl, in it or below it")
        found += [folder for folder in here if folder.resolve() not in {one.resolve() for one in found}]
    return found


def survey(folders: Sequence[Path], runs_root: Path, accept: bool = False) -> list[Incoming]:
    """Validates every run and says what it means here; changes nothing.

    Raises:
        NothingMerged: one line per problem: a run that is damaged, two runs for one slot, or a run
            that would replace a different one without `accept`.
    """
    incoming, problems = _survey(folders, runs_root, accept)
    if problems:
        raise NothingMerged(problems)
    return incoming


def _survey(folders: Sequence[Path], runs_root: Path, accept: bool) -> tuple[list[Incoming], list[tuple[Trouble, str]]]:
    problems: list[tuple[Trouble, str]] = []
    incoming: dict[str, Incoming] = {}
    for folder in folders:
        try:
            run = run_room.load(folder)
            facts_room.build(run)
            noise_room.load(folder)
        except ReportError as error:
            problems.append((Trouble.DAMAGED, f"{error.where or folder}: damaged: {error.problem}"))
            continue
        one = Incoming(folder, run.slot, _state(folder, runs_root / run.slot), run.edited or ())
        first = incoming.setdefault(run.slot, one)
        if first is not one and not trees.equal(first.folder, folder):
            problems.append((Trouble.ANOTHER_RUN, f"{folder}: another run of {run.slot} than {first.folder}"))
        elif one.state == "other" and (other := _another_gpu(run, runs_root / run.slot)):
            problems.append((Trouble.ANOTHER_GPU, f"{folder}: another GPU than the one in {run.slot} has that name ({other})"))
        elif one.state == "other" and not accept:
            problems.append((Trouble.WOULD_REPLACE, f"{folder}: would replace a different run of {run.slot}"))
    return list(incoming.values()), problems


def _another_gpu(run: run_room.Run, target: Path) -> str | None:
    """What tells the run's GPU from the recorded one of the same name; `None` if nothing does, or the recorded run cannot be read."""
    try:
        recorded = run_room.load(target)
    except ReportError:
        return None
    return ", ".join(device_slug.differing(asdict(run.device), asdict(recorded.device))) or None


def _state(folder: Path, target: Path) -> Literal["new", "same", "other"]:
    if not (target / run_room.RUN_FILE).is_file():
        return "new"
    return "same" if trees.equal(folder, target) else "other"


def merge(sources: Sequence[Path], runs_root: Path, accept: bool = False,
          then: Callable[[Merged], Callable[[], None]] | None = None) -> Merged:
    """Takes every run in `sources` into its slot below `runs_root`, and every map into its device's folder: all of them, or none.

    Args:
        then: called when they are in; what it returns is called once more, and when that has ended
            they stay. If either fails, nothing has been merged.

    Raises:
        ReportError: as `find` and `survey`, and what `then` raises.
    """
    incoming, problems = _survey(find(sources), runs_root, accept)
    maps, more = merge_maps.survey([file for source in sources for file in merge_maps.find(source)], runs_root, accept)
    if problems or more:
        raise NothingMerged([*problems, *more])
    merged = Merged(tuple(incoming), tuple(maps))
    fresh = [one for one in incoming if one.state != "same"]
    taken = [one for one in maps if one.state in merge_maps.TAKEN]
    if not fresh and not taken:
        return merged
    with slots.all_or_none(runs_root) as together:
        for one in fresh:
            together.place(one.folder)
        for file in taken:
            together.place_file(file.file, file.place)
        last = then(merged) if then else None
        with signals.held():
            if last:
                last()
            together.done()
    return merged
