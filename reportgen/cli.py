"""The commands. Thin: each one calls the rooms above and says in the terminal what came of it.

Imports lie inside the commands, so that `profile` runs where only torch is, and the others where
there is no torch.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Sequence

from . import __version__
from .errors import CaptureFailed, ReportError
from .layout import Layout
from .workload import ARTICLE, PRESETS, ELEMENT_BYTES, Workload

ROOT = Path(__file__).resolve().parent.parent
INTERRUPTED = 130
SIZES = ("batch", "heads", "sequence", "head_dim")

DESCRIPTION = """Profiles attention variants on this machine and turns the recorded runs into a site.

A run is evidence: it is recorded once, by `profile`, on a Python that has torch. Everything else is
made from recorded runs, without torch and without a GPU."""

EPILOG = """examples:
  python -m reportgen profile --device cpu            record a run of this machine's CPU
  python -m reportgen profile --sequence 4096         the article's sizes but for the sequence
  python -m reportgen render --check                  are the committed pages what the runs render to?
  python -m reportgen facts nvidia-h200/article --json

`make help` lists the commands that make the environments as well."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns the exit status: 0, 2 for an error of the user's, 130 when interrupted."""
    chosen = parser().parse_args(arguments)
    try:
        return chosen.command(chosen, Layout(ROOT)) or 0
    except ReportError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the former run, if there is one, is untouched", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output (head, less) has left; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def parser() -> argparse.ArgumentParser:
    from . import reviewing
    from .noise import MINIMUM_RUNS

    root = argparse.ArgumentParser(prog="python -m reportgen", description=DESCRIPTION, epilog=EPILOG,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    root.add_argument("--version", action="version", version=f"reportgen {__version__}")
    commands = root.add_subparsers(required=True, metavar="COMMAND")

    profile = commands.add_parser("profile", help="record a run on this machine (needs torch); prints its folder")
    profile.add_argument("--into", metavar="DIR", type=Path, help="write the run below DIR, whatever the device")
    _capture_options(profile)
    profile.set_defaults(command=_profile)

    render = commands.add_parser("render", help="write docs/ and the README's table from the runs in docs/runs/")
    render.add_argument("--check", action="store_true", help="write nothing; name each page and line that differs, and exit with 2")
    render.set_defaults(command=_render)

    site = commands.add_parser("site", help="build site/ from docs/, strictly")
    site.set_defaults(command=_site)

    facts = commands.add_parser("facts", help="print what a run shows, and how each claim comes out")
    facts.add_argument("run", metavar="RUN", help="a run's folder, or its slot (nvidia-h200/article)")
    facts.add_argument("--json", action="store_true", help="one JSON object for other tools, instead of the summary")
    facts.set_defaults(command=_facts)

    report = commands.add_parser("report", help="profile, render, build the site, and say what came out")
    report.add_argument("--accept", action="store_true", help="replace the recorded run of this slot whatever the comparison says")
    _capture_elsewhere_options(report)
    report.set_defaults(command=_report)

    floor = commands.add_parser("noise", help="take whole runs of the same code, and record how far they lie apart")
    floor.add_argument("--runs", type=int, default=MINIMUM_RUNS, metavar="N", help="how many whole runs (default: %(default)s, the fewest that count)")
    _capture_elsewhere_options(floor)
    floor.set_defaults(command=_noise)

    reviewing.register(commands)
    return root


def _capture_elsewhere_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--capture-python", metavar="PATH", default=sys.executable, help="the Python that has torch (default: this one)")
    _capture_options(command)


def _capture_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where torch sees a GPU, else cpu")
    command.add_argument("--workload", choices=sorted(PRESETS), help="default: the article's on a GPU, small on a CPU")
    for size in SIZES:
        command.add_argument(f"--{size.replace('_', '-')}", type=int, metavar="N", help=f"another {size.replace('_', ' ')} than the workload's")
    command.add_argument("--dtype", choices=tuple(ELEMENT_BYTES), help="another element type than the workload's")
    command.add_argument("--label", help="keep this run beside the device's plain one, under this name")
    command.add_argument("--counters", choices=("auto", "on", "off"), default="auto", help="hardware counters (default: where they are allowed)")
    command.add_argument("--variants", nargs="+", metavar="ID", help="only these variants (default: all)")
    command.add_argument("--no-record", action="store_true", help="write the run below build/, not below docs/runs/, also on a GPU")
    command.add_argument("--quick", action="store_true", help="fewer repetitions, for trying things out; goes below build/")


def chosen_workload(chosen: argparse.Namespace) -> Workload | None:
    """The preset with the sizes given by flag; `None` where the device decides."""
    changes: dict[str, Any] = {name: getattr(chosen, name) for name in (*SIZES, "dtype") if getattr(chosen, name) is not None}
    if not changes:
        return PRESETS[chosen.workload] if chosen.workload else None
    start = PRESETS[chosen.workload or ("small" if chosen.device == "cpu" else ARTICLE.name)]
    fields = {**start.to_json(), **changes}
    name = f"{start.name}-{chosen.dtype}" if set(changes) == {"dtype"} else f"custom-{'x'.join(str(fields[size]) for size in SIZES)}-{fields['dtype']}"
    custom = Workload(**{**fields, "name": name})
    return next((preset for preset in PRESETS.values() if preset.same_shape(custom)), custom)


def checked_label(label: str | None) -> str | None:
    """`label` if it can be part of a folder's name.

    Raises:
        ReportError: it can not.
    """
    if label and not all(c.isascii() and (c.isalnum() or c in "._-") for c in label):
        raise ReportError(f"the label {label!r} cannot be part of a folder's name", cure="use letters, digits, dots, dashes and underscores")
    return label or None


def _profile(chosen: argparse.Namespace, layout: Layout) -> int:
    # Where torch comes without NumPy it warns, and nothing here needs it; the profiler reports each start.
    os.environ.setdefault("KINETO_LOG_LEVEL", "5")
    os.environ.setdefault("PYTHONWARNINGS", "ignore:Failed to initialize NumPy")
    from . import run
    from .capture import progress, session

    request = session.CaptureRequest(device=chosen.device, workload=chosen_workload(chosen), label=checked_label(chosen.label),
                                     variants=tuple(chosen.variants) if chosen.variants else None,
                                     counters=chosen.counters, quick=chosen.quick)
    shown = progress.Progress(sys.stderr)
    try:
        data, traces = session.capture(request, shown)
    finally:
        shown.end()
    recorded = data["device"]["kind"] != "cpu" and not chosen.no_record and not chosen.quick and not chosen.into
    folder = run.save(data, traces, chosen.into or (layout.recorded if recorded else layout.live))
    if recorded:
        slot = run.load(folder).slot
        if layout.feature_first(slot):
            print(f"{slot} is now the featured run", file=sys.stderr)
    print(folder)
    return 0


def _render(chosen: argparse.Namespace, layout: Layout) -> int:
    from . import publish

    if chosen.check:
        publish.check(layout)
        print("every committed page is what the recorded runs render to")
    else:
        runs = publish.render_recorded(layout)
        print(f"rendered docs/ from {len(runs)} recorded run{'' if len(runs) == 1 else 's'}")
    return 0


def _site(chosen: argparse.Namespace, layout: Layout) -> int:
    from . import publish

    publish.build_site(layout, layout.docs)
    print("built site/; make serve shows it")
    return 0


def _facts(chosen: argparse.Namespace, layout: Layout) -> int:
    from . import facts, facts_json, findings, run
    from .summary import summary

    shown = facts.build(run.load(layout.find_run(chosen.run)))
    outcomes = findings.outcomes(shown)
    if chosen.json:
        print(json.dumps(facts_json.to_json(shown, outcomes), indent=1, ensure_ascii=False))
    else:
        print(summary(shown, outcomes, {}, ""))
    return 0


def _report(chosen: argparse.Namespace, layout: Layout) -> int:
    from . import facts, findings, publish, run
    from .summary import summary

    seconds: dict[str, float] = {}
    started = time.monotonic()

    def took(step: str) -> None:
        nonlocal started
        now = time.monotonic()
        seconds[step], started = now - started, now

    folder = _captured(chosen, layout)
    took("profiling")
    recorded = folder.is_relative_to(layout.recorded)
    print("rendering the pages", file=sys.stderr, flush=True)
    runs = publish.render_recorded(layout) if recorded else publish.render_live(layout, folder)
    took("rendering")
    print("building the site", file=sys.stderr, flush=True)
    publish.build_site(layout, layout.docs if recorded else layout.live_docs)
    took("building the site")
    shown = facts.build(run.load(folder))
    where = [f"the run lies in {folder.relative_to(layout.root)}" + ("" if recorded else ", the working tree is as it was"),
             *([f"beside {len(runs) - 1} recorded run{'' if len(runs) == 2 else 's'}; featured: {layout.featured(runs, shown.slot)}"] if len(runs) > 1 else []),
             "the site: open site/index.html, or `make serve` and http://localhost:8000/"]
    print("\n" + summary(shown, findings.outcomes(shown), seconds, "\n".join(where)))
    return 0


def _captured(chosen: argparse.Namespace, layout: Layout) -> Path:
    """The folder of the run to show: a live one, or the one that is recorded in the slot after this one was compared with it."""
    from . import rerun, run, slots

    passes = layout.root / "build" / "passes"
    shutil.rmtree(passes, ignore_errors=True)
    folder = _profile_elsewhere(chosen, layout, passes / "1")
    if run.load(folder).device.kind == "cpu" or chosen.no_record or chosen.quick:
        return slots.place(folder, layout.live)
    kept, decision = rerun.settle(folder, lambda: _profile_elsewhere(chosen, layout, passes / "2"), layout.recorded, _say, chosen.accept)
    if decision.outcome == "first":
        layout.feature_first(run.load(kept).slot)
    return kept


def _say(line: str) -> None:
    print(line, flush=True)


def _noise(chosen: argparse.Namespace, layout: Layout) -> int:
    from . import noise

    runs = layout.root / "build" / "noise"
    shutil.rmtree(runs, ignore_errors=True)
    file = noise.record(lambda root: _profile_elsewhere(chosen, layout, root), layout.recorded, runs, _say, chosen.runs)
    print(noise.floor_note(noise.load(file.parent)))
    print(f"written to {file.relative_to(layout.root)}; `make render` shows it")
    return 0


def _profile_elsewhere(chosen: argparse.Namespace, layout: Layout, into: Path) -> Path:
    """Runs `profile` with the Python that has torch; its progress streams through, its answer is the run's folder below `into`.

    Raises:
        CaptureFailed: it ended without a run, having said why.
    """
    command = [chosen.capture_python, "-m", "reportgen", "profile", "--into", str(into), *_passed_on(chosen)]
    child = subprocess.Popen(command, cwd=layout.root, stdout=subprocess.PIPE, text=True)
    try:
        answer, _ = child.communicate()
    except KeyboardInterrupt:
        # Ctrl-C reached the child as well; it must have cleaned up before we leave.
        child.wait()
        raise
    if child.returncode == INTERRUPTED:
        raise KeyboardInterrupt
    if child.returncode or not answer.strip():
        raise CaptureFailed(f"profiling ended with status {child.returncode} and recorded no run",
                            cure="see the message above; the former run, if there is one, is untouched")
    return Path(answer.strip().splitlines()[-1])


def _passed_on(chosen: argparse.Namespace) -> list[str]:
    """The capture options again as arguments."""
    arguments: list[str] = []
    for name in ("device", "workload", *SIZES, "dtype", "label", "counters"):
        value = getattr(chosen, name)
        if value is not None:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    for switch in ("no_record", "quick"):
        if getattr(chosen, switch):
            arguments.append(f"--{switch.replace('_', '-')}")
    return [*arguments, *(["--variants", *chosen.variants] if chosen.variants else [])]
