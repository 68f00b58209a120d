"""The commands `report` and `noise`: they profile with the Python that has torch, and make something of the runs."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import CaptureFailed, ReportError, Told
from ..run.layout import Layout
from ..run.workload import ELEMENT_BYTES, PRESETS, SIZES
from ..saying.progress import Progress
from ..saying.units import plural
from . import elsewhere, mapping, saving, starting, terminal
from .interruption import Stages

UNTOUCHED = "the former run, if there is one, is untouched"


def register(commands: Any) -> None:
    """Adds the commands to the subparsers of `cli.parser`."""
    from ..run.noise import MINIMUM_RUNS

    report = commands.add_parser("report", help="profile, render, build the site, and say what came out")
    report.add_argument("--accept", action="store_true", help="replace the recorded run of this slot whatever the comparison says")
    report.add_argument("--map", action="store_true", help="take the device's map as well, with why, bill and extras, before the pages are made (as the command `map` does)")
    report.add_argument("--map-seconds", type=mapping.seconds, metavar="SECONDS", help="how long the map itself may take, where --map is given")
    _capture_elsewhere_options(report)
    starting.register(report)
    report.set_defaults(command=_report, makes_pages=True, writes="report")

    floor = commands.add_parser("noise", help="take whole runs of the same code, and record how far they lie apart")
    floor.add_argument("--runs", type=int, default=MINIMUM_RUNS, metavar="N", help="how many whole runs (default: %(default)s, the fewest that count)")
    _capture_elsewhere_options(floor)
    starting.register(floor)
    floor.set_defaults(command=_noise, makes_pages=True, writes="noise")


def _capture_elsewhere_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--capture-python", metavar="PATH", default=sys.executable, help="the Python that has torch (default: this one)")
    capture_options(command)


def checked_device(text: str) -> str:
    """`cuda` or `cpu`.

    Raises:
        ReportError: it is neither; the cure is the one for what was probably meant.
    """
    if text in ("cuda", "cpu"):
        return text
    number = re.fullmatch(r"(?:cuda:|gpu)?(\d+)", text)
    cures = {"rocm": "DEVICE=cuda: torch calls AMD's GPUs by that name as well", "hip": "DEVICE=cuda: torch calls AMD's GPUs by that name as well", "gpu": "DEVICE=cuda",
             "mps": "DEVICE=cpu profiles the processor; Apple's GPUs are not profiled", "xpu": "DEVICE=cpu profiles the processor; Intel's GPUs are not profiled"}
    cure = f"CUDA_VISIBLE_DEVICES={number[1]} with DEVICE=cuda: the first visible GPU is profiled" if number else cures.get(text, "DEVICE=cuda or DEVICE=cpu")
    raise ReportError(f"there is no device {text!r} to profile", cure=cure)


def capture_options(command: argparse.ArgumentParser) -> None:
    """The options of whatever records a run."""
    presets = "; ".join(f"{preset.name}: {preset.describe()}" for preset in PRESETS.values())
    command.add_argument("--device", type=checked_device, metavar="{cuda,cpu}", help="default: cuda where torch sees a GPU, else cpu")
    command.add_argument("--workload", choices=sorted(PRESETS), help=f"default: the article's on a GPU, small on a CPU. {presets}")
    for size in SIZES:
        command.add_argument(f"--{size.replace('_', '-')}", type=int, metavar="N", help=f"another {size.replace('_', ' ')} than the workload's")
    command.add_argument("--dtype", choices=tuple(ELEMENT_BYTES), help="another element type than the workload's")
    command.add_argument("--label", help="keep this run beside the device's plain one, under this name")
    command.add_argument("--counters", choices=("auto", "on", "off"), default="auto", help="hardware counters (default: where they are allowed)")
    command.add_argument("--variants", nargs="+", metavar="ID", help="only these variants (default: all)")
    command.add_argument("--no-record", action="store_true", help="write the run below build/, not below docs/runs/, also on a GPU")
    command.add_argument("--quick", action="store_true", help="one process, fewer repetitions, for trying things out; goes below build/, labelled quick")
    command.add_argument("--force", action="store_true", help="on a CPU: take all the time that the workload needs, instead of cutting a long capture short")


def _report(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from .. import analysis as facts
    from .. import findings, run
    from ..pages import publish
    from .summary import summary

    seconds: dict[str, float] = {}
    started, shown_progress = time.monotonic(), Progress(safe_point=stages.check)

    def took(step: str) -> None:
        nonlocal started
        now = time.monotonic()
        seconds[step], started = now - started, now

    publish.refuse_damaged(layout, chosen.accept)
    saving.look(layout, chosen)
    stages.at(UNTOUCHED)
    started = time.monotonic()
    captured = _captured(chosen, layout, stages)
    folder = captured.folder
    recorded, place = folder.is_relative_to(layout.recorded), folder.relative_to(layout.root)
    finish = "`make render` and `make site` finish the pages" if recorded else "`make render ARGS=--live` finishes the pages and the site"
    stages.at(f"the run is saved in {place}; {finish}")
    took("profiling")
    unmapped = ""
    if chosen.map:
        stages.at(f"the run is saved in {place}, and so is what was taken of the map; `make map` goes on with it, and {finish}")
        unmapped = _map_elsewhere(chosen, layout, recorded)
        stages.at(f"the run is saved in {place}; {finish}")
        took("the map")
    shown_progress.resume(phase for phase in run.load(captured.measured or folder).phases if phase in PHASES)
    for step, expected in pages_seconds(layout).items():
        shown_progress.plan(step, 1, expected)
    shown_progress.stage("rendering", "rendering the pages")
    try:
        runs = publish.render_recorded(layout) if recorded else publish.render_live(layout, folder)
        took("rendering")
        shown_progress.done()
        shown_progress.stage("site", "building the site")
        publish.build_site(layout, layout.docs if recorded else layout.live_docs)
        shown_progress.end()
    except ReportError as error:
        shown_progress.end()
        raise ReportError(f"{error.problem}\n  the run is saved in {place}", where=error.where, cure=f"{error.cure or 'mend that'}; then {finish}") from None
    stages.at(f"the run is saved in {place}, and the site is built")
    took("building the site")
    shown = facts.build(run.load(folder))
    measured = facts.build(run.load(captured.measured)) if captured.measured else None
    where = [f"the run lies in {place}" + ("" if recorded else ", the working tree is as it was"),
             *([f"beside {plural(len(runs) - 1, 'other run')}; featured: {layout.featured(runs, shown.slot)}"] if len(runs) > 1 else []),
             "the site: open site/index.html, or `make serve` and http://localhost:8000/"]
    if chosen.counters == "on" and (measured or shown).counters_reason:
        where.insert(0, f"COUNTERS=on, but no hardware counters were taken: {(measured or shown).counters_reason}")
    if unmapped:
        where.insert(0, unmapped)
    print("\n" + summary(shown, findings.outcomes(shown), seconds, "\n".join(where), measured, terminal.coloured()))
    return 0


PHASES = ("survey", "timing", "evidence", "counters")
"""What `profile` counts as its phases; rendering and the site follow."""


def pages_seconds(layout: Layout) -> dict[str, float]:
    """What follows a capture, and the seconds it is expected to take: each run is drawn anew."""
    from .. import run

    runs = len(run.discover(layout.recorded)) + 1
    return {"rendering": 1.0 + 1.2 * runs, "site": 1.5 + 0.3 * runs}


@dataclass(frozen=True)
class Captured:
    """folder: the run to show: a live one, or the one that is recorded in the slot after this one was compared with it
    measured: the run that was measured just now, where it is another one
    """

    folder: Path
    measured: Path | None = None


def _captured(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> Captured:
    from .. import run
    from ..review import rerun
    from ..run import slots

    passes = layout.root / "build" / "passes"
    shutil.rmtree(passes, ignore_errors=True)
    folder = _profile_elsewhere(chosen, layout, passes / "1")
    stages.at(f"the fresh run lies in {folder}; {UNTOUCHED}")
    if run.load(folder).device.kind == "cpu" or chosen.no_record or chosen.quick:
        return Captured(slots.place(folder, layout.live))
    kept, decision = rerun.settle(folder, lambda: _profile_elsewhere(chosen, layout, passes / "2"), layout.recorded, _say, chosen.accept, layout.aside)
    if decision.outcome == "first":
        layout.feature_first(run.load(kept).slot)
    return Captured(kept, None if decision.replaces else folder)


def _say(line: str) -> None:
    print(line, flush=True)


def _noise(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from ..pages import publish
    from ..run import noise

    saving.look(layout, chosen)
    stages.at("no floor was written")
    runs = layout.root / "build" / "noise"
    shutil.rmtree(runs, ignore_errors=True)
    file = noise.record(lambda root: _profile_elsewhere(chosen, layout, root), layout.recorded, runs, _say, chosen.runs)
    print(noise.floor_note(noise.load(file.parent)))
    print(f"written to {file.relative_to(layout.root)}")
    stages.at(f"the floor is in {file.relative_to(layout.root)}; `make render` finishes the pages")
    publish.render_recorded(layout)
    return 0


def _profile_elsewhere(chosen: argparse.Namespace, layout: Layout, into: Path) -> Path:
    """The folder, below `into`, of a run that `profile` recorded with the Python that has torch; raises as `elsewhere.answer`."""
    return elsewhere.answer(chosen.capture_python, ["profile", "--for-report", "--into", str(into), *_passed_on(chosen)], layout,
                            f"profiling ended with status {elsewhere.STATUS} and recorded no run", f"see the message above; {UNTOUCHED}")


def _map_elsewhere(chosen: argparse.Namespace, layout: Layout, recorded: bool) -> str:
    """Takes the device's map, and what lies beside it, as `make map` does; returns why that failed, or nothing. A run that is recorded is shown without it."""
    arguments = ["map", "--for-report", *(["--device", chosen.device] if chosen.device else []), *([] if recorded else ["--no-record"]),
                 *(["--seconds", str(chosen.map_seconds)] if chosen.map_seconds else [])]
    try:
        elsewhere.answer(chosen.capture_python, arguments, layout, f"the map ended with status {elsewhere.STATUS}", "see the message above")
    except CaptureFailed as error:
        return f"MAP=1, but {error.problem}; what was taken is kept, and `make map` goes on with it"
    except Told:
        return "MAP=1, but the map is not whole: its message is above; what was taken is kept, and `make map` goes on with it"
    return ""


def _passed_on(chosen: argparse.Namespace) -> list[str]:
    """The capture options again as arguments."""
    arguments: list[str] = []
    for name in ("device", "workload", *SIZES, "dtype", "label", "counters"):
        value = getattr(chosen, name)
        if value is not None:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    for switch in ("no_record", "quick", "force"):
        if getattr(chosen, switch):
            arguments.append(f"--{switch.replace('_', '-')}")
    return [*arguments, *(["--variants", *chosen.variants] if chosen.variants else [])]
