"""How often the rule between runs is wrong, and what it finds: a simulation with fixed seeds.

Process medians are drawn as `1 + N(0, noise)`, seven per run. The rule is `statistics.changed`
without a same-code floor; `flags` is the same rule with a table in place of the enumeration, which
is exact for samples without ties. The answer is kept in `data/power.json`, and
`python -m reportgen.numbers.power` writes it anew.
"""

from __future__ import annotations

import json
import random
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from ..saying.tables import Table, columns
from ..saying.units import Count, Percent
from .ranks import ALPHA, critical_u
from .statistics import MINIMUM_EFFECT, PROCESSES

FILE = Path(__file__).with_name("data") / "power.json"
NOISE = (0.005, 0.01, 0.02)
EFFECTS = (0.03, 0.05, 0.10)
PAIRS = 10_000
REPORTS = 2_000
TIMINGS = 18
"""Six variants with three deciding quantities each: what one rerun is asked."""
SEED = 20261130


def flags(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether seven medians against seven are called changed."""
    if abs(median(after) / median(before) - 1) < MINIMUM_EFFECT:
        return False
    limit = critical_u(len(before), len(after), ALPHA)
    if limit is None:
        return False
    ordered = sorted(before)
    above = sum(bisect_left(ordered, value) for value in after)
    return min(above, len(before) * len(after) - above) <= limit


def _run(source: random.Random, noise: float, centre: float = 1.0) -> list[float]:
    return [centre * (1 + source.gauss(0, noise)) for _ in range(PROCESSES)]


def rate(noise: float, effect: float, pairs: int = PAIRS) -> float:
    """The share of pairs of runs that are flagged in one timing when the second is slower by `effect`."""
    source = random.Random(f"{SEED} {noise} {effect}")
    return sum(flags(_run(source, noise), _run(source, noise, 1 + effect)) for _ in range(pairs)) / pairs


def rerun_rates(noise: float, reports: int = REPORTS) -> tuple[float, float]:
    """Of whole reruns of the same code: the share with any timing flagged, and with the same one flagged twice.

    The second is what replaces a run: another pass against the same recorded run flags the same
    timing in the same direction.
    """
    source = random.Random(f"{SEED} {noise} reports")
    once = twice = 0
    for _ in range(reports):
        recorded = [_run(source, noise) for _ in range(TIMINGS)]
        first = _flagged(source, noise, recorded)
        once += bool(first)
        twice += bool(first) and bool(first & _flagged(source, noise, recorded))
    return once / reports, twice / reports


def _flagged(source: random.Random, noise: float, recorded: Sequence[Sequence[float]]) -> set[tuple[int, bool]]:
    fresh = [_run(source, noise) for _ in recorded]
    return {(place, median(after) > median(before)) for place, (before, after) in enumerate(zip(recorded, fresh)) if flags(before, after)}


def simulate() -> dict[str, Any]:
    """The whole answer; the same on every machine."""
    rows = []
    for noise in NOISE:
        once, twice = rerun_rates(noise)
        rows.append({"noise": noise, "false_flags": rate(noise, 0.0), "rerun_flagged": once, "rerun_replaced": twice,
                     "power": {str(effect): rate(noise, effect) for effect in EFFECTS}})
    return {"processes": PROCESSES, "alpha": ALPHA, "minimum_effect": MINIMUM_EFFECT, "pairs": PAIRS, "reports": REPORTS, "timings": TIMINGS,
            "seed": SEED, "critical_u": critical_u(PROCESSES, PROCESSES, ALPHA), "rows": rows}


def load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def tables() -> tuple[Table, Table]:
    """For the method page: false flags, and power."""
    data = load()
    false = tuple((_share(row["noise"]), _share(row["false_flags"]), _share(row["rerun_flagged"]), _share(row["rerun_replaced"])) for row in data["rows"])
    power = tuple((_share(row["noise"]), *(_share(row["power"][str(effect)]) for effect in EFFECTS)) for row in data["rows"])
    return (
        Table(columns("Noise of a process", "#One timing flagged", "#Any timing of a rerun flagged", "#Run replaced after the second pass"), false,
              f"Runs of the same code that are called changed: {Count(data['pairs'])} pairs per row for one timing, "
              f"{Count(data['reports'])} reruns per row with {data['timings']} timings each."),
        Table(columns("Noise of a process", *(f"#Found: {_share(effect)} slower" for effect in EFFECTS)), power,
              f"Slowdowns that are found in one timing in one pass: {Count(data['pairs'])} pairs per cell."),
    )


def _share(value: float) -> Percent:
    return Percent(round(value * 100, 2))


if __name__ == "__main__":
    FILE.write_text(json.dumps(simulate(), indent=1) + "\n", encoding="utf-8")
