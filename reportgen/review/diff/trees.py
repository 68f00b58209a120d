"""Two states of all recorded runs, slot by slot: a git ref, a folder of runs, or one run."""

from __future__ import annotations

import io
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from ... import run as run_room
from ...errors import ReportError
from ...run.noise import NOISE_FILE
from ...shapes import folder
from ...shapes.record import MAP_FILE
from . import beside as beside_room
from . import maps as maps_room
from .compare import compare
from .model import RunDiff, Side
from .sides import load

EVIDENCE = (run_room.RUN_FILE, NOISE_FILE, ".trace.json.gz")
BESIDE = (MAP_FILE, *folder.FILES)
"""Evidence of a device that lies beside its runs."""


@dataclass(frozen=True)
class TreeDiff:
    """old, new: what the two states are called
    changed: slot → comparison, for slots whose evidence differs
    added, removed: slots that only one side has
    same: slots whose evidence is the same, byte for byte
    unreadable: slot, or file of a map → why one of its sides could not be read
    maps: device → comparison, where both sides have a map and they differ; new_maps: device → calls, where only the new side has one
    beside: device → what lies beside the map compared, where both sides have some of it and it differs
    """

    old: str
    new: str
    changed: Mapping[str, RunDiff]
    added: Mapping[str, Side]
    removed: tuple[str, ...]
    same: tuple[str, ...]
    unreadable: Mapping[str, str]
    maps: Mapping[str, maps_room.MapDiff] = field(default_factory=dict)
    new_maps: Mapping[str, int] = field(default_factory=dict)
    beside: Mapping[str, beside_room.BesideDiff] = field(default_factory=dict)


def slots(root: Path) -> dict[str, Path]:
    """Slot → folder of every run below `root`, by the folders' names: `<device>/<workload>`."""
    return {f"{folder.parent.name}/{folder.name}": folder for folder in run_room.discover(root)}


def compare_trees(old_name: str, old: Mapping[str, Path], new_name: str, new: Mapping[str, Path]) -> TreeDiff:
    """Compares slot with slot. A run that cannot be read is named, and the others are compared all the same."""
    changed: dict[str, RunDiff] = {}
    added: dict[str, Side] = {}
    unreadable: dict[str, str] = {}
    same = [slot for slot in sorted(old.keys() & new.keys()) if equal(old[slot], new[slot])]
    for slot in sorted(new):
        if slot in same:
            continue
        try:
            if slot in old:
                changed[slot] = compare(load(old[slot]), load(new[slot]))
            else:
                added[slot] = load(new[slot])
        except ReportError as error:
            unreadable[slot] = error.problem
    removed = tuple(slot for slot in sorted(old) if slot not in new)
    maps, new_maps = _maps(maps_room.files(old), maps_room.files(new), unreadable)
    return TreeDiff(old_name, new_name, changed, added, removed, tuple(same), unreadable, maps, new_maps, _beside(old, new, unreadable))


def _maps(old: Mapping[str, Path], new: Mapping[str, Path], unreadable: dict[str, str]) -> tuple[dict[str, maps_room.MapDiff], dict[str, int]]:
    """The maps of both sides compared, and how many calls those have that only the new side has; one that cannot be read is put into `unreadable`."""
    differ, fresh = {}, {}
    for slug, file in new.items():
        try:
            if slug not in old:
                fresh[slug] = len(maps_room.load(file).spots)
            elif old[slug].read_bytes() != file.read_bytes():
                differ[slug] = maps_room.compare(maps_room.load(old[slug]), maps_room.load(file))
        except ReportError as error:
            unreadable[f"{slug}/{MAP_FILE}"] = error.problem
    return differ, fresh


def _beside(old: Mapping[str, Path], new: Mapping[str, Path], unreadable: dict[str, str]) -> dict[str, beside_room.BesideDiff]:
    """What lies beside the maps of devices that both sides have; what cannot be read is put into `unreadable`, and costs its device alone."""
    found = {}
    before, after = ({run.parent.name: run.parent for run in side.values()} for side in (old, new))
    for slug in sorted(before.keys() & after.keys()):
        if all(_bytes(before[slug] / name) == _bytes(after[slug] / name) for name in folder.FILES):
            continue
        try:
            found[slug] = beside_room.compare(folder.of(before[slug]), folder.of(after[slug]))
        except ReportError as error:
            unreadable[f"{slug}/{Path(error.where or '').name.partition(':')[0]}"] = error.problem
    return found


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.is_file() else None


def evidence(folder: Path) -> dict[str, bytes]:
    """The files of a run's folder that are evidence, by name; pages and charts beside them are not."""
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file() and file.name.endswith(EVIDENCE)}


def equal(one: Path, other: Path) -> bool:
    """Whether both folders hold the same evidence, byte for byte."""
    return evidence(one) == evidence(other)


@contextmanager
def at_ref(ref: str, root: Path, below: str = "docs/runs") -> Iterator[dict[str, Path]]:
    """The runs as they were where `ref` and HEAD parted, which is what a pull request is compared with.

    Raises:
        ReportError: `ref` names no commit of this repository.
    """
    commit = _parting(ref, root)
    with tempfile.TemporaryDirectory(prefix="runs-") as folder:
        if git_said(root, "ls-tree", "-d", commit, below).strip():
            unpack(git_said(root, "archive", "--format=tar", commit, below), Path(folder))
        yield slots(Path(folder) / below)


def unpack(packed: bytes, folder: Path) -> None:
    """Writes the evidence in a tar archive below `folder`; pages and charts are left in it."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() and member.name.endswith((*EVIDENCE, *BESIDE)) else None
            if content is not None:
                file = folder / member.name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content.read())


def _parting(ref: str, root: Path) -> str:
    found = asked(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if found.returncode:
        _refuse(ref, found)
    commit = found.stdout.decode().strip()
    parted = asked(root, "merge-base", commit, "HEAD")
    if parted.returncode == 0:
        return parted.stdout.decode().strip()
    if asked(root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true":
        raise ReportError(f"this clone is shallow and does not go back to where {ref!r} and HEAD parted", cure="fetch the rest: git fetch --unshallow")
    return commit


def _refuse(ref: str, asked: subprocess.CompletedProcess[bytes]) -> NoReturn:
    """Why git has no such commit, in its own words where it has any: another owner's checkout, no checkout at all."""
    said = asked.stderr.decode(errors="replace").strip()
    if (command := cure_of_git(said)) is not None:
        raise ReportError(f"{ref!r} cannot be looked up; git says: {said.splitlines()[0].removeprefix('fatal: ')}", cure=command)
    if "not a git repository" in said:
        raise ReportError(f"{ref!r} is no run and no folder of runs, and this is no git checkout that could have it as a commit",
                          cure="give two runs, or two folders of runs: make diff BASE=… HEAD=…")
    if said:
        raise ReportError(f"{ref!r} cannot be looked up; git says: {said.splitlines()[-1].removeprefix('fatal: ')}", cure="mend what git says")
    raise ReportError(f"{ref!r} is neither a run, nor a folder of runs, nor a commit of this repository",
                      cure="give a run's folder or slot, or a branch, tag or commit (`git fetch` may be needed first)")


def cure_of_git(said: str) -> str | None:
    """What git itself says is to be done about another owner's checkout; `None` where it says nothing of that."""
    command = re.search(r"^\s*(git config .*safe\.directory .*)$", said, re.M)
    return f"tell git that the checkout is yours: {command[1]}" if command else None


def asked(root: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, env={**os.environ, "LC_ALL": "C"}, check=False)
    except FileNotFoundError:
        raise ReportError("git is not installed, and only it knows the runs of a commit", cure="install git, or give two runs or folders of runs") from None


def git_said(root: Path, *arguments: str) -> bytes:
    done = asked(root, *arguments)
    if done.returncode:
        raise ReportError(f"git {arguments[0]} failed: {done.stderr.decode(errors='replace').strip()}", cure="run it in a checkout of the report's repository")
    return done.stdout
