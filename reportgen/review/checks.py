"""What `make check` looks at beside the pages: that the folders in docs/runs are whole, named right, and wanted."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from .. import analysis as facts_room
from .. import run as run_room
from ..errors import ReportError
from ..run import Run
from ..run import noise as noise_room

NOTE = "note: "


def extra(docs: Path, lock_torch: str | None = None) -> list[str]:
    """One line per problem; a line that starts with `note: ` is no failure.

    Args:
        docs: the docs folder; its `runs/` is looked through.
        lock_torch: the version that requirements/capture.txt pins.
    """
    root = docs / "runs"
    runs, problems = readable(docs)
    return [*_leftovers(root, docs), *problems, *_unnamed_traces(runs, docs), *_misnamed(runs, root, docs), *_featured(root), *_other_torch(runs, lock_torch)]


def _shown(path: Path, docs: Path) -> str:
    return f"{docs.name}/{path.relative_to(docs).as_posix()}"


def _slot_folders(root: Path) -> list[Path]:
    return sorted(folder for folder in root.glob("*/*") if folder.is_dir()) if root.is_dir() else []


def _leftovers(root: Path, docs: Path) -> list[str]:
    """Folders without a run: pages and charts of a device that was removed or renamed; traces no run names."""
    found = []
    for folder in _slot_folders(root):
        if folder.name.startswith("."):
            found.append(f"{_shown(folder, docs)}: left by an interrupted save; remove it")
        elif not (folder / run_room.RUN_FILE).is_file():
            found.append(f"{_shown(folder, docs)}: pages or charts of a run that is not there; remove the folder, or restore its run.json")
    devices = sorted(folder for folder in root.iterdir() if folder.is_dir()) if root.is_dir() else []
    return found + [f"{_shown(folder, docs)}: a device without any run; remove the folder" for folder in devices
                    if not any(entry.is_dir() for entry in folder.iterdir())]


def readable(docs: Path) -> tuple[list[Run], list[str]]:
    """The recorded runs that can be read with traces and floor, and for each that cannot its file, what is wrong and the cure."""
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
    return runs, problems


def _unnamed_traces(runs: Sequence[Run], docs: Path) -> list[str]:
    return [f"{_shown(file, docs)}: a trace that run.json does not name; remove it" for run in runs
            for file in sorted(run.path.glob("*.trace.json.gz")) if file not in {variant.trace_path for variant in run.variants.values()}]


def _misnamed(runs: Sequence[Run], root: Path, docs: Path) -> list[str]:
    """Folders whose name is not the slot that run.json gives: renamed by hand, or copied."""
    return [f"{_shown(run.path, docs)}: holds the run of {run.slot}; move it there, or restore the folder's name"
            for run in runs if run.path.relative_to(root).as_posix() != run.slot]


def _featured(root: Path) -> list[str]:
    file = root / "FEATURED"
    if not file.is_file():
        slots = [folder.relative_to(root).as_posix() for folder in run_room.discover(root)]
        return [f"{root.parent.name}/runs/FEATURED: is missing; write into it the run that the front page shows: {', '.join(slots)}"] if slots else []
    named = file.read_text(encoding="utf-8").strip()
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
    return [f"{NOTE}recorded with torch {torch}: {', '.join(slots)}. requirements/capture.txt has {lock}, for machines that have no torch; "
            "a run is made with the torch that its machine has, so there is nothing to mend" for torch, slots in sorted(others.items())]
