"""Does the upgrade check find a slowdown of 3 %, and how often does it see one where there is none? A simulation with a fixed seed.

    python -m benchmarks.upgrade              500 comparisons of each kind; --runs for another number

Each is a whole comparison, by the program's own steps, of 65 calls in seven processes of each side and a second pass. Only the sides are made up: a
process's median is a length times what a process of a recorded GPU run lay away from its run's median, drawn at random from one variant per call.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from reportgen.commands.two_sides import Taking
from reportgen.numbers.statistics import PROCESSES
from reportgen.review import upgrade as judging
from reportgen.run.decode import decode
from reportgen.saying.progress import Silent
from reportgen.shapes import asked
from reportgen.shapes.upgrade import SIDES, Upgrade

ROOT = Path(__file__).resolve().parent.parent
SEED = 20261203
QUANTITIES = ("gpu_time", "wall_time")
DEVICE = {"kind": "cuda", "name": "NVIDIA H200", "slug": "nvidia-h200", "memory_bytes": 150_000_000_000}
IDS = {one.name: one.id for one in asked.calls(True)}
Spreads = Sequence[Mapping[str, Sequence[float]]]


def spreads(runs: Path = ROOT / "docs" / "runs") -> Spreads:
    """Of every variant of the recorded GPU runs: quantity → each process's median over the run's."""
    found = []
    for file in sorted(runs.glob("*/*/run.json")):
        run = json.loads(file.read_text(encoding="utf-8"))
        for variant in run["variants"].values() if run["device"]["kind"] == "cuda" else ():
            samples = {name: values for name in QUANTITIES if len(values := (variant.get("samples") or {}).get(name) or []) >= PROCESSES}
            if len(samples) == len(QUANTITIES):
                found.append({name: [value / median(values) for value in values] for name, values in samples.items()})
    return found


class MadeUp:
    """A side that answers at once. slower: call → its factor on this side; source: of all draws, shared by both sides"""

    def __init__(self, source: random.Random, known: Spreads, slower: Mapping[str, float] = {}) -> None:  # noqa: B006 - never written to
        self._source, self._known, self._slower = source, known, slower

    def ask(self, task: dict[str, Any], at: Callable[[str, str], None], result: Callable[[str, Any], None]) -> Any:
        if task["do"] == "survey":
            return {"chosen": "cuda", "device": DEVICE, "software": {"torch": "2.11.0"}, "settings": {}}
        for name in (IDS[one["name"]] for one in task["asked"]):
            result(name, {"state": "ok", "picked": "flash", "ops": [], "kernels": ["k"]} if task["do"] == "show" else self._times(name))
        return {}

    def _times(self, name: str) -> dict[str, float]:
        drawn = random.Random(name)
        known, length = drawn.choice(self._known), drawn.uniform(3e-5, 3e-3)
        return {quantity: length * self._slower.get(name, 1.0) * self._source.choice(known[quantity]) for quantity in QUANTITIES}


def compared(source: random.Random, known: Spreads, slower: Mapping[str, float]) -> list[judging.Judged]:
    """One whole comparison, B slower than A at some calls."""
    sides = {"a": MadeUp(source, known), "b": MadeUp(source, known, slower)}
    taken = Taking(sides, asked.calls, PROCESSES, Silent(), {side: {} for side in SIDES}).run()  # type: ignore[arg-type]
    found: Upgrade = decode(Upgrade, taken)
    return judging.judged(found)


def simulate(comparisons: int, effect: float, known: Spreads) -> dict[str, int]:
    """`found`: comparisons in which the one call that is slower by `effect` came out slower; `false`: with any other flag; `calls`: false flags of calls."""
    source, names = random.Random(f"{SEED} {effect}"), list(IDS.values())
    told = {"found": 0, "false": 0, "calls": 0}
    for _ in range(comparisons):
        slow = source.choice(names)
        flags = {one.pair.asked.id for one in compared(source, known, {slow: 1 + effect} if effect else {}) if one.worse or one.better}
        wrong = flags - ({slow} if effect else set())
        told["found"] += slow in flags and bool(effect)
        told["false"] += bool(wrong)
        told["calls"] += len(wrong)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upgrade", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500, help="comparisons of each kind (default: %(default)s)")
    count, known = parser.parse_args().runs, spreads()
    widest = [max(max(values) / min(values) - 1 for values in one.values()) for one in known]
    print(f"{len(known)} variants of recorded GPU runs, whose processes lie {100 * min(widest):.1f} to {100 * max(widest):.1f} % apart; {len(IDS)} calls a comparison")
    for effect in (0.0, 0.02, 0.025, 0.03, 0.05):
        told = simulate(count, effect, known)
        found = f"{told['found']} of {count} found" if effect else "the same code"
        print(f"{100 * effect:3.1f} % slower: {found}; a false flag in {told['false']} of {count} comparisons")


if __name__ == "__main__":
    main()
