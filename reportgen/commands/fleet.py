"""The command `fleet`: the report on every kind of GPU of a cluster, merged at once and rendered once."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ..company import disk
from ..company.disk import Need
from ..run.layout import Layout
from . import reviewing, saving, starting
from .interruption import Stages

DESCRIPTION = """Sends one job per kind of GPU in the TOML file, each alone on its node, and waits. The runs that came are merged, all or none, and rendered once.
A kind that failed is told in its own words and costs itself; the same command again takes only what is missing. This checkout, and the Python of its
.venv, must lie where the nodes see them under the same path. Exit status 1 if a kind failed."""
KEPT = {"slurm": "what was taken is kept, jobs that were sent stay in Slurm's queue, and the same command waits for them", "local": "what was taken is kept, and the same command takes the rest"}


def register(commands: Any) -> None:
    """Adds the command to the subparsers of `cli.parser`."""
    fleet = commands.add_parser("fleet", help="the report on every kind of GPU of a cluster (Slurm)", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    fleet.add_argument("file", type=Path, metavar="FILE", help="the kinds; recipes/fleet.toml is one")
    fleet.add_argument("--accept", action="store_true", help="let a run replace a different one of its slot")
    fleet.add_argument("--anew", action="store_true", help="take every kind, also those that an earlier command has taken")
    starting.register(fleet)
    fleet.set_defaults(command=_fleet, makes_pages=True, writes="fleet")


def _fleet(chosen: argparse.Namespace, layout: Layout, stages: Stages) -> int:
    from ..fleet import jobs, plan
    from ..pages import publish

    fleet = plan.read(chosen.file)
    publish.refuse_damaged(layout, chosen.accept)
    disk.ready([Need(layout.root / "build", saving.PASSES), Need(layout.recorded, saving.EVIDENCE * len(fleet.kinds)), Need(layout.site, saving.SITE), Need(layout.root, 0)], layout.root)
    stages.at(KEPT[fleet.cluster])
    taking = jobs.Taking(fleet, layout.root, layout.root / "build" / "fleet", starting.say, chosen.anew)
    outcomes = taking.run()
    stages.at("the runs lie in build/fleet, and the same command merges them")
    for one in outcomes:
        print(_line(one), flush=True)
    failed = any(one.folder is None for one in outcomes)
    fresh = [one for one in outcomes if one.folder is not None and not one.merged]
    if fresh:
        reviewing.take_in([one.folder for one in fresh if one.folder is not None], layout, stages, chosen.accept)
        for one in fresh:
            taking.mark_merged(one)
        publish.build_site(layout, layout.docs)
        print("the site: open site/index.html, or `make serve`")
    else:
        print("there is nothing to merge" if failed else "no kind is missing; ARGS=--anew takes every one again")
    return int(failed)


def _line(one: Any) -> str:
    from ..saying.progress import clock_time

    took = f" in {clock_time(one.seconds)}" if one.seconds is not None else ""
    if one.folder is None:
        return f"{one.kind.name}: failed{took}\n  error: {one.problem}\n  what to do: {one.cure}"
    return f"{one.kind.name}: {'taken by an earlier command' if one.there else 'taken'}{' and merged' if one.merged else ''}{took}"
