"""Verdicts of five claims, worked out from the files of a run and from CLAIMS.md alone: no code of reportgen's.

A set of verdicts, because some things are left to the rules: whether a competitor that was not asked for keeps "fastest"
from being measured, whether one that has no GPU time, or one taken by another timer, can be ruled out by what else is
known of it, and whether a run of fewer than seven processes, which can tell nothing apart, calls that noise or not
measurable. An untimed one that could have won always keeps it: its GPU time is at most its wall time.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

HOLDS, DIFFERS, NOISE, UNMEASURED = "holds", "differs", "within noise", "not measurable"
SIX = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
SAME_SOFTWARE = ("torch", "cuda", "hip", "cudnn", "cublas", "triton", "driver")
NEEDS = {
    "memcpy-hidden": "naive naive_inplace", "memcpy-inplace-removes": "naive naive_inplace", "inplace-fewer-cpu-ops": "naive naive_inplace",
    "inplace-autograd": "naive naive_inplace", "inplace-memory": "naive naive_inplace", "saving-accumulates": "naive naive_inplace",
    "math-slower": "sdpa_math naive_inplace", "math-3.7x": "sdpa_math naive_inplace", "math-20-kernels": "sdpa_math naive_inplace",
    "math-no-tensor-cores": "sdpa_math naive_inplace", "math-upcast": "sdpa_math", "math-mask-rebuilt": "sdpa_math", "math-safe-softmax": "sdpa_math",
    "math-accurate": "sdpa_math", "efficient-one-kernel": "sdpa_efficient", "flash-one-kernel": "sdpa_flash", "hbm-dominates": "naive_inplace sdpa_math",
    "flash-never-writes-scores": "sdpa_flash", "flash-fastest": "sdpa_flash", "flash-occupancy": "sdpa_flash", "cudnn-one-kernel": "sdpa_cudnn",
    "cudnn-no-transposes": "sdpa_cudnn sdpa_flash sdpa_efficient", "cudnn-launch-api": "sdpa_cudnn", "cudnn-zero-occupancy": "sdpa_cudnn",
    "cudnn-zero-cause": "sdpa_cudnn", "cudnn-real-occupancy": "sdpa_cudnn", "cudnn-cpu-cost": "sdpa_cudnn sdpa_flash sdpa_efficient",
    "cudnn-gpu-between": "sdpa_cudnn sdpa_flash sdpa_efficient",
}
"""Claim → the variants that it compares. Each of them must have run."""

Run = Mapping[str, Any]
Noise = Mapping[str, Any]


def ran(run: Run, name: str) -> bool:
    """It gave a result, right or wrong."""
    entry = run["variants"].get(name)
    return bool(entry) and (entry["status"] in ("ok", "wrong") or str(entry["reason"]).startswith("wrong result"))


def right(run: Run, name: str) -> bool:
    """It gave a right result: a wrong one wins nothing and is compared with nothing."""
    if not ran(run, name) or run["variants"][name]["status"] != "ok":
        return False
    error, allowed = (run["variants"][name][key] for key in ("relative_error", "allowed_error"))
    return error is None or allowed is None or error <= allowed


def times(run: Run, name: str, quantity: str) -> list[float] | None:
    return run["variants"][name]["samples"].get(quantity)


def deciding(run: Run) -> str:
    return "wall_time" if run["device"]["kind"] == "cpu" else "gpu_time"


def alike(run: Run, quantity: str, *names: str) -> bool:
    """Whether the times were taken in the same way. Only GPU time has a timer."""
    return quantity != "gpu_time" or len({run["variants"][name]["timer"] for name in names}) == 1


def margin(run: Run, noise: Noise | None, quantity: str, first: str, second: str) -> float:
    """2 %, or the run's own floor where that is larger: of the pair, and of the GPU's clock where the clock has a part in it."""
    least = 0.02
    if noise and _fits(run, noise):
        pair = noise["ratios"].get(quantity, {}).get("/".join(sorted((first, second))))
        whole = max((shifts.get(quantity, 0.0) for shifts in noise["shifts"].values()), default=0.0)
        least = max(least, whole if pair is None else pair)
    clock = _clock_spread(run)
    return max(least, clock) if clock > 0.03 and quantity != "host_time" else least


def _fits(run: Run, noise: Noise) -> bool:
    software = all(not noise["software"].get(name) or not run["software"].get(name) or noise["software"][name] == run["software"][name] for name in SAME_SOFTWARE)
    ignored = {"environment", "torch_threads"} if run["device"]["kind"] != "cpu" else {"environment"}
    both = (noise["settings"].keys() & run["settings"].keys()) - ignored
    return software and all(noise["settings"][name] == run["settings"][name] for name in both)


def _clock_spread(run: Run) -> float:
    clocks: dict[str, list[float]] = {}
    for sample in run["clocks"]["samples"]:
        clocks.setdefault(sample["variant"], []).append(sample["sm_mhz"])
    medians = [median(values) for values in clocks.values()]
    return 1 - min(medians) / max(medians) if medians else 0.0


def shorter(run: Run, noise: Noise | None, quantity: str, first: str, second: str) -> str | None:
    """Which takes less beyond noise: in all processes, seven at least, and by more than the margin in the median."""
    a, b = times(run, first, quantity), times(run, second, quantity)
    assert a and b and len(a) == len(b)
    ratios, beyond = [x / y for x, y in zip(a, b)], 1 + margin(run, noise, quantity, first, second)
    if len(ratios) < 7:
        return None
    if max(ratios) < 1 and median(ratios) <= 1 / beyond:
        return first
    return second if min(ratios) > 1 and median(ratios) >= beyond else None


def flash_fastest(run: Run, noise: Noise | None) -> set[str]:
    flash, quantity = "sdpa_flash", deciding(run)
    if not right(run, flash) or not times(run, flash, quantity):
        return {UNMEASURED}
    rivals = [name for name in SIX if name != flash and right(run, name)]
    timed = [name for name in rivals if times(run, name, quantity)]
    loose = {UNMEASURED} if len(timed) < len(rivals) or not alike(run, quantity, flash, *timed) or not _all_tried(run) else set()
    if any(shorter(run, noise, quantity, flash, name) == name for name in timed):
        sure = any(alike(run, quantity, flash, name) and shorter(run, noise, quantity, flash, name) == name for name in timed)
        return {DIFFERS} if sure else {DIFFERS, UNMEASURED}
    if not timed or any(_may_win(run, name, flash) for name in rivals if name not in timed):
        return {UNMEASURED}
    return {HOLDS if all(shorter(run, noise, quantity, flash, name) == flash for name in timed) else NOISE} | loose


def _all_tried(run: Run) -> bool:
    return all(name in run["variants"] and run["variants"][name]["reason"] != "not asked for in this run" for name in SIX)


def _may_win(run: Run, name: str, than: str) -> bool:
    """Without a GPU time: its eager loop, which takes longer still, takes less than the other on the GPU."""
    own, other = times(run, name, "wall_time"), times(run, than, "gpu_time")
    return not own or not other or median(own) < median(other)


def fastest(run: Run, noise: Noise | None) -> str | None:
    """The one of the six that beats every other that is right; `None` where there is no such one, or nobody to beat.

    One without a GPU time stands in the way if it may have won by what is known.
    """
    quantity = deciding(run)
    rivals = [name for name in SIX if right(run, name)]
    timed = [name for name in rivals if times(run, name, quantity)]
    for name in timed:
        untimed = [other for other in rivals if other not in timed]
        if len(timed) > 1 and all(shorter(run, noise, quantity, name, other) == name for other in timed if other != name) and not any(_may_win(run, other, name) for other in untimed):
            return name
    return None


def math_slower(run: Run, noise: Noise | None) -> set[str]:
    return _two(run, noise, "naive_inplace", "sdpa_math")


def _two(run: Run, noise: Noise | None, shorter_one: str, longer_one: str) -> set[str]:
    """Holds if the first takes less time than the second."""
    quantity, names = deciding(run), (shorter_one, longer_one)
    if not all(right(run, name) for name in names) or not all(times(run, name, quantity) for name in names):
        return {UNMEASURED}
    winner = shorter(run, noise, quantity, *names)
    return {NOISE if winner is None else HOLDS if winner == shorter_one else DIFFERS} | _if_unlike(run, quantity, *names)


def _if_unlike(run: Run, quantity: str, *names: str) -> set[str]:
    return set() if alike(run, quantity, *names) else {UNMEASURED}


def cudnn_between(run: Run, noise: Noise | None) -> set[str]:
    cudnn, names = "sdpa_cudnn", ("sdpa_cudnn", "sdpa_flash", "sdpa_efficient")
    if not all(right(run, name) and times(run, name, "gpu_time") for name in names):
        return {UNMEASURED}
    winners = [shorter(run, noise, "gpu_time", cudnn, other) for other in names[1:]]
    verdict = NOISE if None in winners else DIFFERS if len({winner == cudnn for winner in winners}) == 1 else HOLDS
    return {verdict} | _if_unlike(run, "gpu_time", *names)


def cudnn_cpu_cost(run: Run, noise: Noise | None) -> set[str]:
    if {"CUDA_LAUNCH_BLOCKING", "COMPUTE_SANITIZER_INJECTION"} & set(run["settings"]["environment"]):
        return {UNMEASURED}  # its host time is not what a call costs
    cudnn, names = "sdpa_cudnn", ("sdpa_cudnn", "sdpa_flash", "sdpa_efficient")
    if not all(right(run, name) and times(run, name, "host_time") for name in names):
        return {UNMEASURED}
    cheaper = [shorter(run, noise, "host_time", cudnn, other) for other in names[1:]]
    return {DIFFERS if cudnn in cheaper else NOISE if None in cheaper else HOLDS}


def inplace_removes(run: Run, noise: Noise | None, folder: Path) -> set[str]:
    names = ("naive", "naive_inplace")
    if not all(right(run, name) for name in names):
        return {UNMEASURED}
    copies = [_copies(run, name, folder) for name in names]
    if not copies[0] or copies[1] is None:
        return {UNMEASURED}
    return {DIFFERS} if copies[1] else _two(run, noise, "naive_inplace", "naive")


def _copies(run: Run, name: str, folder: Path) -> int | None:
    """Activities launched inside `aten::copy_` inside `aten::masked_fill`; `None` where the trace shows no activity at all."""
    file = run["variants"][name]["trace"]
    if not file:
        return None
    events = [event for event in json.loads(gzip.decompress((folder / file).read_bytes()))["traceEvents"] if event.get("ph") == "X"]
    work = {event["args"].get("correlation") for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")}
    spans = {op: [(event["ts"], event["ts"] + event["dur"]) for event in events if event.get("cat") == "cpu_op" and event["name"] == op]
             for op in ("aten::masked_fill", "aten::copy_")}
    launches = [event["ts"] for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver") and event["args"].get("correlation") in work]
    return sum(all(any(begin <= at <= end for begin, end in found) for found in spans.values()) for at in launches) if work else None


def verdicts(run: Run, noise: Noise | None, folder: Path) -> dict[str, set[str]]:
    """Claim → the verdicts that CLAIMS.md allows."""
    few = {UNMEASURED} if run["protocol"]["processes"] < 7 else set()
    found = {"flash-fastest": flash_fastest(run, noise), "math-slower": math_slower(run, noise), "cudnn-gpu-between": cudnn_between(run, noise),
            "cudnn-cpu-cost": cudnn_cpu_cost(run, noise), "memcpy-inplace-removes": inplace_removes(run, noise, folder)}
    return {claim: allowed | few if NOISE in allowed else allowed for claim, allowed in found.items()}
