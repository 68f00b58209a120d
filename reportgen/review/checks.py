"""What `make check` looks at beside the pages: that the folders in docs/runs are whole, named right, and wanted."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .. import analysis as facts_room
from .. import run as run_room
from ..errors import ReportError
from ..run import Run, history, swap
from ..run import noise as noise_room
from ..shapes import folder as beside_maps
from ..shapes import record


@dataclass(frozen=True)
class Looked:
    """disorder: a line per problem, with its cure; notes: what a person may want to know, and need not mend"""

    disorder: tuple[str, ...]
    notes: tuple[str, ...]


def look(docs: Path, lock_torch: str | None = None) -> Looked:
    """Looks through the folders of the recorded runs.

    Args:
        docs: the docs folder; its `runs/` is looked through.
        lock_torch: the version that requirements/capture.txt pins.
    """
    root = docs / "runs"
    runs, problems = readable(docs)
    return Looked((*_leftovers(root, docs), *problems, *_unnamed_traces(runs, docs), *_misnamed(runs, root, docs), *_featured(root)),
                  (*_edited(runs, docs), *_other_torch(runs, lock_torch), *_behind(runs, docs)))


def _shown(path: Path, docs: Path) -> str:
    return f"{docs.name}/{path.relative_to(docs).as_posix()}"


def _slot_folders(root: Path) -> list[Path]:
    return sorted(folder for folder in root.glob("*/*") if folder.is_dir()) if root.is_dir() else []


def _leftovers(root: Path, docs: Path) -> list[str]:
    """Folders without a run: pages and charts of a device that was removed or renamed; traces no run names."""
    found = []
    for folder in _slot_folders(root):
        if folder.name.startswith("."):
            found.append(f"{_shown(folder, docs)}: left by a killed command; `make render` brings back the run in it, or removes it")
        elif not (folder / run_room.RUN_FILE).is_file():
            found.append(f"{_shown(folder, docs)}: pages or charts of a run that is not there; remove the folder, or restore its run.json")
    devices = sorted(folder for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else []
    return found + [f"{_shown(folder, docs)}: a device without any run; remove the folder" for folder in devices
                    if not any(entry.is_dir() for entry in folder.iterdir()) and not any((folder / name).is_file() for name in (record.MAP_FILE, *beside_maps.FILES))]


def readable(docs: Path) -> tuple[list[Run], list[str]]:
    """The recorded runs that can be read with traces and floor, and for each run or map that cannot its file, what is wrong and the cure."""
    runs, problems = [], []
    for folder in run_room.discover(docs / "runs"):
        try:
            run = run_room.load(folder)
            facts_room.build(run)
            noise_room.load(folder)
            runs.append(run)
        except ReportError as error:
            where = (error.where or str(folder)).removeprefix(f"{docs.parent}/")
            problems.append(f"{where}: {error.problem}; {error.cure or 'restore the folder from version control'}")
    return runs, problems + _unreadable_maps(docs)


def _unreadable_maps(docs: Path) -> list[str]:
    found = []
    for file in record.discover(docs / "runs"):
        try:
            record.read(file)
        except ReportError as error:
            found.append(f"{(error.where or str(file)).removeprefix(f'{docs.parent}/')}: {error.problem}; {error.cure}")
    for file in beside_maps.discover(docs / "runs"):
        if (problem := beside_maps.problem(file)) is not None:
            found.append(f"{(problem.where or str(file)).removeprefix(f'{docs.parent}/')}: {problem.problem}; {problem.cure}")
    return found


def _unnamed_traces(runs: Sequence[Run], docs: Path) -> list[str]:
    return [f"{_shown(file, docs)}: a trace that run.json does not name; remove it" for run in runs
            for file in sorted(run.path.glob("*.trace.json.gz")) if file not in {variant.trace_path for variant in run.variants.values()}]


def _misnamed(runs: Sequence[Run], root: Path, docs: Path) -> list[str]:
    """Folders whose name is not the slot that run.json gives: renamed by hand, or copied."""
    return [f"{_shown(run.path, docs)}: holds the run of {run.slot}; move it there, or restore the folder's name"
            for run in runs if run.path.relative_to(root).as_posix() != run.slot]


def _edited(runs: Sequence[Run], docs: Path) -> list[str]:
    """Runs whose seal does not fit. Told and no failure: it tells a typed number from a measured one, and who is to judge is a person."""
    return [f"{_shown(run.path, docs)}: {', '.join(run.edited)} changed after the run was saved, so its seal does not fit: ask who changed what, and why"
            for run in runs if run.edited]


ASSETS = "assets"


def strangers(docs: Path, rendered: Collection[str], configuration: str) -> list[str]:
    """One line per file in `docs` that is neither rendered nor evidence nor wanted by the site: it would be published all the same.

    Args:
        rendered: paths below `docs` that the recorded runs render to.
        configuration: the text of mkdocs.yml, which names the style sheets and scripts.
    """
    wanted = {*rendered, "runs/FEATURED"}
    for folder in run_room.discover(docs / "runs"):
        place = folder.relative_to(docs).as_posix()
        wanted |= {f"{place}/{run_room.RUN_FILE}", f"{place}/{noise_room.NOISE_FILE}", *(f"{place}/{file.name}" for file in folder.glob("*.trace.json.gz"))}
    wanted |= {file.relative_to(docs).as_posix() for file in (*record.discover(docs / "runs"), *beside_maps.discover(docs / "runs"))}
    found = []
    for file in sorted(docs.rglob("*")):
        name = file.relative_to(docs).as_posix()
        if file.is_symlink():
            found.append(f"{docs.name}/{name}: is a link to {os.readlink(file)}; put the file itself there, or remove it")
        elif not file.is_file() or name in wanted or (name.startswith(f"{ASSETS}/") and name in configuration):
            continue
        elif file.name.startswith(".") and file.name.endswith(swap.FRESH) or name.startswith(f"runs/{swap.JOURNAL}"):
            found.append(f"{docs.name}/{name}: left by a killed command; `make render` removes it")
        elif not any(part.startswith(".") for part in file.relative_to(docs).parts):  # what is hidden is not published
            found.append(f"{docs.name}/{name}: no run renders to it, and it is no evidence; remove it")
    missing = [name for name in sorted(set(re.findall(rf"{ASSETS}/[\w./-]+", configuration))) if not (docs / name).is_file() or not (docs / name).stat().st_size]
    return found + [f"{docs.name}/{name}: mkdocs.yml wants it, and it is {'empty' if (docs / name).is_file() else 'not there'}; restore it from version control" for name in missing]


def _featured(root: Path) -> list[str]:
    file = root / "FEATURED"
    if not file.is_file():
        slots = [folder.relative_to(root).as_posix() for folder in run_room.discover(root)]
        return [f"{root.parent.name}/runs/FEATURED: is missing; write into it the run that the front page shows: {', '.join(slots)}"] if slots else []
    named = file.read_text(encoding="utf-8", errors="replace").strip()
    return [] if (root / named / run_room.RUN_FILE).is_file() else [f"{root.parent.name}/runs/FEATURED: names {named!r}, which has no run; name one that is there"]


def _other_torch(runs: Sequence[Run], lock: str | None) -> list[str]:
    if not lock:
        return []
    plain = lock.split("+")[0]
    others: dict[str, list[str]] = {}
    for run in runs:
        torch = run.software.get("torch")
        if torch and torch.split("+")[0] != plain:
            others.setdefault(torch, []).append(run.slot)
    return [f"recorded with torch {torch}: {', '.join(slots)}. requirements/capture.txt has {lock}, for machines that have no torch; "
            "a run is made with the torch that its machine has, so there is nothing to mend" for torch, slots in sorted(others.items())]


def _behind(runs: Sequence[Run], docs: Path) -> list[str]:
    """Runs that are recorded and not yet among the states of their device's history, where there is one that can be read."""
    found = []
    for file in sorted((docs / "runs").glob(f"*/{history.HISTORY_FILE}")):
        with suppress(ReportError):
            last = {slot: states[-1].recorded_on for slot, states in history.read(file).slots.items()}
            lacks = [run.slot for run in runs if run.path.parent == file.parent and last.get(run.path.name) != run.recorded_on]
            found += [f"{_shown(file, docs)} does not have the recorded run of {', '.join(lacks)} yet; `make history` adds it"] if lacks else []
    return found
