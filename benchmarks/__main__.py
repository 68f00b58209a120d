"""Times reading traces, building facts, rendering, the strict build, and a whole CPU report.

    make bench                 the steps that need no torch
    make bench ARGS=--report   a whole `report` on the CPU as well (under a minute)

Seconds depend on the machine. So each step is also given as a multiple of the floor that was
measured beside it, in turn: unpacking the same traces and parsing their JSON, which no reader of
traces can do without. Compare multiples between commits, never seconds between machines.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from reportgen import analysis as facts
from reportgen import findings, pages, run, trace
from reportgen.errors import ReportError
from reportgen.pages import publish
from reportgen.run import Run
from reportgen.run.layout import Layout
from reportgen.saying.tables import Table, columns, markdown
from reportgen.saying.units import Ratio, Seconds

ROOT = Path(__file__).resolve().parent.parent
FLOOR = "unpack and parse JSON"


def steps(runs: Sequence[Run], layout: Layout, out: Path) -> dict[str, Callable[[], object]]:
    """What is timed, by name; each works on all runs, from files."""
    traces = [variant.trace_path for each in runs for variant in each.variants.values() if variant.trace_path]
    featured = layout.featured([each.slot for each in runs])
    built = [facts.build(each) for each in runs]
    site = Layout(out)
    return {
        FLOOR: lambda: [json.loads(gzip.decompress(path.read_bytes())) for path in traces],
        "read traces": lambda: [trace.read(path) for path in traces],
        "build facts": lambda: [facts.build(each) for each in runs],
        "decide claims": lambda: [findings.outcomes(each) for each in built],
        "render pages": lambda: pages.render(runs, out / "docs", featured, layout.docs),
        "build the site": lambda: build(site),
    }


def build(site: Layout) -> None:
    """The strict build, with this checkout's configuration and the scratch folder's pages."""
    (site.root / "mkdocs.yml").write_text((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), encoding="utf-8")
    publish.build_site(site, site.docs)


def timed(work: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each step; the steps take turns, so that a disturbance meets all of them."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, step in work.items():
            started = time.perf_counter()
            step()
            taken[name].append(time.perf_counter() - started)
    return {name: median(values) for name, values in taken.items()}


def whole_report() -> float:
    """Seconds of `report --device cpu`, environments made; it writes below build/ and site/ only."""
    python = os.environ.get("CAPTURE_PYTHON") or str(ROOT / ".venv-capture" / "bin" / "python")
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "reportgen", "report", "--capture-python", python, "--device", "cpu"], cwd=ROOT, stdout=subprocess.DEVNULL)
    if done.returncode:
        raise SystemExit(done.returncode)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--report", action="store_true", help="time a whole report on the CPU as well")
    chosen = parser.parse_args()
    layout = Layout(ROOT)
    runs = layout.recorded_runs() or [run.load(folder) for folder in run.discover(layout.live)]
    if not runs:
        raise SystemExit(str(ReportError("there is no run to work on", cure="`make report` records one")))
    with tempfile.TemporaryDirectory() as scratch:
        seconds = timed(steps(runs, layout, Path(scratch)), chosen.rounds)
    if chosen.report:
        seconds["whole report on the CPU"] = whole_report()
    rows = tuple((name, Seconds(value), Ratio(value / seconds[FLOOR])) for name, value in seconds.items())
    caption = f"{len(runs)} run(s): {', '.join(each.slot for each in runs)}; median of {chosen.rounds} rounds."
    print(markdown(Table(columns("Step", "#Time", "#Multiple of the floor"), rows, caption)))


if __name__ == "__main__":
    main()
