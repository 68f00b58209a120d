"""Puts a whole run into its slot: a copy is made beside it, validated, and exchanged for the former one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import run as run_room
from ..company import signals
from ..errors import RunInvalid
from . import names, swap
from . import noise as noise_room

_TRACE = ".trace.json.gz"


def evidence_files(folder: Path) -> list[Path]:
    """The run's own files in `folder`: `run.json`, the traces that it names, and the floor beside it."""
    run = run_room.load(folder)
    files = [folder / run_room.RUN_FILE, *(variant.trace_path for variant in run.variants.values() if variant.trace_path)]
    floor = folder / noise_room.NOISE_FILE
    return [*files, *([floor] if floor.is_file() else [])]


def place(folder: Path, runs_root: Path) -> Path:
    """Copies the run in `folder` into its slot below `runs_root`, as a whole, and returns the slot's folder.

    What is in the slot and is not evidence (generated pages, charts) stays. The slot's floor stays
    if it was taken with the software of the new run and the new run brings none. An interruption
    leaves the former run as it was.

    Raises:
        RunInvalid: the run in `folder` cannot be read.
    """
    target = names.below(runs_root, runs_root / run_room.load(folder).slot)
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".placing-", dir=target.parent))
    try:
        for file in evidence_files(folder):
            shutil.copyfile(file, staging / file.name)
        put(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        swap.remove_if_empty(target.parent)
    return target


def put(staging: Path, target: Path) -> None:
    """Validates the run in `staging`, takes along what it does not replace, and exchanges the two.

    Raises:
        RunInvalid: what was staged cannot be read; the former run is where it was.
    """
    with signals.held():
        swap.drop(_into_place(staging, target))


def _into_place(staging: Path, target: Path) -> Path | None:
    """As `put`; the former run is kept, and where it lies is returned."""
    run = run_room.load(staging)
    if target.is_dir():
        _keep(target, staging, run)
    os.chmod(staging, 0o755)
    return swap.exchange(staging, target)


class Together:
    """Several runs on their way into their slots; see `all_or_none`."""

    def __init__(self, runs_root: Path) -> None:
        self._root = runs_root
        self._before: dict[str, str | None] = {}

    def place(self, folder: Path) -> Path:
        """As `place`; the former run is kept until the others are in as well."""
        target = names.below(self._root, self._root / run_room.load(folder).slot)
        self._before[target.relative_to(self._root).as_posix()] = swap.digest(target)
        swap.write_journal(self._root, self._before)
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".placing-", dir=target.parent))
        for file in evidence_files(folder):
            shutil.copyfile(file, staging / file.name)
        _into_place(staging, target)
        return target

    def place_file(self, file: Path, place: str) -> Path:
        """The same with one file of a device, to lie at `<device>/<name>` below the runs."""
        target = names.below(self._root, self._root / place)
        self._before[f"{swap.FILE}{place}"] = swap.digest_of(target)
        swap.write_journal(self._root, self._before)
        target.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".placing-", dir=target.parent))
        if target.is_file():
            shutil.copyfile(target, staging / swap.FORMER)
        shutil.copyfile(file, staging / target.name)
        swap.durable(staging)
        os.replace(staging / target.name, target)
        return target

    def done(self) -> None:
        """From here on they stay, whatever happens."""
        swap.close_journal(self._root)


@contextmanager
def all_or_none(runs_root: Path) -> Iterator[Together]:
    """Puts several runs into their slots: all of them stay if the block ends well or comes to `done`, else none does.

    Also if the process is killed inside: `swap.heal` takes back what was put in, at the next start.
    """
    runs_root.mkdir(parents=True, exist_ok=True)
    together = Together(runs_root)
    try:
        yield together
        together.done()
    finally:
        with signals.held():
            swap.heal(runs_root)


def _keep(target: Path, staging: Path, run: run_room.Run) -> None:
    """Copies what a new run does not replace."""
    for entry in target.iterdir():
        if entry.is_dir():
            shutil.copytree(entry, staging / entry.name)
        elif entry.name == noise_room.NOISE_FILE and not (staging / entry.name).exists():
            if _still_fits(target, run):
                shutil.copyfile(entry, staging / entry.name)
        elif (staging / entry.name).exists():
            continue
        elif entry.name != run_room.RUN_FILE and not entry.name.endswith(_TRACE):
            shutil.copyfile(entry, staging / entry.name)


def _still_fits(target: Path, run: run_room.Run) -> bool:
    try:
        floor = noise_room.load(target)
    except RunInvalid:
        return False
    return floor is not None and noise_room.fits(floor, run)
