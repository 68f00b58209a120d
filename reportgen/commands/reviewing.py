"""The commands of a reviewer: `diff BASE [HEAD]` and `merge DIR…`.

Imported by every command, also by `profile` on a Python without the pages' packages, so everything
else is imported inside functions.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..run.layout import Layout
from . import starting
from .interruption import Stages

GATE_NAMES = ("probe", "verdict", "structure", "slower")
_HELP = """Compares recorded runs: what a reviewer of regenerated pages must look at, in Markdown.

BASE and HEAD are each a run (its folder or slot), a folder of runs, or a git ref. A ref stands for
docs/runs at the commit where it and HEAD parted. Without HEAD the runs in docs/runs are compared."""


@dataclass(frozen=True)
class State:
    """What BASE or HEAD stands for: slot → run's folder. single: it named one run."""

    name: str
    slots: Mapping[str, Path]
    single: bool = False

    def only(self, slot: str) -> State:
        return replace(self, slots={slot: self.slots[slot]})


def register(commands: Any) -> None:
    """Adds the commands to the subparsers of `cli.parser`."""
    diff = commands.add_parser("diff", help="what changed between runs, for a pull request", description=_HELP,
                               formatter_class=argparse.RawDescriptionHelpFormatter)
    diff.add_argument("base", metavar="BASE", help="a git ref, a run, or a folder of runs")
    diff.add_argument("head", metavar="HEAD", nargs="?", help="likewise (default: the runs in docs/runs)")
    diff.add_argument("--json", action="store_true", help="one JSON object instead of Markdown")
    diff.add_argument("--output", metavar="FILE", help="write there instead of to the terminal")
    diff.add_argument("--fail-on", metavar="|".join(GATE_NAMES), action="append", choices=GATE_NAMES, default=[],
                      help="end with status 1 on such a difference; may be given more than once")
    diff.set_defaults(command=_diff)

    merge = commands.add_parser("merge", help="take runs made elsewhere into docs/runs, and render once")
    merge.add_argument("sources", metavar="DIR", nargs="*", type=Path, help="a run's folder, or a folder with several runs in it, or maps")
    merge.add_argument("--dirs", default="", help=argparse.SUPPRESS)  # make's DIRS: several in one text
    merge.add_argument("--accept", action="store_true", help="let an incoming run replace a different one of its slot")
    starting.register(merge)
    merge.set_defaults(command=_merge, makes_pages=True, writes="merge")


def named_folders(text: str) -> list[Path]:
    """The folders in make's DIRS: one whose name may hold blanks, or several as a shell would read them.

    Raises:
        ReportError: a quotation mark is missing.
    """
    if Path(text).is_dir():
        return [Path(text)]
    try:
        return [Path(one) for one in shlex.split(text)]
    except ValueError as error:
        raise ReportError(f"DIRS={text}: {error}", cure="quote each folder that has a blank in its name") from None


def _merge(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    stages.at("nothing was merged")
    sources = [*chosen.sources, *(named_folders(chosen.dirs) if chosen.dirs else [])]
    if not sources:
        raise ReportError("no folder is named", cure='name the runs: make merge DIRS="folder …"')
    take_in(sources, layout, stages, chosen.accept)
    return 0


def take_in(sources: Sequence[Path], layout: Layout, stages: Stages, accept: bool) -> None:
    """Takes runs and maps in, all or none; renders once if anything is new, and says for each what became of it."""
    from ..pages import publish
    from ..review import merge, merge_maps
    from ..review.trouble import NothingMerged

    said = {"new": "new", "same": "recorded here already", "other": "replaced the recorded run"}
    writing: list[bool] = []

    def pages(merged: merge.Merged) -> Callable[[], None]:
        done = publish.rendered(layout, otherwise=next((one.slot for one in merged.runs), None))

        def write() -> None:
            writing.append(True)
            done.write()

        return write

    try:
        merged = merge.merge(sources, layout.recorded, accept, pages)
    except (ReportError, OSError) as error:
        if writing and not _as_they_were(layout):
            stages.at("nothing was merged, and some pages are half written; `make render` writes them anew")
        if isinstance(error, (OSError, NothingMerged)):
            raise
        raise ReportError(f"nothing was merged: {error.problem}", where=error.where, cure=error.cure) from None
    stages.at("all is merged, and the pages are written")
    if merged.runs:
        layout.feature_first(merged.runs[0].slot)
    for one in merged.runs:
        print(f"{one.slot}: {said[one.state]}" + (f"; {', '.join(one.edited)} changed after the run was saved: its seal does not fit" if one.edited else ""))
    for each in merged.maps:
        held = f" ({each.count} instead of {each.recorded})" if each.state not in (merge_maps.State.NEW, merge_maps.State.SAME) else ""
        print(f"{each.place}: {each.state.value}{held}")


def _as_they_were(layout: Layout) -> bool:
    """Writes the pages of what was recorded before, after those of a merge could not be written."""
    from ..pages import publish

    try:
        publish.render_recorded(layout)
    except (ReportError, OSError):
        return False
    return True


def _diff(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    """Prints the comparison; 1 if a gate caught something."""
    from ..review.diff import as_json, gates, render
    from ..review.diff.trees import compare_trees, slots

    with ExitStack() as opened:
        old = _state(chosen.base, layout, opened)
        new = _state(chosen.head, layout, opened) if chosen.head else State("docs/runs", slots(layout.recorded))
        old, new = _matched(old, new)
        diff = compare_trees(old.name, old.slots, new.name, new.slots)
        text = json.dumps(as_json.tree_json(diff), indent=1, ensure_ascii=False) + "\n" if chosen.json else render.tree_markdown(diff)
    if chosen.output:
        Path(chosen.output).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    caught = gates.failed(diff, chosen.fail_on)
    for line in caught:
        print(f"caught by --fail-on {line}", file=sys.stderr)
    return 1 if caught else 0


def _state(name: str, layout: Layout, opened: ExitStack) -> State:
    from .. import run as run_room
    from ..review.diff.trees import at_ref, slots

    for folder in (Path(name), layout.live / name, layout.recorded / name):
        if (folder / run_room.RUN_FILE).is_file():
            return State(name, {run_room.load(folder).slot: folder}, single=True)
    if Path(name).is_dir() and run_room.discover(Path(name)):
        return State(name, slots(Path(name)))
    return State(name, opened.enter_context(at_ref(name, layout.root)))


def _matched(old: State, new: State) -> tuple[State, State]:
    """Brings a single run and its counterpart together.

    Two single runs are compared with each other whatever their slots. One against many is compared
    with the run of its own slot only, so that the others do not read as new or gone.
    """
    if not (old.single or new.single):
        return old, new
    slot = next(iter(new.slots if new.single else old.slots))
    if old.single and new.single:
        old = replace(old, slots={slot: next(iter(old.slots.values()))})
    for state in (old, new):
        if slot not in state.slots:
            raise ReportError(f"{state.name} has no run of {slot}", cure="name two runs")
    if old.slots[slot].resolve() == new.slots[slot].resolve():
        raise ReportError(f"{slot} would be compared with itself", cure="name a second run, or a git ref as BASE")
    return old.only(slot), new.only(slot)
