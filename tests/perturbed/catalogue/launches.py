"""Launches and occupancy: another launch call, another field of the profiler's, other registers."""

from __future__ import annotations

from typing import Any

from .. import kineto
from ..recorded import Traces
from ..registry import perturbation

DEFAULT_SHARED_MEMORY = 48 * 1024


def _over(trace: kineto.Document) -> list[kineto.Event]:
    """Kernels with more shared memory than a block may have without asking."""
    return [event for event in kineto.kernels(trace) if event["args"]["shared memory"] > DEFAULT_SHARED_MEMORY]


@perturbation("C")
def profiler_fixed(run: dict[str, Any], traces: Traces) -> None:
    """A later torch: the profiler's field is right above 48 KiB of shared memory as well, 19 % for cuDNN and cuBLAS."""
    for name in traces:
        kineto.reads(_over(traces[name]), 19)
    for probe in run["probes"]["occupancy_probe"]["launches"]:
        if probe["shared_memory"] > DEFAULT_SHARED_MEMORY:
            probe["profiler_occupancy"] = 25
    run["software"]["torch"] = "2.15.0+cu130"


@perturbation("C")
def cudnn_field_19(run: dict[str, Any], traces: Traces) -> None:
    """The field reads 19 % for cuDNN, and 0 for cuBLAS's kernels as before."""
    kineto.reads(kineto.kernels(traces["sdpa_cudnn"]), 19)


@perturbation("C")
def driver_call_is_the_cause(run: dict[str, Any], traces: Traces) -> None:
    """What a driver call launches reads 0 and nothing else does, whatever its shared memory."""
    for name in traces:
        launched = {event["args"].get("correlation") for event in kineto.events(traces[name], "cuda_driver")}
        for event in kineto.kernels(traces[name]):
            by_driver = event["args"]["correlation"] in launched
            event["args"][kineto.FIELD] = 0 if by_driver else max(1, event["args"][kineto.FIELD])
    for probe in run["probes"]["occupancy_probe"]["launches"]:
        probe["profiler_occupancy"] = 0 if probe["launch_api"].startswith("cuLaunch") else 25


@perturbation("ledger cudnn-zero-cause")
def no_occupancy_probe(run: dict[str, Any], traces: Traces) -> None:
    """The pair of probe kernels could not be built."""
    run["probes"]["occupancy_probe"] = {"reason": "libnvrtc.so could not be loaded."}


@perturbation("ledger cudnn-zero-occupancy")
def no_field(run: dict[str, Any], traces: Traces) -> None:
    """The profiler writes no occupancy at all."""
    for name in traces:
        for event in kineto.kernels(traces[name]):
            event["args"].pop(kineto.FIELD, None)


@perturbation("ledger cudnn-launch-api")
def everything_by_the_driver(run: dict[str, Any], traces: Traces) -> None:
    """Every kernel is launched through `cuLaunchKernelEx`."""
    for name in traces:
        kineto.launched_by(traces[name], kineto.kernels(traces[name]), "cuLaunchKernelEx")


@perturbation("ledger cudnn-launch-api")
def launches_as_published(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN's kernel alone is launched through `cuLaunchKernelEx`."""
    for name in traces:
        if name != "sdpa_cudnn":
            kineto.launched_by(traces[name], kineto.kernels(traces[name]), "cudaLaunchKernel")


@perturbation("ledger cudnn-launch-api")
def cudnn_by_the_runtime(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN launches through `cudaLaunchKernelExC`, the runtime's call."""
    kineto.launched_by(traces["sdpa_cudnn"], kineto.kernels(traces["sdpa_cudnn"]), "cudaLaunchKernelExC")


@perturbation("ledger flash-occupancy")
def flash_fewer_registers(run: dict[str, Any], traces: Traces) -> None:
    """Flash's kernel needs 128 registers a thread, so four blocks fit: 25 %."""
    kineto.argue(kineto.kernels(traces["sdpa_flash"]), registers_per_thread=128)
    kineto.reads(kineto.kernels(traces["sdpa_flash"]), 25)
    for row in run["counters"]["variants"]["sdpa_flash"]:
        row["metrics"].update({"launch__registers_per_thread": 128, "sm__maximum_warps_per_active_cycle_pct": 25.0})


@perturbation("ledger flash-occupancy")
def counted_occupancy_disagrees(run: dict[str, Any], traces: Traces) -> None:
    """Nsight Compute works out 25 % for flash, the arithmetic 12.5 %."""
    for row in run["counters"]["variants"]["sdpa_flash"]:
        row["metrics"]["sm__maximum_warps_per_active_cycle_pct"] = 25.0


@perturbation("ledger cudnn-real-occupancy")
def cudnn_like_flash(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN's kernel is launched with 256 threads of 255 registers: 12.5 %, as in the article."""
    kineto.argue(kineto.kernels(traces["sdpa_cudnn"]), registers_per_thread=255, block=[256, 1, 1])
    for row in run["counters"]["variants"]["sdpa_cudnn"]:
        row["metrics"].update({"launch__registers_per_thread": 255, "sm__maximum_warps_per_active_cycle_pct": 12.5})
        row["block"] = [256, 1, 1]
