"""The command `compare`: two torches, or one under two settings, interleaved on one device; and `side`, which answers for one of them."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..run import swap
from ..run.layout import Layout
from . import reporting, starting
from .interruption import Stages

DESCRIPTION = """Asks two torches on one device about the calls that people write, with nothing pinned: which backend, ops and kernels run, whether the result is
right, and what a call takes, in fresh processes that take turns (A B B A …). What the rule for two groups of processes calls changed is timed once more, and
counts only if it comes out so again. --python-a is what there was, --python-b what may come; --env-a and --env-b set variables for one side alone.

It writes upgrade.json into the device's folder: docs/runs/<device>/ on a GPU, build/runs/<device>/ on a CPU or with --no-record.
Exit status 1 if a call is slower, wrong, refused or failed on side B and was not on side A."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def register(commands: Any) -> None:
    """Adds the commands to the subparsers of `cli.parser`."""
    from ..numbers.statistics import PROCESSES

    compare = commands.add_parser("compare", help="what an upgrade changes: two torches interleaved on one device", description=DESCRIPTION,
                                  formatter_class=argparse.RawDescriptionHelpFormatter)
    for side, what in (("a", "there was"), ("b", "may come")):
        compare.add_argument(f"--python-{side}", metavar="PATH", help=f"the Python whose torch is what {what} (default: --capture-python)")
        compare.add_argument(f"--env-{side}", metavar="NAME=VALUE …", type=variables, default={}, help="environment variables of this side alone, as a shell would read them")
    compare.add_argument("--capture-python", metavar="PATH", default=sys.executable, help="the Python of a side that names none (default: this one)")
    compare.add_argument("--device", type=reporting.checked_device, metavar="{cuda,cpu}", help="the GPU where there is one, by default")
    compare.add_argument("--calls", metavar="WORDS", default="", help="only the calls whose name or id holds these words")
    compare.add_argument("--processes", type=_processes, default=PROCESSES, metavar="N", help=f"fresh processes of each side and pass ({PROCESSES}; fewer decide nothing about time)")
    compare.add_argument("--no-record", action="store_true", help="write into build/ also on a GPU")
    compare.add_argument("--into", type=Path, metavar="FOLDER", help="write below this folder instead, and make no page")
    starting.register(compare)
    compare.set_defaults(command=_compare, writes="compare", quick=False)

    side = commands.add_parser("side")
    side.set_defaults(command=_side)


def variables(given: str) -> dict[str, str]:
    """`A=1 B="two words"` as a mapping.

    Raises:
        ReportError: a part of it sets no variable.
    """
    try:
        parts = shlex.split(given)
    except ValueError as error:
        raise ReportError(f"{given}: {error}", cure="quote a value that has a blank in it") from None
    found = {}
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals or not _VARIABLE.fullmatch(name):
            raise ReportError(f"{part!r} sets no environment variable", cure="write NAME=VALUE, with blanks between two of them")
        found[name] = value
    return found


def _processes(given: str) -> int:
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= 100:
        raise argparse.ArgumentTypeError(f"{given!r} is no number of processes")
    return int(given)


def _side(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    stages.at(None)
    from ..capture import cupti, side

    os.environ.setdefault("KINETO_LOG_LEVEL", cupti.LOG_LEVEL)
    side.stay()
    return 0


def _compare(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from ..review import upgrade as judging
    from ..review import upgrade_words as words
    from ..shapes import upgrade

    stages.at("what was taken is kept, and the same command goes on from there")
    file = _taken(chosen, layout, stages)
    stages.at(f"the comparison lies in {file}")
    found = upgrade.read(file)
    judged = judging.judged(found)
    where = [f"written to {_shown(file, layout)}", *([] if chosen.into else _pages(file, layout))]
    print("\n".join([*words.terminal(found, judged), "", *where]))
    return int(judging.worse(judged))


def _taken(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> Path:
    """Takes the comparison and writes it; returns the file."""
    from ..run import device_slug
    from ..saying.progress import Progress
    from ..shapes import asked, upgrade
    from .two_sides import Started, Taking

    partial = layout.root / "build" / "compare" / "partial.json"
    progress = Progress(sys.stderr, safe_point=stages.check)
    given = {"a": chosen.env_a, "b": chosen.env_b}
    pythons = {"a": chosen.python_a or chosen.capture_python, "b": chosen.python_b or chosen.capture_python}
    try:
        with ExitStack() as ends:
            sides = {}
            for letter in upgrade.SIDES:
                sides[letter] = Started(letter, pythons[letter], given[letter], layout.root)
                ends.callback(sides[letter].close)
            content = Taking(sides, _chosen_calls(asked.calls, chosen.calls), chosen.processes, progress, given, chosen.device,  # type: ignore[arg-type]
                             _kept(partial), lambda state: _keep(partial, state)).run()
    finally:
        progress.end()
    content["device"]["slug"] = device_slug.distinct(content["device"], layout.recorded_devices())
    root = chosen.into or (layout.live if content["device"]["kind"] == "cpu" or chosen.no_record else layout.recorded)
    file: Path = root / content["device"]["slug"] / upgrade.UPGRADE_FILE
    upgrade.write(file, content)
    partial.unlink(missing_ok=True)
    return file


def _kept(partial: Path) -> Any:
    """What a comparison that was broken off has kept, or `None`."""
    try:
        return json.loads(partial.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _keep(partial: Path, state: dict[str, Any]) -> None:
    partial.parent.mkdir(parents=True, exist_ok=True)
    swap.write_whole(partial, json.dumps(state).encode())


def _chosen_calls(every: Callable[[bool], Any], words: str) -> Callable[[bool], Any]:
    """The calls of a device, those that hold the words.

    Raises:
        ReportError: none does.
    """
    def calls(gpu: bool) -> Any:
        found = [one for one in every(gpu) if words.lower() in f"{one.name} {one.id}".lower()]
        if not found:
            raise ReportError(f"no call holds {words!r}", cure="`python -m reportgen compare --help`; the calls are those of the page Why not flash?")
        return found
    return calls


def _pages(file: Path, layout: Layout) -> list[str]:
    """Renders the pages that show it, where this Python has what that takes, and says where they are."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in ("jinja2", "matplotlib", "mkdocs")):
        return ["this Python makes no pages; `make render` and `make site` do"]
    from ..pages import publish

    if file.is_relative_to(layout.recorded):
        publish.render_recorded(layout)
        publish.build_site(layout, layout.docs)
    else:
        publish.render_live(layout)
        publish.build_site(layout, layout.live_docs)
    return [f"the page: site/runs/{file.parent.name}/upgrade.html"]


def _shown(file: Path, layout: Layout) -> str:
    return str(file.relative_to(layout.root)) if file.is_relative_to(layout.root) else str(file)
