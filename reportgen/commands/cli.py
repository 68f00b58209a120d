"""The commands. Thin: each one calls the rooms above and says in the terminal what came of it.

Imports lie inside the commands, so that `profile` runs where only torch is, and the others where
there is no torch.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import ReportError
from ..run import names
from ..run.layout import Layout
from ..run.workload import ARTICLE, NATIVE_BFLOAT16, PRESETS, SIZES, altered
from ..saying.units import plural
from . import saving, starting
from .contained import PAGES_PACKAGES, Parser, contained
from .interruption import Stages

ROOT = Path(__file__).resolve().parents[2]
QUICK = "quick"
"""The label of a quick run, so that it never stands in for a whole one."""

DESCRIPTION = """Profiles attention variants on this machine and turns the recorded runs into a site.

A run is evidence: it is recorded once, by `profile`, on a Python that has torch. Everything else is
made from recorded runs, without torch and without a GPU."""

PROFILE = f"""Records a run on this machine: below docs/runs/ on a GPU, below build/runs/ on a CPU. It replaces the
run that is in its slot without comparing the two; `report` compares first. --sequence and the other sizes change the
workload of --workload, or without that the device's own: article on a GPU (article-fp16 before compute capability
{NATIVE_BFLOAT16}), small on a CPU."""

EPILOG = """examples:
  python -m reportgen profile --device cpu            record a run of this machine's CPU
  python -m reportgen profile --sequence 2048         the device's own workload but for the sequence
  python -m reportgen render --check                  are the committed pages what the runs render to?
  python -m reportgen facts nvidia-h200/article --json
  python -m reportgen probes                          does SDPA give right results here? exit status 1 if not

`make help` lists the commands that make the environments as well."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, 2 for an error of the user's, 130, 143 or 129 when interrupted."""
    return contained(lambda stages: _run(arguments, stages), ROOT)


def _run(arguments: Sequence[str] | None, stages: Stages) -> int:
    chosen = parser().parse_args(arguments)
    for name in PAGES_PACKAGES if getattr(chosen, "makes_pages", False) else ():
        if importlib.util.find_spec(name) is None:  # charts would ask for theirs only after profiling
            raise ModuleNotFoundError(name=name)
    with starting.at_work(chosen, Layout(ROOT)):
        status = chosen.command(chosen, Layout(ROOT), stages) or 0
        sys.stdout.flush()
        stages.check()
        return int(status)


def parser() -> argparse.ArgumentParser:
    from . import asking, comparing, doctor, explaining, fleet, mapping, probing, remembering, reporting, reviewing, serving

    root = Parser(prog="python -m reportgen", description=DESCRIPTION, epilog=EPILOG,
                  formatter_class=argparse.RawDescriptionHelpFormatter)
    root.add_argument("--version", action="version", version=f"reportgen {__version__}")
    commands = root.add_subparsers(required=True, metavar="COMMAND")

    profile = commands.add_parser("profile", help="record a run on this machine (needs torch); prints its folder", description=PROFILE)
    profile.add_argument("--into", metavar="DIR", type=Path, help="write the run below DIR, whatever the device")
    profile.add_argument("--for-report", action="store_true", help=argparse.SUPPRESS)  # who started it tells of an interruption
    reporting.capture_options(profile)
    starting.register(profile)
    profile.set_defaults(command=_profile, writes="profile")

    render = commands.add_parser("render", help="write docs/ and the README's table from the runs in docs/runs/")
    render.add_argument("--check", action="store_true", help="write nothing; name each page and line that differs, and exit with 2")
    render.add_argument("--live", action="store_true", help="show the runs in build/runs as well: write build/docs, and build site/ from there")
    starting.register(render)
    render.set_defaults(command=_render, makes_pages=True, writes="render")

    site = commands.add_parser("site", help="build site/ from docs/, strictly")
    starting.register(site)
    site.set_defaults(command=_site, makes_pages=True, writes="site")

    facts = commands.add_parser("facts", help="print what a run shows, and how each claim comes out")
    facts.add_argument("run", metavar="RUN", help="a run's folder, or its slot (nvidia-h200/article)")
    facts.add_argument("--json", action="store_true", help="one JSON object for other tools, instead of the summary")
    facts.set_defaults(command=_facts)

    doctor.register(commands)
    probing.register(commands)
    mapping.register(commands)
    asking.register(commands)
    explaining.register(commands)
    comparing.register(commands)
    fleet.register(commands)
    remembering.register(commands)
    serving.register(commands)
    reporting.register(commands)
    reviewing.register(commands)
    return root


def own_sizes(chosen: argparse.Namespace) -> dict[str, Any]:
    """The sizes and the element type given by flag; the preset that they change is the resolved device's.

    Raises:
        ReportError: one makes no sense on any device.
    """
    changes = {name: getattr(chosen, name) for name in (*SIZES, "dtype") if getattr(chosen, name) is not None}
    altered(ARTICLE, changes)
    return changes


def checked_label(label: str | None) -> str | None:
    """`label` if it can be part of a folder's name.

    Raises:
        ReportError: it can not.
    """
    if label and not names.fits(label):
        raise ReportError(f"the label {label!r} cannot be part of a folder's name", cure=f"use {names.WORDS}")
    return label or None


def _label(chosen: argparse.Namespace) -> str | None:
    """The label of the run: a quick one is always labelled."""
    parts = [checked_label(chosen.label), QUICK if chosen.quick else None]
    return "-".join(part for part in parts if part) or None


def _profile(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    stages.at(None if chosen.for_report else "the former run, if there is one, is untouched")
    sizes, label = own_sizes(chosen), _label(chosen)
    if not chosen.for_report:
        saving.look(layout, chosen)
    from .. import run
    from ..capture import cupti, session
    from ..numbers.statistics import PROCESSES
    from ..run import device_slug
    from ..saying.progress import Progress
    from . import reporting

    os.environ.setdefault("KINETO_LOG_LEVEL", cupti.LOG_LEVEL)

    request = session.CaptureRequest(device=chosen.device, workload=PRESETS[chosen.workload] if chosen.workload else None, sizes=sizes, label=label,
                                     variants=tuple(chosen.variants) if chosen.variants else None,
                                     counters=chosen.counters, quick=chosen.quick, processes=1 if chosen.quick else PROCESSES, force=chosen.force)
    shown = Progress(sys.stderr, safe_point=stages.check, after=reporting.pages_seconds(layout).items() if chosen.for_report else ())
    try:
        data, traces = session.capture(request, shown)
    finally:
        shown.end()
    recorded = data["device"]["kind"] != "cpu" and not chosen.no_record and not chosen.quick and not chosen.into
    data["device"]["slug"] = device_slug.distinct(data["device"], layout.recorded_devices())
    folder = saving.saved(data, traces, chosen.into or (layout.recorded if recorded else layout.live))
    if not chosen.for_report:
        stages.at(f"the run is saved in {folder}")
    if recorded:
        slot = run.load(folder).slot
        if layout.feature_first(slot):
            print(f"{slot} is now the featured run", file=sys.stderr)
    saving.print_folder(folder)
    return 0


def _render(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from ..pages import publish

    if chosen.check:
        publish.check(layout)
        print("every committed page is what the recorded runs render to")
        return 0
    if chosen.live:
        runs = publish.render_live(layout)
        stages.at("`make render ARGS=--live` finishes the pages and the site")
        publish.build_site(layout, layout.live_docs)
        print(f"rendered build/docs from {plural(len(runs), 'run')} and built site/; make serve shows it")
        return 0
    stages.at("`make render` finishes the pages")
    runs = publish.render_recorded(layout)
    print(f"rendered docs/ from {plural(len(runs), 'recorded run')}")
    return 0


def _site(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from ..pages import publish

    publish.build_site(layout, layout.docs)
    print("built site/; make serve shows it")
    return 0


def _facts(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from .. import analysis as facts
    from .. import findings, run
    from . import facts_json
    from .summary import summary

    folder = layout.find_run(chosen.run)
    shown = facts.build(run.load(folder))
    outcomes = findings.outcomes(shown)
    if chosen.json:
        print(json.dumps({**facts_json.to_json(shown, outcomes), "map": _map_json(folder), **_beside_json(folder)}, indent=1, ensure_ascii=False))
    else:
        print(summary(shown, outcomes, {}, ""))
    return 0


def _map_json(folder: Path) -> dict[str, Any] | None:
    """The map of the run's device, which lies beside its runs; `None` where there is none."""
    from ..analysis import maps
    from ..shapes import record
    from . import map_json

    file = folder.parent / record.MAP_FILE
    return map_json.to_json(maps.build(record.read(file), folder.parent.name)) if file.is_file() else None


def _beside_json(folder: Path) -> dict[str, Any]:
    """What lies beside that map."""
    from ..shapes import folder as beside
    from . import beside_json

    return beside_json.to_json(beside.of(folder.parent))
