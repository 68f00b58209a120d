"""What makes every number of a run suspect: clocks, neighbours, timers that disagree, too few processes."""

from __future__ import annotations

from typing import Any

from .. import kineto, samples
from ..recorded import Traces
from ..registry import perturbation


@perturbation("B3")
def throttled(run: dict[str, Any], traces: Traces) -> None:
    """Power held the clocks back in every second sample."""
    for sample in run["clocks"]["samples"][::2]:
        sample.update(sm_mhz=1410, throttle=["power limit"])


@perturbation("B3")
def neighbours(run: dict[str, Any], traces: Traces) -> None:
    """Two other compute processes held the GPU."""
    run["clocks"]["other_processes"] = 2


@perturbation("B3")
def clock_spread(run: dict[str, Any], traces: Traces) -> None:
    """The SM clock ran at 1,200 MHz whenever math was timed, at 1,980 MHz otherwise: 39 % apart."""
    for sample in run["clocks"]["samples"]:
        sample["sm_mhz"] = 1200 if sample["variant"] == "sdpa_math" else 1980


@perturbation("B3")
def timers_disagree(run: dict[str, Any], traces: Traces) -> None:
    """In the trace each activity of every variant takes 1.4 times as long as the replay says."""
    for name in traces:
        for event in kineto.activities(traces[name]):
            event["dur"] *= 1.4


@perturbation("B3")
def everything_suspect(run: dict[str, Any], traces: Traces) -> None:
    """Throttled, with neighbours, clocks apart and timers that disagree, all at once."""
    clock_spread(run, traces)
    throttled(run, traces)
    neighbours(run, traces)
    timers_disagree(run, traces)


@perturbation("suspect")
def launches_wait(run: dict[str, Any], traces: Traces) -> None:
    """CUDA_LAUNCH_BLOCKING was left set: each call returns when the GPU is done, so host time is wall time."""
    run["settings"]["environment"] = {"CUDA_LAUNCH_BLOCKING": "1"}
    run["noticed"] = [{"cause": "blocking", "said": "CUDA_LAUNCH_BLOCKING=1 makes every launch wait for the GPU, so host time is GPU time"}]
    for entry in run["variants"].values():
        if "host_time" in entry["samples"]:
            entry["samples"]["host_time"] = list(entry["samples"]["wall_time"])


@perturbation("suspect")
def watched(run: dict[str, Any], traces: Traces) -> None:
    """compute-sanitizer watched the processes."""
    run["settings"]["environment"] = {"COMPUTE_SANITIZER_INJECTION": "set"}
    run["noticed"] = [{"cause": "tools", "said": "a profiler or a sanitizer watches this process (COMPUTE_SANITIZER_INJECTION), so times are its as well"}]


@perturbation("suspect")
def dead_child(run: dict[str, Any], traces: Traces) -> None:
    """The process that takes everything beside the timings was killed during the ceilings, the probes and flash's and in place's memory."""
    killed = "the process was killed by SIGKILL"
    run["ceilings"] = None
    run["probes"] = {**{name: {"reason": f"{killed}."} for name in run["probes"]}, "saving_accumulates": run["probes"]["saving_accumulates"]}
    run["correctness"] = {"reason": f"{killed}."}
    run["lost"] = [{"what": what, "variant": name, "reason": killed} for what, name in
                   (("ceilings", None), ("probes", None), ("memory", "sdpa_flash"), ("memory", "naive_inplace"))]
    for name in ("sdpa_flash", "naive_inplace"):
        run["variants"][name]["peak_memory_bytes"] = None


@perturbation("suspect")
def forwards_differ(run: dict[str, Any], traces: Traces) -> None:
    """One recorded forward of flash ran a different list of activities."""
    kineto.change(kineto.kernels(traces["sdpa_flash"])[-1:], name="void other_kernel(int)")


@perturbation("suspect")
def clocks_unknown(run: dict[str, Any], traces: Traces) -> None:
    """NVML is not there: no clocks, no neighbours, no power limit."""
    run["clocks"] = {"available": False, "reason": "NVML is not available (libnvidia-ml.so.1: cannot open shared object file)", "samples": [], "other_processes": None}
    run["device"].update(power_limit_watts=None, default_power_limit_watts=None, ecc=None)
    run["software"]["driver"] = None


@perturbation("C", "B5")
def one_process(run: dict[str, Any], traces: Traces) -> None:
    """One timing process: nothing can be told apart."""
    samples.processes(run, 1)


@perturbation("C")
def three_processes(run: dict[str, Any], traces: Traces) -> None:
    """Three timing processes: too few to tell anything apart."""
    samples.processes(run, 3)


@perturbation("C")
def nine_processes(run: dict[str, Any], traces: Traces) -> None:
    """Nine timing processes."""
    samples.processes(run, 9)


@perturbation("suspect")
def rounds_cut_short(run: dict[str, Any], traces: Traces) -> None:
    """A busy machine: one round of three was done in most processes, and no variant settled in all of them."""
    run["protocol"]["rounds_done"] = [1, 1, 1, 2, 1, 1, 3]
    run["protocol"]["settled"] = dict.fromkeys(run["protocol"]["settled"], 4)
