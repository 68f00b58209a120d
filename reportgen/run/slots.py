"""Puts a whole run into its slot: a copy is made beside it, validated, and swapped in by rename."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from . import names, noise as noise_room
from .. import run as run_room

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
    run = run_room.load(folder)
    target = names.below(runs_root, runs_root / run.slot)
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".placing-", dir=target.parent))
    try:
        if target.is_dir():
            _keep(target, staging, run)
        for file in evidence_files(folder):
            shutil.copyfile(file, staging / file.name)
        run_room.load(staging)
        os.chmod(staging, 0o755)
        swap(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _keep(target: Path, staging: Path, run: run_room.Run) -> None:
    """Copies what a new run does not replace."""
    for entry in target.iterdir():
        if entry.is_dir():
            shutil.copytree(entry, staging / entry.name)
        elif entry.name == noise_room.NOISE_FILE:
            if _still_fits(target, run):
                shutil.copyfile(entry, staging / entry.name)
        elif entry.name != run_room.RUN_FILE and not entry.name.endswith(_TRACE):
            shutil.copyfile(entry, staging / entry.name)


def _still_fits(target: Path, run: run_room.Run) -> bool:
    try:
        floor = noise_room.load(target)
    except run_room.RunInvalid:
        return False
    return floor is not None and noise_room.fits(floor, run)


def swap(staging: Path, target: Path) -> None:
    """Puts `staging` where `target` is, by two renames; the former folder comes back if the second fails."""
    if not target.exists():
        os.replace(staging, target)
        return
    aside = Path(tempfile.mkdtemp(prefix=".replaced-", dir=target.parent))
    try:
        os.replace(target, aside / "run")
        try:
            os.replace(staging, target)
        except OSError:
            os.replace(aside / "run", target)
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
