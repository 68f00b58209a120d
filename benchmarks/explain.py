"""What `explain` costs beside a process that only does `json.load`: CPU seconds and peak memory, each in fresh processes.

    python -m benchmarks.explain TRACE                      one trace, .json or .json.gz
    python -m benchmarks.explain TRACE --times 18           its events that often, a few seconds apart, as a file of its own in a scratch folder
    python -m benchmarks.explain TRACE --repeat 5           the median of so many

A ratio inside one run is what counts: both read the same file on the same machine, in turn.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import tempfile
from pathlib import Path
from statistics import median

LOAD = "import gzip, json, sys; p = sys.argv[1]; json.load(gzip.open(p, 'rt', encoding='utf-8') if p.endswith('.gz') else open(p, encoding='utf-8'))"
ROOT = Path(__file__).resolve().parent.parent
MIB = 2**20
APART = 10_000_000.0
"""Microseconds between the copies of a trace."""


def cost(arguments: list[str]) -> tuple[float, float]:
    """CPU seconds and peak MiB of a process; its output is dropped.

    Raises:
        RuntimeError: it failed.
    """
    child = os.posix_spawn(sys.executable, [sys.executable, "-E", *arguments], {**os.environ, "PYTHONPATH": ""},
                           file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
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
    chosen = parser.parse_args()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        trace = chosen.trace.resolve()
        if chosen.times > 1:
            trace = Path(folder) / "many.json"
            many(chosen.trace.resolve(), chosen.times, trace)
        found: dict[str, list[tuple[float, float]]] = {"json.load": [], "explain": []}
        for _ in range(chosen.repeat):
            found["json.load"].append(cost(["-c", LOAD, str(trace)]))
            found["explain"].append(cost(["-m", "reportgen", "explain", str(trace)]))
        seconds, memory = ({name: median(one[part] for one in taken) for name, taken in found.items()} for part in (0, 1))
        print(f"{trace.name}: {trace.stat().st_size / MIB:.1f} MiB")
        for name in found:
            print(f"  {name:10} {seconds[name]:7.2f} s CPU  {memory[name]:7.0f} MiB")
        print(f"  explain / json.load: {seconds['explain'] / seconds['json.load']:.2f} of the CPU time, {memory['explain'] / memory['json.load']:.2f} of the memory")


if __name__ == "__main__":
    main()
