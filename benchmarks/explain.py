"""What `explain` costs beside a process that only does `json.load`: CPU seconds and peak memory, each in fresh processes.

    python -m benchmarks.explain TRACE                      one trace, .json or .json.gz
    python -m benchmarks.explain TRACE --times 18           its events that often, a few seconds apart, as a file of its own in a scratch folder
    python -m benchmarks.explain TRACE --repeat 5           the median of so many
    python -m benchmarks.explain TRACE --beside 'NAME=COMMAND {trace}'    another tool on the same file, in turn; may be given several times

HTA, for instance, with a Python that has it: --beside 'HTA=/opt/hta/bin/python -c "import sys, os, shutil, tempfile; from hta.trace_analysis import
TraceAnalysis; d = tempfile.mkdtemp(); shutil.copy(sys.argv[1], d); TraceAnalysis(trace_dir=d).get_gpu_kernel_breakdown(visualize=False)" {trace}'

A ratio inside one run is what counts: both read the same file on the same machine, in turn, and the median of the ratios of the turns is told with the
least and the largest of them. With --times the trace itself is explained in turn as well: so many times the events, how many times the CPU time?
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from statistics import median

LOAD = "import gzip, json, sys; p = sys.argv[1]; json.load(gzip.open(p, 'rt', encoding='utf-8') if p.endswith('.gz') else open(p, encoding='utf-8'))"
ROOT = Path(__file__).resolve().parent.parent
MIB = 2**20
APART = 10_000_000.0
"""Microseconds between the copies of a trace."""


def cost(program: str, arguments: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MiB of a process and those it waited for; what it prints is dropped.

    Raises:
        RuntimeError: it failed.
    """
    child = os.posix_spawnp(program, [program, *arguments], {**os.environ, "PYTHONPATH": ""},
                            file_actions=[(os.POSIX_SPAWN_OPEN, one, os.devnull, os.O_WRONLY, 0) for one in (1, 2)])
    _, status, used = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"{arguments} ended with status {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def many(trace: Path, times: int, target: Path) -> None:
    """Writes the events of `trace` so often, shifted in time, with correlations and sequence numbers of their own."""
    with (gzip.open(trace, "rt", encoding="utf-8") if trace.suffix == ".gz" else trace.open(encoding="utf-8")) as opened:
        document = json.load(opened)
    events = document.pop("traceEvents")
    with target.open("w", encoding="utf-8") as out:
        head = json.dumps(document)[:-1]
        out.write(f'{head}{", " if document else ""}"traceEvents": [\n')
        for copy in range(times):
            for place, event in enumerate(events):
                shifted = dict(event)
                if isinstance(event.get("ts"), (int, float)):
                    shifted["ts"] = round(event["ts"] + copy * APART, 3)
                known = event.get("args")
                if isinstance(known, dict):
                    shifted["args"] = {**known, **{key: known[key] + copy * 100_000_000 for key in ("correlation", "Sequence number", "External id") if isinstance(known.get(key), int) and known[key]}}
                out.write(f"{'' if copy == place == 0 else ','}{json.dumps(shifted)}\n")
        out.write("]}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.explain", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--beside", action="append", default=[], metavar="NAME=COMMAND")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        once = trace = chosen.trace.resolve()
        if chosen.times > 1:
            once, trace = Path(folder) / "once.json", Path(folder) / "many.json"
            many(chosen.trace.resolve(), 1, once)
            many(chosen.trace.resolve(), chosen.times, trace)
        programs = {"json.load": (sys.executable, ["-E", "-c", LOAD, str(trace)]), "explain": explained(trace)}
        if chosen.times > 1:
            programs["explain, once"] = explained(once)
        for name, _, command in (one.partition("=") for one in chosen.beside):
            programs[name] = ("sh", ["-c", command.replace("{trace}", shlex.quote(str(trace)))])
        turns = [{name: cost(program, arguments) for name, (program, arguments) in programs.items()} for _ in range(chosen.repeat)]
        print(f"{trace.name}: {trace.stat().st_size / MIB:.1f} MiB, {chosen.repeat} turns; CPU seconds and peak memory, and the same as a multiple of json.load's")
        for name in programs:
            print(f"  {name:14} {median(turn[name][0] for turn in turns):7.2f} s {ratio(turns, name, 'json.load', 0)}   "
                  f"{median(turn[name][1] for turn in turns):7.0f} MiB {ratio(turns, name, 'json.load', 1)}")
        if chosen.times > 1:
            print(f"  {chosen.times} times the events: {ratio(turns, 'explain', 'explain, once', 0).strip()} times the CPU time")


def explained(trace: Path) -> tuple[str, list[str]]:
    return sys.executable, ["-E", "-m", "reportgen", "explain", str(trace)]


def ratio(turns: list[dict[str, tuple[float, float]]], name: str, base: str, part: int) -> str:
    """Median of the ratios of the turns (least to largest)."""
    found = sorted(turn[name][part] / turn[base][part] for turn in turns)
    return f"{median(found):6.2f} ({found[0]:.2f} to {found[-1]:.2f})"


if __name__ == "__main__":
    main()
