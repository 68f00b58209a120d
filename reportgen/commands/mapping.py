"""The command `map`: which backend is fastest at which shape on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..run.layout import Layout
from ..saying.units import plural
from ..shapes import grid
from . import saving, starting
from .interruption import Stages

DESCRIPTION = """Measures scaled_dot_product_attention with every backend over many shapes, masks and types, checks each against FP64, and appends the
points to map.jsonl in the device's folder: docs/runs/<device>/ on a GPU, build/runs/<device>/ on a CPU or with --no-record. Interrupted or
out of time, the next call goes on where it was. It needs torch."""


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    map_ = commands.add_parser("map", help="which backend is fastest at which shape here (needs torch); continues where it was left", description=DESCRIPTION)
    map_.add_argument("--device", choices=("cuda", "cpu"), help="the GPU where there is one, by default")
    map_.add_argument("--seconds", type=_seconds, help=f"how long it may take; {grid.SECONDS[True]:.0f} on a GPU and {grid.SECONDS[False]:.0f} on a CPU by default (MAP_SECONDS of make's)")
    map_.add_argument("--anew", action="store_true", help="begin it anew, also where one of this device and software is there")
    map_.add_argument("--no-record", action="store_true", help="write into build/ also on a GPU")
    map_.add_argument("--into", type=Path, metavar="FOLDER", help="write below this folder instead")
    starting.register(map_)
    map_.set_defaults(command=_map, writes="map", quick=False)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= grid.MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, above nothing and at most {grid.MOST_SECONDS:,.0f}")
    return seconds


def _map(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    stages.at("what was measured is kept, and the same command goes on from there")
    saving.look(layout, chosen)
    from ..capture import cupti, map_session, session
    from ..run import device_slug, names
    from ..saying.progress import Progress
    from ..shapes import record

    os.environ.setdefault("KINETO_LOG_LEVEL", cupti.LOG_LEVEL)
    shown = Progress(sys.stderr, safe_point=stages.check)
    try:
        survey = session.surveyed(chosen.device, None, shown)
        gpu = map_session.gpu(survey["device"])
        slug = device_slug.distinct(survey["environment"]["device"], layout.recorded_devices())
        root = chosen.into or (layout.recorded if gpu and not chosen.no_record else layout.live)
        file = names.below(root, root / slug / record.MAP_FILE) if not chosen.into else root / slug / record.MAP_FILE
        seconds = chosen.seconds or grid.SECONDS[gpu]
        taken = map_session.take(survey, grid.points(gpu), file, slug, seconds, shown, chosen.anew)
    except OSError as error:
        raise ReportError(f"the map could not be written ({error.strerror})", where=str(error.filename or ""), cure="make room or give --into another disk; points that are written stay") from None
    finally:
        shown.end()
    for crash in taken.crashes:
        print(f"note: a process ended at {crash}", file=sys.stderr)
    rest = "" if taken.whole else f"; {plural(taken.left, 'point')} left: the same command goes on"
    print(f"{plural(taken.fresh, 'point')} measured, {taken.there} were there{rest}", file=sys.stderr)
    print(taken.file)
    return 0
