"""Writing a rendered tree, finding what is stale, and saying where a committed one differs."""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..run import RUN_FILE, names, swap
from ..run.noise import NOISE_FILE
from ..run.source import evidence
from ..shapes import folder
from ..shapes.record import MAP_FILE
from . import map_csv
from .site import MARKER, PYTHON_MARKER, SVG_MARKER

NAVIGATION = "nav.yml"
"""`mkdocs.yml` inherits it."""


def as_bytes(content: str | bytes) -> bytes:
    return content.encode("utf-8") if isinstance(content, str) else content


def write(files: Mapping[str, str | bytes], out: Path) -> None:
    """Writes what changed and removes generated files that no run renders to any more."""
    inside: set[Path] = set()
    for name, content in files.items():
        target = out / name
        if target.is_symlink():
            target.unlink()
        if target.parent not in inside:  # what is no link lies where its folder does
            inside.add(names.below(out, target).parent)
        data = as_bytes(content)
        if not target.is_file() or target.read_bytes() != data:
            target.parent.mkdir(parents=True, exist_ok=True)
            swap.write_whole(target, data)
    for left in out.rglob(f".*{swap.FRESH}"):
        left.unlink()
    for name in stale(files, out):
        (out / name).unlink()
        _prune((out / name).parent, out)


def stale(files: Mapping[str, str | bytes], docs: Path) -> list[str]:
    """Generated files below `docs` (they carry the marker) that are not among `files`."""
    found = [*docs.rglob("*.md"), *docs.rglob("*.svg"), *docs.rglob("*.py"), *docs.rglob("policy.json"), *docs.glob(f"runs/*/{map_csv.FILE}")]
    return sorted(name for file in found if (name := file.relative_to(docs).as_posix()) not in files and _generated(file))


def _generated(file: Path) -> bool:
    """Whether the file carries the marker; a CSV has no room for one, so its name tells."""
    if file.name == map_csv.FILE:
        return True
    with file.open("rb") as handle:
        head = handle.read(600)
    return {".md": MARKER, ".py": PYTHON_MARKER, ".json": PYTHON_MARKER}.get(file.suffix, SVG_MARKER).encode() in head


def _prune(folder: Path, top: Path) -> None:
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def copy_evidence(runs: Mapping[str, Path], out: Path, maps: Sequence[Path] = ()) -> None:
    """Puts the files of each run (slot → folder) below `out/runs/`, where they are not there already."""
    for slot, place in runs.items():
        target = names.below(out, out / "runs" / slot)
        if target.resolve() == place.resolve():
            continue
        target.mkdir(parents=True, exist_ok=True)
        for file in evidence(place):
            if not (target / file.name).is_file() or not filecmp.cmp(file, target / file.name, shallow=False):
                shutil.copyfile(file, target / file.name)
    for file in maps:
        target = names.below(out, out / "runs" / file.parent.name / file.name)
        if target.resolve() != file.resolve():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def drop_evidence(slots: set[str], out: Path, maps: Sequence[Path] = ()) -> None:
    """Removes copied evidence of runs that are gone. Only for an `out` that holds copies, never for the source."""
    for file in sorted((out / "runs").glob(f"*/*/{RUN_FILE}")):
        if file.parent.relative_to(out / "runs").as_posix() not in slots:
            for part in (*file.parent.glob("*.trace.json.gz"), file, file.parent / NOISE_FILE):
                part.unlink(missing_ok=True)
            _prune(file.parent, out)
    kept = {(one.parent.name, one.name) for one in maps}
    for file in sorted(file for name in (MAP_FILE, *folder.EVERY) for file in (out / "runs").glob(f"*/{name}")):
        if (file.parent.name, file.name) not in kept:
            file.unlink()
            _prune(file.parent, out)


def differences(files: Mapping[str, str | bytes], docs: Path) -> list[str]:
    """`path:line: expected …, found …` for each file that is not what it should be."""
    out = []
    for name, content in sorted(files.items()):
        target, data = docs / name, as_bytes(content)
        if not target.is_file():
            out.append(f"{target}:1: expected a generated file, found none")
        elif target.is_symlink():
            out.append(f"{target}:1: expected a generated file, found a link to {os.readlink(target)}")
        elif target.read_bytes() != data:
            out.append(f"{target}:{_first_difference(data, target.read_bytes())}")
    out += [f"{docs / name}:1: expected no such file, found a page that no run renders to" for name in stale(files, docs)]
    return out


def _first_difference(expected: bytes, found: bytes) -> str:
    wanted, there = (data.decode("utf-8", errors="replace").split("\n") for data in (expected, found))
    for number, (a, b) in enumerate(zip(wanted, there), start=1):
        if a != b:
            return f"{number}: expected {_excerpt(a, b)}, found {_excerpt(b, a)}"
    number = min(len(wanted), len(there)) + 1
    more = "more lines" if len(wanted) > len(there) else "the file's end"
    return f"{number}: expected {more}, found {'the file’s end' if len(wanted) > len(there) else 'more lines'}"


def _excerpt(line: str, other: str) -> str:
    """The part of a long line around the first character that differs."""
    start = next((i for i, (a, b) in enumerate(zip(line, other)) if a != b), min(len(line), len(other)))
    left = max(0, start - 40)
    cut = line[left: start + 40]
    return repr(f"{'…' if left else ''}{cut}{'…' if start + 40 < len(line) else ''}")
