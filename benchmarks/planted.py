"""Traces of small transformers with one planted cause each, for `reportgen explain` to find.

    python3 -m benchmarks.planted --out build/planted               on the GPU at hand, under two minutes
    python3 -m benchmarks.planted --out build/planted --device cpu  tiny sizes, nothing to measure

It needs torch alone. Each case is a trace of three steps (`<name>.json.gz`, shapes and stacks recorded) and an entry of `manifest.json`: the cause, the
planted line, and what a step took without the profiler, by the device's events. A case that fails costs itself; one that kills its process too.
"""

from __future__ import annotations

import argparse
import gc
import gzip
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = 3
"""Steps in a trace."""
TIMED = 5
"""Steps that are timed, after as many that are not."""
PATIENCE = 90
"""Seconds that a case may take before its process is ended."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--only", default="", help="these cases alone, with commas between")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    chosen.out.mkdir(parents=True, exist_ok=True)
    if chosen.worker:
        work(chosen.out, chosen.device, chosen.only.split(","))
    else:
        lead(chosen.out, chosen.device, [name for name in chosen.only.split(",") if name])


def lead(out: Path, device: str, only: list[str]) -> None:
    """Starts workers until each case has an entry, and writes them all into `manifest.json`."""
    names = only or names_of_all()
    entries: dict[str, dict[str, Any]] = {}
    while left := [name for name in names if name not in entries]:
        for name, entry in started(out, device, left).items():
            entries[name] = entry
            print(f"{name:32} {entry['state']:8} {entry.get('reason') or '%.3f ms' % (1e3 * sorted(entry['seconds'])[TIMED // 2])}", flush=True)
            (out / "manifest.json").write_text(json.dumps([entries[one] for one in names if one in entries], indent=1) + "\n", encoding="utf-8")


def names_of_all() -> list[str]:
    script = "from benchmarks.planted_models import CASES; print(*(one.name for one in CASES))"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()


def started(out: Path, device: str, left: list[str]) -> dict[str, dict[str, Any]]:
    """What one worker came to: at least the first case of `left`, which has failed if the worker died on it."""
    command = [sys.executable, "-m", "benchmarks.planted", "--out", str(out), "--device", device, "--only", ",".join(left), "--worker"]
    done: dict[str, dict[str, Any]] = {}
    for name in left:
        (out / f"{name}.entry").unlink(missing_ok=True)
    with subprocess.Popen(command) as worker:
        for name in left:
            until = time.monotonic() + PATIENCE
            file = out / f"{name}.entry"
            while not file.exists() and worker.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            if not file.exists():
                why = "it took too long" if worker.poll() is None else f"its process ended with {worker.returncode}"
                worker.kill()
                done[name] = {"name": name, "state": "failed", "reason": why}
                return done
            done[name] = json.loads(file.read_text(encoding="utf-8"))
            file.unlink()
    return done


def work(out: Path, device: str, names: list[str]) -> None:
    """Runs the cases in this process, one after the other."""
    import torch

    from . import planted_models as models

    torch.set_float32_matmul_precision("highest")
    first_profile(device)
    cases = {case.name: case for case in models.CASES}
    os.chdir(out)  # so that a trace holds no path of this machine
    for name in names:
        entry = attempt(cases[name], cases[name].sizes(models.TINY if device == "cpu" else models.Sizes()), device)
        ready = Path(f"{name}.writing")
        ready.write_text(json.dumps(entry), encoding="utf-8")
        ready.replace(f"{name}.entry")
        free(device)


def attempt(case: Any, sizes: Any, device: str) -> dict[str, Any]:
    """The case's entry: times, trace, or why there is none."""
    import torch

    entry = {"name": case.name, "cause": case.cause, "line": case.line(), "twin_of": case.twin_of, "trained": case.trained, "way": case.way,
             "dtype": str(case.dtype).removeprefix("torch."), "sizes": vars(sizes), "torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
             "device": torch.cuda.get_device_name() if device == "cuda" else "cpu"}
    try:
        from .planted_models import prepare

        step = prepare(case, sizes, device)
        seconds, wall = timed(step, device)
        trace = traced(step, device, case.name)
        return {**entry, "state": "ok", "seconds": seconds, "wall": wall, "steps": STEPS, "trace": trace}
    except NotImplementedError as error:
        return {**entry, "state": "left out", "reason": str(error)}
    except Exception as error:  # noqa: BLE001 - it costs this case alone
        return {**entry, "state": "failed", "reason": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}


def timed(step: Callable[[], Any], device: str) -> tuple[list[float], list[float]]:
    """Seconds of `TIMED` steps by the device's events, and by the host's clock until the device was done."""
    import torch

    for _ in range(TIMED):
        step()
    wait(device)
    by_device, by_host = [], []
    for _ in range(TIMED):
        begun = time.perf_counter()
        if device == "cpu":
            step()
            by_device.append(time.perf_counter() - begun)
        else:
            first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            first.record()
            step()
            last.record()
            wait(device)
            by_device.append(first.elapsed_time(last) / 1e3)
        by_host.append(time.perf_counter() - begun)
    return by_device, by_host


def traced(step: Callable[[], Any], device: str, name: str) -> str:
    """Writes the trace of `STEPS` steps; returns its file's name."""
    from torch.profiler import profile, schedule

    with profile(activities=activities(device), schedule=schedule(wait=0, warmup=1, active=STEPS, repeat=1), record_shapes=True, with_stack=True,
                 on_trace_ready=lambda profiler: profiler.export_chrome_trace(f"{name}.json")) as profiler:
        wait(device)
        for _ in range(1 + STEPS):
            step()
            wait(device)
            profiler.step()
    plain = Path(f"{name}.json")
    packed = Path(f"{name}.json.gz")
    packed.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    plain.unlink()
    return packed.name


def activities(device: str) -> list[Any]:
    from torch.profiler import ProfilerActivity

    return [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device == "cuda" else [])]


def first_profile(device: str) -> None:
    """The profiler's first start in a process takes seconds and loses records: here it costs nobody."""
    import torch
    from torch.profiler import profile

    with profile(activities=activities(device), record_shapes=True, with_stack=True):
        torch.ones(8, device=device).sum()
        wait(device)


def wait(device: str) -> None:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def free(device: str) -> None:
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
