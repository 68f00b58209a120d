"""The same-code floor: how far whole runs of the same code lie apart on one machine.

`noise.json` lies beside `run.json` and belongs to the software it was taken with: with another
torch or driver it says nothing, and 2 % alone is the floor again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Any

from .. import run as run_room
from ..errors import ReportError, RunInvalid
from ..numbers import quantities
from ..numbers.ranks import detectable
from ..numbers.statistics import MINIMUM_EFFECT, PROCESSES, Estimate
from ..saying.tables import Table, columns
from ..saying.units import Count, Percent, plural
from . import Run, VariantRun
from .decode import Misfit, decode
from .ranges import Setting, Share, Size
from .read import document, settings

NOISE_FILE = "noise.json"
SCHEMA_VERSION = 1
MINIMUM_RUNS = 6
"""Six runs one after another are five pairs of neighbours, and fifteen pairs in all."""
QUANTITIES = {name: quantities.heading(quantities.QUANTITIES[name].label) for name in quantities.with_floor()}
"""The quantities that a floor is kept for. A first call happens once per process and has none."""
SAME = ("torch", "cuda", "hip", "cudnn", "cublas", "triton", "driver")
"""The software whose versions decide which kernels run; python and the system are shown only."""
_NONE = Estimate((0.0,))
CPU_ONLY = ("torch_threads", "OMP_", "GOMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_", "OPENBLAS_", "VECLIB_")
"""How the names of switches begin that say nothing about a GPU."""


@dataclass(frozen=True)
class Noise:
    """runs, pairs: how many whole runs were compared, and in how many pairs
    software, settings: what they were taken with
    shifts: variant → quantity → the largest relative shift of the run's median in any pair (0.01 is 1 %)
    ratios: quantity → `a/b` (ids in alphabetical order) → the largest shift of the two variants' ratio
        in any pair of runs; what moves all variants of a run alike is not in it
    """

    runs: Size
    pairs: Size
    software: Mapping[str, str | None]
    settings: Mapping[str, Setting | Mapping[str, str]]
    shifts: Mapping[str, Mapping[str, Share]]
    ratios: Mapping[str, Mapping[str, Share]] = field(default_factory=dict)

    def floor(self, quantity: str) -> float:
        """The largest shift of this quantity over all variants; 0 where it was not taken."""
        return max((shifts[quantity] for shifts in self.shifts.values() if quantity in shifts), default=0.0)

    def to_json(self) -> dict[str, Any]:
        return {"schema_version": SCHEMA_VERSION, "runs": self.runs, "pairs": self.pairs, "software": dict(self.software),
                "settings": dict(self.settings), "shifts": {name: dict(shifts) for name, shifts in self.shifts.items()},
                "ratios": {name: dict(shifts) for name, shifts in self.ratios.items()}}


def other_software(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """The names in `SAME` whose versions differ. A version that one side did not record is not a difference."""
    return [name for name in SAME if old.get(name) and new.get(name) and old[name] != new[name]]


def switches(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with each environment variable under its own name."""
    return {**{name: value for name, value in settings.items() if name != "environment"}, **(settings.get("environment") or {})}


def other_settings(old: Mapping[str, Any], new: Mapping[str, Any], kind: str) -> list[str]:
    """The switches that differ and can change a result on a device of this `kind`.

    A switch that only one run knows was not yet recorded; an environment variable that only one
    has was not set in the other. How many threads the CPU may use says nothing about a GPU.
    """
    before, after = switches(old), switches(new)
    known = (old.keys() & new.keys()) | (old.get("environment") or {}).keys() | (new.get("environment") or {}).keys()
    ignored = () if kind == "cpu" else CPU_ONLY
    return sorted(name for name in known - {"environment"} if not name.startswith(ignored) and before.get(name) != after.get(name))


def fits(noise: Noise, run: Any) -> bool:
    """Whether the floor was taken with what `run` (a `Run` or its facts) was recorded with."""
    return not other_software(noise.software, run.software) and not other_settings(noise.settings, run.settings, run.device.kind)


def measure(runs: Sequence[Run]) -> Noise:
    """The floor from whole runs of the same code on the same machine and software.

    Raises:
        ReportError: fewer than six runs, or runs that are not of one slot, one software, one code.
    """
    if len(runs) < MINIMUM_RUNS:
        raise ReportError(f"{plural(len(runs), 'run')} cannot tell how far the same code lies apart", cure=f"take at least {MINIMUM_RUNS} whole runs")
    for later in runs[1:]:
        _same(runs[0], later)
    shifts = {name: _shifts([run.variants[name] for run in runs]) for name in runs[0].variants}
    return Noise(len(runs), len(list(combinations(runs, 2))), runs[0].software, runs[0].settings, {name: kept for name, kept in shifts.items() if kept}, _ratios(runs))


def _same(first: Run, later: Run) -> None:
    where = str(later.path)
    if later.slot != first.slot:
        raise ReportError(f"is a run of {later.slot}, the first is one of {first.slot}", where=where, cure="compare runs of one slot")
    differing = other_software(first.software, later.software) + other_settings(first.settings, later.settings, first.device.kind)
    if differing:
        raise ReportError(f"differs from the first run in {', '.join(differing)}", where=where, cure="take all runs with the same software and settings")
    code = {name: variant.source for name, variant in first.variants.items()}
    if code != {name: variant.source for name, variant in later.variants.items()}:
        raise ReportError("was recorded from other variants than the first run", where=where, cure="take all runs from one state of variants/")


def _shifts(entries: Sequence[VariantRun]) -> dict[str, float]:
    """Quantity → largest relative shift between any two runs, where every run measured it in enough processes.

    What is measured in one process, as the compiled variant is, decides nothing and sets no floor.
    """
    out = {}
    for quantity in QUANTITIES:
        medians = [entry.samples[quantity].median for entry in entries if len(entry.samples.get(quantity, _NONE).samples) >= PROCESSES]
        if len(medians) == len(entries) and min(medians) > 0:
            out[quantity] = round(max(medians) / min(medians) - 1, 6)
    return out


def _ratios(runs: Sequence[Run]) -> dict[str, dict[str, float]]:
    """Quantity → pair → largest relative shift of the median of the paired ratios between any two runs."""
    out: dict[str, dict[str, float]] = {}
    for quantity in QUANTITIES:
        measured = sorted(name for name in runs[0].variants if all(len(run.variants[name].samples.get(quantity, _NONE).samples) >= PROCESSES for run in runs))
        for first, second in combinations(measured, 2):
            medians = [median(_paired(run, quantity, first, second)) for run in runs if _paired(run, quantity, first, second)]
            if len(medians) == len(runs):
                out.setdefault(quantity, {})[f"{first}/{second}"] = round(max(medians) / min(medians) - 1, 6)
    return out


def _paired(run: Run, quantity: str, first: str, second: str) -> list[float]:
    """first ÷ second, process by process; empty where they were not measured in the same processes."""
    a, b = (run.variants[name].samples[quantity].samples for name in (first, second))
    return [x / y for x, y in zip(a, b)] if len(a) == len(b) and min(b) > 0 else []


def save(noise: Noise, folder: Path) -> Path:
    """Writes `noise.json` beside the run in `folder`."""
    file = folder / NOISE_FILE
    staging = file.with_name(f".{NOISE_FILE}.new")
    staging.write_text(json.dumps(noise.to_json(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    staging.replace(file)
    return file


def record(capture: Callable[[Path], Path], runs_root: Path, work: Path, say: Callable[[str], None], count: int = MINIMUM_RUNS) -> Path:
    """Takes `count` whole runs and writes their floor beside the recorded run of their slot.

    Args:
        capture: records a run below the given root and returns its folder.
        work: an ignored folder for the runs; they are left there.

    Raises:
        ReportError: too few runs, runs that cannot be compared, or no recorded run that they fit.
    """
    runs: list[Run] = []
    for number in range(1, count + 1):
        say(f"whole run {number} of {count}")
        runs.append(run_room.load(capture(work / f"run-{number}")))
    return save(fitting(measure(runs), runs[-1].slot, runs_root), runs_root / runs[-1].slot)


def fitting(noise: Noise, slot: str, runs_root: Path) -> Noise:
    """`noise`, if the recorded run of `slot` was taken with the same software and settings.

    Raises:
        ReportError: it was not, or there is none.
    """
    if not fits(noise, run_room.load(runs_root / slot)):
        raise ReportError("the recorded run was taken with other software or settings, so this floor is not its own", where=slot,
                          cure="record the run anew with `make report`, then take the floor")
    return noise


def load(folder: Path) -> Noise | None:
    """The floor recorded beside the run in `folder`, or `None`.

    Raises:
        RunInvalid: the file is there and cannot be read.
    """
    file = folder / NOISE_FILE
    if not file.exists():
        return None
    cure = "restore it from version control, or run `make noise` again"
    data = document(file, cure)
    try:
        version = decode(Size, decode(Mapping[str, Any], data).get("schema_version"), "schema_version")
        if version > SCHEMA_VERSION:
            raise RunInvalid(f"written with schema {version}", where=str(file), cure="update this program")
        found: Noise = decode(Noise, data, settings=settings(data))
    except Misfit as problem:
        raise RunInvalid(f"not a noise file ({problem})", where=str(file), cure=cure) from None
    return found


def current(run: Run) -> Noise | None:
    """The floor that holds for this run: recorded beside it and taken with the same software and settings."""
    noise = load(run.path)
    return noise if noise and fits(noise, run) else None


def table(run: Any, noise: Noise | None) -> Table:
    """For the device's page: what the same code moved by, and the smallest change this run could have detected.

    Args:
        run: the run's facts; `noise`: the floor that holds for it, or `None`.
    """
    shown = [name for name in QUANTITIES if any(variant.time(name) for variant in run.variants.values())]
    rows = [(variant.title, *(_smallest(variant.time(name), noise, name) for name in shown))
            for variant in run.variants.values() if variant.ok]
    return Table(columns("Variant", *(f"#{QUANTITIES[name]}" for name in shown)), tuple(rows),
                 "The smallest slowdown that a rerun would be called changed for.", (floor_note(noise),))


def floor_note(noise: Noise | None) -> str:
    """The sentence under the table: where the floor comes from."""
    if noise is None:
        return (f"No same-code floor is recorded for this run with its settings, so {Percent(MINIMUM_EFFECT * 100)} is the least that counts; "
                "`make noise` takes one.")
    largest = ", ".join(f"{QUANTITIES[name]} {_percent(noise.floor(name))}" for name in QUANTITIES if noise.floor(name))
    return (f"Largest shift of the same code between any two of {Count(noise.runs)} whole runs ({plural(noise.pairs, 'pair')}): {largest}. "
            f"Below that, or below {Percent(MINIMUM_EFFECT * 100)}, nothing is called a change.")


def _smallest(estimate: Any, noise: Noise | None, quantity: str) -> str | None:
    if estimate is None:
        return None
    smallest = detectable(estimate.samples, noise.floor(quantity) if noise else 0.0)
    return _percent(smallest) if isfinite(smallest) else "none"


def _percent(share: float) -> str:
    return str(Percent(round(share * 100, 1)))
