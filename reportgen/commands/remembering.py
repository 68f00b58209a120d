"""`history`: what the slots of every device held before, from git, into `history.jsonl` beside their runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..run.layout import Layout
from ..saying.units import listed, plural, verb
from . import starting
from .interruption import Stages

DESCRIPTION = """Reads from git every state that the run.json of each slot in docs/runs had, compares each with the one before as `diff` does, and writes
docs/runs/<device>/history.jsonl, from which the device's history page is made. A shallow clone does not have the older states: what the file
has of them already is kept, and the command says so."""


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    history = commands.add_parser("history", help="read from git what each slot held before, for the history pages", description=DESCRIPTION,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    history.add_argument("devices", metavar="DEVICE", nargs="*", help="only these folders of docs/runs (default: all that have a run)")
    starting.register(history)
    history.set_defaults(command=_history, writes="history")


def _history(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from ..errors import ReportError
    from ..review.history import gather
    from ..run import discover, names
    from ..run.history import HISTORY_FILE, write

    stages.at("the histories that were written are whole; the same command writes the rest")
    there = sorted({folder.parent.name for folder in discover(layout.recorded)})
    for slug in chosen.devices:
        if slug not in there:
            raise ReportError(f"docs/runs has no device {slug!r} with a run", cure=f"name one of: {', '.join(there)}" if there else "record a run with `make report`")
    if not there:
        raise ReportError("no run is recorded, so there is no history", cure="record one with `make report`")
    for slug in chosen.devices or there:
        file = names.below(layout.recorded, layout.recorded / slug / HISTORY_FILE)
        found = gather(layout.root, slug, _before(file, layout) if file.is_file() else None)
        changed = write(file, found.history)
        print("\n".join(_said(file.relative_to(layout.root), found, changed)))
    print("`make render` writes the pages that show it")
    return 0


def _before(file: Path, layout: Layout) -> Any:
    """What the file has; `None` where it is damaged and this clone has all that was in it.

    Raises:
        RunInvalid: it is damaged, and nobody else here has it; or a newer program wrote it.
    """
    from ..errors import RunInvalid
    from ..review.history import Repository
    from ..run.history import Newer, read

    try:
        return read(file)
    except RunInvalid as error:
        if isinstance(error, Newer) or Repository(layout.root).shallow:
            raise
        print(f"{file.relative_to(layout.root)} is damaged, and read anew from git: {error.problem}")
        return None


def _said(file: Path, found: Any, changed: bool) -> list[str]:
    states, slots = sum(found.read.values()) + sum(found.kept.values()), len(found.read)
    lines = [f"{file}: {plural(states, 'state')} of {plural(slots, 'slot')}{'' if changed else ', as it was'}"]
    if found.cut:
        kept = sum(found.kept.values())
        has = f"{plural(kept, 'state')} that the file has {verb(kept, 'is', 'are')} kept as {verb(kept, 'it was', 'they were')}" if kept else "the file has none of it"
        lines += [f"this clone is shallow and does not go back to what {listed(list(found.cut))} held first; {has}", "  what to do: git fetch --unshallow, then make history"]
    for slot, count in found.dropped.items():
        lines.append(f"{plural(count, 'state')} of {slot} that the file had {verb(count, 'is', 'are')} in no commit, and left out")
    return lines
