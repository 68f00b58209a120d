"""The disk before and after: room is looked for before time is spent, and a measured run is not lost to a full disk."""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..company import belongings, disk
from ..company.disk import Need
from ..errors import ReportError
from ..run.layout import Layout

MIB = 1 << 20
TEMPORARY, PASSES, EVIDENCE, SITE = 64 * MIB, 16 * MIB, 8 * MIB, 8 * MIB
"""What a report writes at most where nothing is recorded yet: raw traces and compiled code in the temporary folder,
two passes in build/, a run with its pages in docs/, and the site. The largest seen were a third of that."""
SITE_TO_DOCS = 4
"""Pages become HTML with navigation and search index."""


def look(layout: Layout, chosen: argparse.Namespace) -> None:
    """Looks whether the folders that this command writes to take files, and have room.

    Raises:
        ReportError: they do not.
    """
    pages = disk.size(layout.docs)
    live = chosen.device == "cpu" or chosen.no_record or chosen.quick
    needs = [Need(Path(tempfile.gettempdir()), TEMPORARY, ", or set TMPDIR to a folder on another disk"),
             Need(layout.root / "build", PASSES + (pages if live else 0))]
    into = getattr(chosen, "into", None)
    needs += [Need(into, EVIDENCE)] if into else []
    if chosen.writes in ("report", "noise"):
        needs.append(Need(layout.site, max(0, SITE + SITE_TO_DOCS * pages - disk.size(layout.site))))
    if not live and (chosen.device == "cuda" or a_gpu_is_likely()):
        needs += [Need(layout.recorded, EVIDENCE), Need(layout.docs, 0), Need(layout.root, 0)]
    disk.ready(needs, layout.root)


def a_gpu_is_likely() -> bool:
    """Whether there is a driver of a GPU; which device torch takes is known only when it has been started."""
    if os.path.exists("/dev/kfd"):
        return True
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def saved(data: dict[str, Any], traces: Mapping[str, dict[str, Any]], root: Path) -> Path:
    """Saves a measured run below `root`, and where that disk does not take it, anywhere else.

    Raises:
        ReportError: the run is not below `root`; says where it is.
    """
    try:
        return _saved(data, traces, root)
    except OSError as error:
        problem, cure = disk.explain(error)
        for other in _elsewhere():
            try:
                folder = _saved(data, traces, Path(tempfile.mkdtemp(prefix="reportgen-run-", dir=other)))
            except OSError:
                continue
            raise ReportError(f"{problem}; the run lies in {folder}", cure=f"{cure}; then `make merge DIRS={folder}` takes it in") from None
        raise ReportError(f"{problem}, and no other folder took the run, so it is lost", cure=f"{cure}; then record again") from None


def _saved(data: dict[str, Any], traces: Mapping[str, dict[str, Any]], root: Path) -> Path:
    """Saves the run, without its counters where it is they that do not fit: a tool's odd value costs no run that was measured.

    Raises:
        ReportError: another part does not fit, which is a fault of this program; says where the rest lies.
    """
    from .. import run
    from ..errors import RunInvalid
    from ..run.write import known

    try:
        return run.save(data, traces, root)
    except RunInvalid as misfit:
        if data.get("counters"):
            return _saved({**data, "counters": None, "counters_reason": f"what the tool gave does not fit ({misfit.problem})"}, traces, root)
        file = Path(tempfile.mkdtemp(prefix="reportgen-run-", dir=next(iter(_elsewhere()), None))) / "measured.json"
        file.write_text(json.dumps(known(data)), encoding="utf-8")
        raise ReportError(f"what was measured does not fit together ({misfit.problem}); this is a fault of this program, and the numbers lie in {file}",
                          cure="report it with that file; the former run is untouched") from None


def _elsewhere() -> list[Path]:
    """Folders on other disks, perhaps, that outlive this command."""
    temporary = Path(tempfile.gettempdir())
    places = [temporary.parent if temporary.name.startswith(belongings.FOLDER) else temporary, Path("~").expanduser(), Path.cwd().parent]
    return [place for place in places if place.is_dir()]


def print_folder(folder: Path) -> None:
    """A run's folder on standard output, byte for byte: who reads it may have another encoding."""
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(folder) + b"\n")
    sys.stdout.flush()
