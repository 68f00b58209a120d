"""The command `map`: which backend is fastest at which shape on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ReportError
from ..run.layout import Layout
from ..saying.units import plural
from ..shapes import grid
from . import saving, starting
from .interruption import Stages

PARTS = ("map", "why", "bill", "extras")
WHY_SECONDS = {True: 180.0, False: 60.0}
"""What asking about the calls that people write may take, on a GPU and on a CPU."""
EXTRAS_SECONDS = {True: 200.0, False: 60.0}
DESCRIPTION = """Measures scaled_dot_product_attention with every backend over many shapes, masks and types, checks each against FP64, and appends the
points to map.jsonl in the device's folder: docs/runs/<device>/ on a GPU, build/runs/<device>/ on a CPU or with --no-record. Interrupted or
out of time, the next call goes on where it was. It needs torch.

Beside it go why.jsonl (what torch picks for calls that people write, and why nothing else), bill.json (what a new length costs) and
extras.jsonl (attention beside SDPA's backends, where it is installed)."""


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    map_ = commands.add_parser("map", help="which backend is fastest at which shape here (needs torch); continues where it was left", description=DESCRIPTION)
    map_.add_argument("--device", choices=("cuda", "cpu"), help="the GPU where there is one, by default")
    map_.add_argument("--seconds", type=seconds, help=f"how long it may take; {grid.SECONDS[True]:.0f} on a GPU and {grid.SECONDS[False]:.0f} on a CPU by default (MAP_SECONDS of make's)")
    map_.add_argument("--parts", type=_parts, default=PARTS, metavar="LIST", help=f"which files to take, with commas between; {','.join(PARTS)} by default. --seconds is the map's alone")
    map_.add_argument("--anew", action="store_true", help="begin it anew, also where one of this device and software is there")
    map_.add_argument("--no-record", action="store_true", help="write into build/ also on a GPU")
    map_.add_argument("--into", type=Path, metavar="FOLDER", help="write below this folder instead")
    map_.add_argument("--for-report", action="store_true", help=argparse.SUPPRESS)  # who started it tells of an interruption, and has the checkout
    starting.register(map_)
    map_.set_defaults(command=_map, writes="map", quick=False)


def seconds(text: str) -> float:
    """How long a map may take, from the command line."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= grid.MOST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds, above nothing and at most {grid.MOST_SECONDS:,.0f}")
    return number


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(text.split(","))
    if unknown := [one for one in parts if one not in PARTS]:
        raise argparse.ArgumentTypeError(f"there is no part {unknown[0]!r}; there are {', '.join(PARTS)}")
    return parts


@dataclass(frozen=True)
class Place:
    """file: where the map goes, the others beside it; slug: the device's; aside: the folder of what is not recorded"""

    file: Path
    slug: str
    aside: Path

    def of(self, name: str) -> Path:
        return self.file.with_name(name)


def _map(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    stages.at(None if chosen.for_report else "what was measured is kept, and the same command goes on from there")
    if not chosen.for_report:
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
        place = Place(file, slug, layout.aside / slug if root == layout.recorded else file.parent / "aside")
        for part in chosen.parts:
            TAKE[part](survey, place, chosen, shown)
    except OSError as error:
        raise ReportError(f"the map could not be written ({error.strerror})", where=str(error.filename or ""), cure="make room or give --into another disk; points that are written stay") from None
    finally:
        shown.end()
    print(file)
    return 0


def _take_map(survey: dict[str, Any], place: Place, chosen: argparse.Namespace, shown: Any) -> None:
    from ..capture import map_session

    gpu = map_session.gpu(survey["device"])
    taken = map_session.take(survey, grid.points(gpu), place.file, place.slug, chosen.seconds or grid.SECONDS[gpu], shown, chosen.anew, aside=place.aside)
    _say(taken, "point", shown)


def _take_why(survey: dict[str, Any], place: Place, chosen: argparse.Namespace, shown: Any) -> None:
    from ..capture import asking, map_session
    from ..shapes import answers, asked

    gpu = map_session.gpu(survey["device"])
    taken = map_session.take(survey, asked.calls(gpu), place.of(answers.WHY_FILE), place.slug, WHY_SECONDS[gpu], shown, chosen.anew, asking.WHY, place.aside)
    _say(taken, "call", shown)


def _take_extras(survey: dict[str, Any], place: Place, chosen: argparse.Namespace, shown: Any) -> None:
    from ..capture import beside as taking
    from ..capture import map_session
    from ..shapes import beside

    gpu = map_session.gpu(survey["device"])
    taken = map_session.take(survey, beside.points(gpu), place.of(beside.EXTRAS_FILE), place.slug, EXTRAS_SECONDS[gpu], shown, chosen.anew, taking.EXTRAS, place.aside)
    _say(taken, "point", shown)


def _take_bill(survey: dict[str, Any], place: Place, chosen: argparse.Namespace, shown: Any) -> None:
    """A bill that is there is kept, where it is this device's and software's; one with more prices stays, and the fresh one lies aside."""
    from ..capture import bill as taking
    from ..capture import map_session
    from ..shapes import bill

    there = place.of(bill.BILL_FILE)
    known = None
    try:
        known = bill.read(there) if there.is_file() else None
    except ReportError:
        pass  # a damaged one is taken anew
    if known is not None and not chosen.anew and map_session.same(known.header, map_session.header(survey, place.slug)):
        shown.note(f"{there.name} was there; --anew takes it again")
        return
    fresh = place.aside / there.name
    for row in taking.take(survey, fresh, place.slug, shown):
        shown.note(f"note: a process ended at {row}")
    if known is not None and not chosen.anew and bill.prices(bill.read(fresh)) < bill.prices(known):
        shown.note(f"{there.name} was taken with other software and has fewer prices than the recorded one, which stays; the fresh one lies in {fresh}")
        return
    map_session.move(fresh, there)
    shown.note(f"{there.name} taken")


TAKE = {"map": _take_map, "why": _take_why, "bill": _take_bill, "extras": _take_extras}


def _say(taken: Any, noun: str, shown: Any) -> None:
    for crash in taken.crashes:
        shown.note(f"note: a process ended at {crash}")
    if taken.recorded:
        shown.note(f"note: the recorded {taken.file.name} is of other software and has {plural(taken.recorded, noun)}, so it stays; this one, with {taken.there + taken.fresh}, lies in "
                   f"{taken.file} until it has as many")
    rest = "" if taken.whole else f"; {plural(taken.left, noun)} left: the same command goes on"
    shown.note(f"{taken.file.name}: {plural(taken.fresh, noun)} measured, {taken.there} were there{rest}")
