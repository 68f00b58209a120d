"""Parts that are not there: traces, lanes, host times, training, a quick run, a run of an older program."""

from __future__ import annotations

from typing import Any

from .. import kineto, states
from ..recorded import COMPILED, SIX, Traces
from ..registry import perturbation


@perturbation("C")
def cudnn_trace_lost(run: dict[str, Any], traces: Traces) -> None:
    """torch wrote no readable trace of cuDNN; the others are there, with a GPU lane."""
    states.lose_trace(run, traces, "sdpa_cudnn")


@perturbation("gaps")
def naive_trace_lost(run: dict[str, Any], traces: Traces) -> None:
    """torch wrote no readable trace of naive."""
    states.lose_trace(run, traces, "naive")


@perturbation("gaps")
def all_traces_lost(run: dict[str, Any], traces: Traces) -> None:
    """No trace could be taken at all."""
    states.lose_trace(run, traces, *list(traces), reason="the profiler could not be started.")


@perturbation("gaps")
def no_gpu_lane(run: dict[str, Any], traces: Traces) -> None:
    """CUPTI is missing: every trace holds CPU ops and host calls, and nothing of the GPU's."""
    for name in traces:
        kineto.without_gpu(traces[name])
    states.no_counters(run, "Nsight Compute saw no kernel of an annotated forward; see whether the variants run at all")
    run["probes"]["occupancy_probe"] = {"reason": "the profiler recorded no kernel."}
    for entry in run["variants"].values():
        if entry["training"]:
            entry["training"]["kernels"] = None


@perturbation("A4")
def no_host_time(run: dict[str, Any], traces: Traces) -> None:
    """No host time was taken, in a run made now."""
    for entry in run["variants"].values():
        entry["samples"].pop("host_time", None)


@perturbation("A4")
def no_training(run: dict[str, Any], traces: Traces) -> None:
    """Forward and backward ran out of memory in every variant."""
    for name in SIX:
        run["variants"][name]["training"] = {"status": "failed", "reason": states.OUT_OF_MEMORY}


@perturbation("A4")
def quick(run: dict[str, Any], traces: Traces) -> None:
    """`--quick`, made now: one round, no forward and backward, nothing compiled, no counters."""
    states.not_asked(run, traces, COMPILED)
    states.no_counters(run, "not taken in a quick run")
    run["label"] = "quick"
    for entry in run["variants"].values():
        entry["training"] = None
    run["protocol"].update(rounds=1, rounds_done=[1] * 7, settle_seconds=0.05)


@perturbation("A4", older=True)
def old_run_without_training(run: dict[str, Any], traces: Traces) -> None:
    """Recorded before training was measured."""
    for entry in run["variants"].values():
        entry["training"] = None


@perturbation("gaps")
def no_probes(run: dict[str, Any], traces: Traces) -> None:
    """The process that runs the probes crashed."""
    run["probes"] = {"saving_accumulates": run["probes"]["saving_accumulates"]}


@perturbation("gaps")
def no_masked_rows(run: dict[str, Any], traces: Traces) -> None:
    """What a fully masked row gives was not taken for any variant."""
    for entry in run["variants"].values():
        entry["masked_row"] = None


@perturbation("gaps")
def first_calls_not_taken(run: dict[str, Any], traces: Traces) -> None:
    """No first calls, at the shape or at another."""
    for entry in run["variants"].values():
        entry["samples"].pop("first_call", None)
        entry["samples"].pop("first_call_new_shape", None)


@perturbation("gaps")
def no_cold_times(run: dict[str, Any], traces: Traces) -> None:
    """The inputs fit into no set that would leave the caches, so cold times were not taken."""
    for entry in run["variants"].values():
        entry["samples"].pop("gpu_time_cold", None)
    run["protocol"]["input_sets"] = None


@perturbation("gaps", floored=False)
def no_floor(run: dict[str, Any], traces: Traces) -> None:
    """No same-code floor is recorded beside the run."""


@perturbation("gaps")
def other_software(run: dict[str, Any], traces: Traces) -> None:
    """Another torch and driver than the floor was taken with."""
    run["software"].update(torch="2.12.1+cu132", cuda="13.2", driver="590.12")


@perturbation("gaps")
def no_compiler(run: dict[str, Any], traces: Traces) -> None:
    """torch.compile does not work here."""
    states.not_run(run, traces, COMPILED, reason="Cannot find a working triton installation.")
