"""What no measurement can give. Such a file must be refused when it is loaded: what is wrong, and what to do."""

from __future__ import annotations

from typing import Any

from .. import samples
from ..recorded import Traces
from ..registry import perturbation


def _one(run: dict[str, Any], value: Any, variant: str = "sdpa_flash", quantity: str = "gpu_time") -> None:
    samples.of(run, variant)[quantity][3] = value


@perturbation("D crashes", refused=True)
def zero_times(run: dict[str, Any], traces: Traces) -> None:
    """Every GPU time of flash is 0."""
    samples.of(run, "sdpa_flash")["gpu_time"] = [0.0] * 7


@perturbation("D crashes", refused=True)
def one_zero_time(run: dict[str, Any], traces: Traces) -> None:
    """One of seven GPU times is 0."""
    _one(run, 0)


@perturbation("D crashes", refused=True)
def negative_time(run: dict[str, Any], traces: Traces) -> None:
    """One of seven host times is negative."""
    _one(run, -2.1e-5, quantity="host_time")


@perturbation("D crashes", refused=True)
def nan_time(run: dict[str, Any], traces: Traces) -> None:
    """One of seven GPU times is not a number."""
    _one(run, float("nan"))


@perturbation("D crashes", refused=True)
def infinite_time(run: dict[str, Any], traces: Traces) -> None:
    """One of seven wall times is infinite."""
    _one(run, float("inf"), quantity="wall_time")


@perturbation("D crashes", refused=True)
def time_as_text(run: dict[str, Any], traces: Traces) -> None:
    """One of seven GPU times is text."""
    _one(run, "92 µs")


@perturbation("D crashes", refused=True)
def unequal_processes(run: dict[str, Any], traces: Traces) -> None:
    """Flash has six GPU times where the others have seven, so nothing can be paired."""
    samples.of(run, "sdpa_flash")["gpu_time"].pop()


@perturbation("D crashes", refused=True)
def unequal_inside_a_variant(run: dict[str, Any], traces: Traces) -> None:
    """In place has eight host times and seven of everything else."""
    found = samples.of(run, "naive_inplace")["host_time"]
    found.append(found[0])


@perturbation("D crashes", refused=True)
def unequal_chains(run: dict[str, Any], traces: Traces) -> None:
    """Naive's chain of 24 was timed in five processes, in place's in seven."""
    run["probes"]["saving_accumulates"]["naive"]["24"] = run["probes"]["saving_accumulates"]["naive"]["24"][:5]


@perturbation("D crashes", refused=True)
def nan_chain(run: dict[str, Any], traces: Traces) -> None:
    """A chain of forwards took NaN seconds."""
    run["probes"]["saving_accumulates"]["naive"]["1"][0] = float("nan")


@perturbation("D crashes", refused=True)
def error_nan_ok(run: dict[str, Any], traces: Traces) -> None:
    """Flash's status is `ok` and its error is not a number."""
    run["variants"]["sdpa_flash"]["relative_error"] = float("nan")


@perturbation("D crashes", refused=True)
def error_infinite(run: dict[str, Any], traces: Traces) -> None:
    """Naive's error is infinite."""
    run["variants"]["naive"]["relative_error"] = float("inf")


@perturbation("D crashes", refused=True)
def ceiling_zero(run: dict[str, Any], traces: Traces) -> None:
    """The copy ceiling is 0 bytes per second."""
    run["ceilings"]["copy_bytes_per_s"] = 0.0


@perturbation("D crashes", refused=True)
def ceiling_nan(run: dict[str, Any], traces: Traces) -> None:
    """The matmul ceiling is not a number."""
    run["ceilings"]["matmul_flop_per_s"] = float("nan")


@perturbation("D crashes", refused=True)
def counter_nan(run: dict[str, Any], traces: Traces) -> None:
    """A counter of flash's holds NaN."""
    run["counters"]["variants"]["sdpa_flash"][0]["metrics"]["dram__bytes_read.sum"] = float("nan")


@perturbation("D crashes", refused=True)
def counters_of_another_form(run: dict[str, Any], traces: Traces) -> None:
    """The counters of flash are text where a list of kernels belongs."""
    run["counters"]["variants"]["sdpa_flash"] = "see ncu.csv"


@perturbation("D crashes", refused=True)
def memory_negative(run: dict[str, Any], traces: Traces) -> None:
    """Flash's peak memory is negative."""
    run["variants"]["sdpa_flash"]["peak_memory_bytes"] = -1


@perturbation("D crashes", refused=True)
def clock_as_text(run: dict[str, Any], traces: Traces) -> None:
    """An SM clock is text."""
    run["clocks"]["samples"][0]["sm_mhz"] = "fast"


@perturbation("D crashes", refused=True)
def probe_of_another_form(run: dict[str, Any], traces: Traces) -> None:
    """The probe for the default backend is text where an object belongs."""
    run["probes"]["default_backend"] = "cudnn"


@perturbation("D crashes", refused=True)
def processes_nan(run: dict[str, Any], traces: Traces) -> None:
    """The number of processes is not a number."""
    run["protocol"]["processes"] = float("nan")


@perturbation("D crashes", refused=True)
def unknown_status(run: dict[str, Any], traces: Traces) -> None:
    """A status that nobody knows."""
    run["variants"]["sdpa_flash"]["status"] = "fine"


@perturbation("D crashes", refused=True)
def no_workload(run: dict[str, Any], traces: Traces) -> None:
    """The workload is missing."""
    del run["workload"]


@perturbation("D crashes", refused=True)
def newer_schema(run: dict[str, Any], traces: Traces) -> None:
    """Recorded by a later version of this program."""
    run["schema_version"] = 99
