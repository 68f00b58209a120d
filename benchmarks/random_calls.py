"""Calls drawn from the recorded map and answers: is what the pages say that torch picks what a fresh torch picks? And ten points by another clock.

    python -m benchmarks.random_calls picks --seed 4711 --runs docs/runs/nvidia-h200
    python -m benchmarks.random_calls clock --seed 4711 --runs docs/runs/nvidia-h200    (needs Triton)

It needs torch. `picks` ends each call at its op, so that nothing is compiled; exit status 1 where one differs. `clock` times ten points of the
map with `triton.testing.do_bench` and compares the winner; it warms up and clears the cache between calls, which the map does not.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reportgen.shapes import Call, answers, record
from reportgen.shapes.asked import Asked

MOST_BYTES = 4 * 2**30
"""Of q, k, v and the output: what is larger is not drawn."""


def recorded(runs: Path) -> list[tuple[Asked, str | None]]:
    """Every call that the folder's map and answers hold, changes as well, with torch's recorded pick, each once."""
    found: dict[tuple[Call, float, str, str], tuple[Asked, str | None]] = {}

    def add(asked: Asked, picked: str | None) -> None:
        found.setdefault((asked.call, asked.dropout, asked.form, asked.written), (asked, picked))

    for point in record.read(runs / record.MAP_FILE).points:
        add(Asked(point.call.id, point.call), point.picked)
    if (runs / answers.WHY_FILE).is_file():
        for answer in answers.read(runs / answers.WHY_FILE).answers:
            add(answer.asked, answer.picked)
            for changed in answer.changed:
                add(changed.asked, changed.picked)
    return [(asked, picked) for asked, picked in found.values() if asked.call.bytes <= MOST_BYTES and picked is not None]


def picks(seed: int, runs: Path, count: int, device: str) -> list[tuple[str, str | None, str | None]]:
    """(call, recorded, fresh) of every drawn call whose pick differs."""
    from reportgen.capture import asking, mapping, operands

    operands.start(device)
    known = recorded(runs)
    drawn = random.Random(seed).sample(known, min(count, len(known)))
    differing = []
    for asked, picked in drawn:
        fresh = mapping.picked_backend(asking.make(asked, device))
        if fresh != picked:
            differing.append((asked.id, picked, fresh))
        operands.release(device)
    print(f"{len(drawn)} calls of {len(known)}, {len(drawn) - len(differing)} picks are as recorded")
    return differing


def clock(seed: int, runs: Path, count: int, device: str) -> list[dict[str, Any]]:
    """Each drawn point: seconds of every right backend by the map and by `do_bench`, and both winners (all within 3 % of the least)."""
    from triton.testing import do_bench

    from reportgen.capture import map_inputs, operands
    from reportgen.capture.trying import pinned

    operands.start(device)
    points = [point for point in record.read(runs / record.MAP_FILE).points if point.call.bytes <= MOST_BYTES and len(_timed(point)) > 1]
    found = []
    for point in random.Random(seed).sample(points, min(count, len(points))):
        tensors = map_inputs.make(point.call, device)
        ours, theirs = _timed(point), {}
        for name in ours:
            with pinned(name):
                theirs[name] = do_bench(tensors.run, return_mode="median") / 1000
        found.append({"call": point.call.id, "map": ours, "do_bench": theirs, "winners": winners(ours), "do_bench_winners": winners(theirs)})
        del tensors
        operands.release(device)
    return found


def _timed(point: record.Point) -> dict[str, float]:
    return {one.backend: price for one in point.readings if (price := answers.price(one)) is not None}


def winners(seconds: dict[str, float], margin: float = answers.MARGIN) -> list[str]:
    """Whatever is not further than `margin` behind the fastest.

    >>> winners({"flash": 1.0, "cudnn": 1.02, "math": 9.0})
    ['cudnn', 'flash']
    """
    least = min(seconds.values())
    return sorted(name for name, one in seconds.items() if least >= one * (1 - margin))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.random_calls", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("picks", "clock"))
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--runs", type=Path, required=True, help="the device's folder with map.jsonl")
    parser.add_argument("--count", type=int, help="200 picks or 10 points by default")
    parser.add_argument("--device", default="cuda")
    chosen = parser.parse_args(arguments)
    if chosen.what == "picks":
        differing = picks(chosen.seed, chosen.runs, chosen.count or 200, chosen.device)
        for call, told, fresh in differing:
            print(f"{call}: recorded {told}, fresh {fresh}")
        return int(bool(differing))
    found = clock(chosen.seed, chosen.runs, chosen.count or 10, chosen.device)
    agree = 0
    for one in found:
        agree += bool(set(one["winners"]) & set(one["do_bench_winners"]))
        print(f"{one['call']:44} map {', '.join(one['winners'])}; do_bench {', '.join(one['do_bench_winners'])}")
        for name in one["map"]:
            print(f"    {name:9} map {one['map'][name] * 1e6:10.1f} µs   do_bench {one['do_bench'][name] * 1e6:10.1f} µs")
    print(f"{agree} of {len(found)} agree in the winner")
    return int(agree < len(found))


if __name__ == "__main__":
    sys.exit(main())
