"""Whole runs on disk, written by `run.save`: synthetic samples, and traces made from recorded forwards.

    record(root)                                     # an H200, article workload, 0.2 % noise, seed 0
    record(root, seed=1)                             # the same machine again
    record(root, seed=1, scale={"sdpa_math": {"gpu_time": 1.1}})
    record(root, slug="nvidia-b300", software={"torch": "2.12.0"}, label="tf32")
    record(root, kernel={"sdpa_flash": "another_kernel"})

`change=` takes a function that edits the content of `run.json` before it is saved.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from reportgen import run as run_room

FORWARDS = json.loads(Path(__file__).with_name("forwards_h200.json").read_text(encoding="utf-8"))
TITLES = {"naive": "Naive", "naive_inplace": "Naive in place", "sdpa_math": "SDPA math", "sdpa_efficient": "SDPA efficient",
          "sdpa_flash": "SDPA flash", "sdpa_cudnn": "SDPA cuDNN"}
US = {  # quantity → microseconds in the order of TITLES
    "gpu_time": (1056, 930, 2580, 178, 93, 59), "gpu_time_cold": (1070, 945, 2600, 182, 96, 62), "wall_time": (1060, 934, 2585, 181, 96, 63),
    "host_time": (72, 58, 240, 40, 43, 47), "first_call": (200e3, 700, 180e3, 1800, 3500, 95e3), "first_call_new_shape": (216, 174, 720, 120, 129, 60e3),
}
SOFTWARE = {"torch": "2.11.0+cu130", "cuda": "13.0", "cudnn": "9.19.0", "driver": "580.159.04", "python": "3.12.3", "os": "Linux"}
SETTINGS = {"float32_matmul_precision": "highest", "cudnn_allow_tf32": True, "environment": {}}
_FORWARD_US = 10_000.0


def record(root: Path, *, traces: bool = True, untraced: tuple[str, ...] = (), kernel: Mapping[str, str] | None = None,
           lost: Mapping[str, int] | None = None, **options: Any) -> Path:
    """Saves a run below `root` and returns its folder.

    untraced: variants without a trace; kernel: variant → new name of its last kernel
    lost: variant → so many GPU records are missing at the begin of each forward
    """
    content = data(**options)
    kept = {name: trace(name, (kernel or {}).get(name)) for name in content["variants"] if traces and name in FORWARDS and name not in untraced}
    for name, number in (lost or {}).items():
        _lose(kept[name]["traceEvents"], number)
    return run_room.save(content, kept, root)


def _lose(events: list[dict[str, Any]], number: int) -> None:
    records = [event for event in events if event["cat"] == "kernel" or event["cat"].startswith("gpu_")]
    per_forward = len(records) // 4
    for place, event in enumerate(records):
        if place % per_forward < number:
            events.remove(event)


def data(*, seed: int = 0, noise: float = 0.002, slug: str = "nvidia-h200", label: str | None = None, software: Mapping[str, Any] | None = None,
         settings: Mapping[str, Any] | None = None, scale: Mapping[str, Mapping[str, float]] | None = None,
         change: Callable[[dict[str, Any]], None] | None = None) -> dict[str, Any]:
    """The content of `run.json`. scale: variant → quantity → factor on its seven samples."""
    source = random.Random(seed)

    def samples(place: int, name: str) -> dict[str, list[float]]:
        factor = (scale or {}).get(name, {})
        return {quantity: [us[place] * 1e-6 * factor.get(quantity, 1.0) * (1 + source.gauss(0, noise)) for _ in range(7)] for quantity, us in US.items()}

    content: dict[str, Any] = {
        "schema_version": run_room.SCHEMA_VERSION, "recorded_on": "2026-11-30", "label": label,
        "device": {"kind": "cuda", "name": f"NVIDIA {slug}", "slug": slug, "compute_capability": "9.0", "sm_count": 132,
                   "memory_bytes": 150109880320, "l2_cache_bytes": 62914560, "ecc": True},
        "software": {**SOFTWARE, **(software or {})}, "host": {"cpu": "a CPU", "logical_cpus": 16}, "settings": deepcopy({**SETTINGS, **(settings or {})}),
        "protocol": {"processes": 7, "rounds": 3},
        "workload": {"name": "article", "batch": 8, "heads": 16, "sequence": 1024, "head_dim": 64, "dtype": "bfloat16", "causal": True},
        "ceilings": {"copy_bytes_per_s": 4.3e12, "matmul_flop_per_s": 788e12, "fp32_flop_per_s": 50e12, "copy_bytes": 1258291200, "matmul_size": 8192},
        "variants": {name: {"title": title, "status": "ok", "source": f"# {name}\ndef forward(q, k, v, mask):\n    ...\n", "prediction": [["matmul", "q · kᵀ"]],
                            "named": True, "samples": samples(place, name), "timer": "cuda-graph", "peak_memory_bytes": 17301504 * (place + 1),
                            "relative_error": 2.4e-3, "allowed_error": 5e-3, "masked_row": {"outcome": "zeros"}}
                     for place, (name, title) in enumerate(TITLES.items())},
    }
    if change:
        change(content)
    return content


def trace(name: str, last_kernel: str | None = None) -> dict[str, Any]:
    """A Kineto trace of four forwards of a recorded variant; all forwards alike."""
    recorded, events = FORWARDS[name], []
    for step in range(4):
        begin = 1000.0 + step * _FORWARD_US
        events.append(_event("user_annotation", "attention_forward", begin, 5000.0))
        events += [_event("cpu_op", path[-1], begin + start, us) for path, start, us in recorded["ops"]]
        for number, raw in enumerate(recorded["activities"]):
            correlation = 1 + step * 100 + number
            renamed = last_kernel if last_kernel and number == len(recorded["activities"]) - 1 else raw["name"]
            category = "kernel" if raw["kind"] == "kernel" else f"gpu_{raw['kind']}"
            events.append(_event("cuda_runtime" if raw["launch_api"].startswith("cuda") else "cuda_driver", raw["launch_api"], begin + raw["launch_us"], 1.0,
                                 {"correlation": correlation}))
            events.append(_event(category, renamed, begin + raw["start_us"], raw["us"][0], _arguments(raw, correlation), thread=7))
    return {"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}


def _arguments(raw: Mapping[str, Any], correlation: int) -> dict[str, Any]:
    given = {"correlation": correlation, "device": 0, "stream": 7, "grid": raw["grid"], "block": raw["block"], "registers per thread": raw["registers"],
             "shared memory": raw["shared_memory"], "est. achieved occupancy %": raw["profiler_occupancy"], "bytes": raw["bytes"]}
    return {key: value for key, value in given.items() if value is not None}


def _event(category: str, name: str, start: float, duration: float, arguments: Mapping[str, Any] | None = None, thread: int = 1) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 0 if thread == 7 else 1, "tid": thread, "ts": start, "dur": duration, "args": dict(arguments or {})}
