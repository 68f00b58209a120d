"""Makes a checkout's folders with as many devices as a cluster has, from the recorded runs: what the pages cost at that scale is measured on it.

    python -m benchmarks.fleet_of_runs --out build/fleet                 100 devices × 2 workloads, and nothing else
    python -m benchmarks.fleet_of_runs --out build/fleet --devices 10

Each made-up run is a recorded one under another device's name: its times, its trace's times and its rates are scaled, each variant's by a
little more or less, so that verdicts differ. It is saved as the product saves a run, so it has a seal of its own. Names say that they are made up.
The recorded device stays as it is, with its map, and stays the featured one.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import json
import random
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reportgen.run import device_slug
from reportgen.run.layout import Layout
from reportgen.run.seal import FIELD
from reportgen.run.write import save

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("A10", "A30", "A40", "A100-PCIE-40GB", "A100-SXM4-80GB", "B200", "GB200", "GeForce RTX 3090", "GeForce RTX 4080", "GeForce RTX 5090", "GH200 480GB", "H100 NVL",
         "H100 PCIe", "H100 80GB HBM3", "H20-3e", "H800", "L4", "L20", "L40", "L40S", "RTX 6000 Ada Generation", "RTX A6000", "T4", "Tesla V100-SXM2-32GB", "RTX PRO 6000")
"""Of made-up devices, each with a number behind it."""
WORKLOADS = ("article", "article-fp16")
TORCH = ("2.9.1+cu128", "2.10.0+cu128", "2.11.0+cu130")
TIMES = ("gpu_time", "gpu_time_cold", "wall_time", "host_time", "first_call", "first_call_new_shape")


@dataclass(frozen=True)
class Base:
    """A recorded run as its files say it: `run.json`, and variant → trace."""

    content: dict[str, Any]
    traces: dict[str, dict[str, Any]]

    @classmethod
    def read(cls, folder: Path) -> Base:
        content = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        names = {name: variant["trace"] for name, variant in content["variants"].items() if variant.get("trace")}
        return cls(content, {name: json.loads(gzip.decompress((folder / file).read_bytes())) for name, file in names.items()})


def names(count: int) -> Iterator[str]:
    """`NVIDIA A10 (made up 1)`, …: so many names of devices."""
    for number in range(count):
        yield f"NVIDIA {NAMES[number % len(NAMES)]} (made up {number // len(NAMES) + 1})"


def made_up(base: Base, name: str, workload: str, seed: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """A run of device `name`: `run.json` without a seal, and its traces."""
    chance = random.Random(seed)
    factor = chance.uniform(0.7, 6.0)
    content = copy.deepcopy(base.content)
    del content[FIELD]
    content["device"] |= {"name": name, "slug": device_slug.gpu_slug(name), "sm_count": chance.choice((40, 58, 80, 108, 132, 148))}
    content["software"]["torch"] = chance.choice(TORCH)
    content["recorded_on"] = f"2026-{chance.randint(1, 11):02}-{chance.randint(1, 28):02}T{chance.randint(0, 23):02}:17:00Z"
    content["workload"] |= {"name": workload, "dtype": "float16" if workload.endswith("fp16") else "bfloat16"}
    content["label"] = None
    for rate in ("copy_bytes_per_s", "matmul_flop_per_s", "fp32_flop_per_s"):
        content["ceilings"][rate] /= factor
    traces = {}
    for variant, recorded in content["variants"].items():
        own = factor * chance.choice((0.9, 1.0, 1.0, 1.0, 1.1))
        recorded["samples"] = {quantity: [value * own for value in values] if quantity in TIMES else values for quantity, values in recorded["samples"].items()}
        if variant in base.traces:
            traces[variant] = scaled(base.traces[variant], own, name)
    return content, traces


def scaled(trace: dict[str, Any], factor: float, name: str) -> dict[str, Any]:
    """A trace whose every duration and distance from its first event is `factor` times as long."""
    first = min(event["ts"] for event in trace["traceEvents"] if "ts" in event)
    events = []
    for event in trace["traceEvents"]:
        times = {"ts": round(first + (event["ts"] - first) * factor, 3)} if "ts" in event else {}
        times |= {"dur": round(event["dur"] * factor, 3)} if "dur" in event else {}
        events.append({**event, **times})
    devices = [{**one, "name": name} for one in trace.get("deviceProperties", [])]
    return {**trace, "deviceProperties": devices, "traceEvents": events}


def make(out: Path, devices: int, root: Path = ROOT) -> int:
    """Writes the folders of a checkout below `out`: docs/ with the recorded device and `devices` − 1 made-up ones, README and configuration.

    Returns:
        The number of runs.
    """
    there = Layout(root)
    target = Layout(out)
    bases = [Base.read(run.path) for run in there.recorded_runs()]
    shutil.copytree(there.docs / "assets", target.docs / "assets")
    shutil.copytree(there.recorded, target.recorded)
    for file in ("README.md", "mkdocs.yml"):
        shutil.copyfile(root / file, out / file)
    for number, name in enumerate(names(devices - 1)):
        for place, workload in enumerate(WORKLOADS):
            content, traces = made_up(bases[place % len(bases)], name, workload, 2 * number + place)
            save(content, traces, target.recorded)
    return len(bases) + 2 * (devices - 1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet_of_runs", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--devices", type=int, default=100)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True)
    print(f"{make(chosen.out.resolve(), chosen.devices)} runs below {chosen.out}")


if __name__ == "__main__":
    main()
