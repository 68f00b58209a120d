"""The mask step alone, extras written by hand, and the counters of the pipes: other times, other counts, none."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import variants

from ..recorded import FUSED, Traces
from ..registry import perturbation
from ..samples import around, middle

MIB = 2**20
EXTRAS = ("naive_scaled_q", "naive_baddbmm")
PIPES = ("sm__inst_executed.sum", "sm__inst_issued.avg.pct_of_peak_sustained_active", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
         "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active", "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active")


def _mask_step(run: dict[str, Any], broadcast: float, full: float, mul: float) -> None:
    """The three ops alone take so many µs. Nothing is known of their kernels."""
    asked = {"broadcast": (513 * MIB, broadcast), "full": (640 * MIB, full), "mul": (512 * MIB, mul)}
    run["probes"]["mask_step"] = {"ops": {name: {"requested_bytes": size, "gpu_time": around(us)} for name, (size, us) in asked.items()}, "timer": "cuda-graph", "note": None, "reason": None}
    if run["counters"]:
        run["counters"]["mask_step"] = {}


def _extras(run: dict[str, Any], traces: Traces, factor: float, **changes: Any) -> None:
    """Both extras ran, and take `factor` times the GPU time of naive in place."""
    for name in EXTRAS:
        ours = next(one for one in variants.load() if one.id == name)
        entry = run["variants"][name]
        if entry["status"] == "not-tried":
            entry.update({**deepcopy(run["variants"]["naive_inplace"]), "title": ours.title, "named": False, "source": ours.source,
                          "trace": None, "training": None, "own_mask": None})
        entry["samples"] = {"gpu_time": around(1e6 * factor * middle(run, "naive_inplace"))}
        entry.update(changes)


def _pipes(run: dict[str, Any], **counted: tuple[float, ...]) -> None:
    """These counters on the fused kernels, in the order of `PIPES`."""
    for name, values in counted.items():
        for row in run["counters"]["variants"][name]:
            row["metrics"].update(zip(PIPES, values))


@perturbation("measured")
def mask_broadcast_costs(run: dict[str, Any], traces: Traces) -> None:
    """The broadcast mask takes 358 µs, the full one 157 µs, a product 128 µs; neither names nor instructions are known."""
    _mask_step(run, 358, 157, 128)


@perturbation("measured")
def mask_full_costs_more(run: dict[str, Any], traces: Traces) -> None:
    """The mask of full size takes longer than the broadcast one."""
    _mask_step(run, 150, 190, 128)


@perturbation("measured")
def mask_makes_no_difference(run: dict[str, Any], traces: Traces) -> None:
    """Both masks take as long."""
    _mask_step(run, 160, 159, 128)


@perturbation("measured")
def mask_step_not_timed(run: dict[str, Any], traces: Traces) -> None:
    """The mask of full size found no room."""
    run["probes"]["mask_step"] = {"reason": "CUDA out of memory"}


@perturbation("measured")
def extras_faster(run: dict[str, Any], traces: Traces) -> None:
    """Both extras take a tenth less than naive in place."""
    _extras(run, traces, 0.9)


@perturbation("measured")
def extras_slower(run: dict[str, Any], traces: Traces) -> None:
    """Both extras take a tenth more than naive in place."""
    _extras(run, traces, 1.1)


@perturbation("measured")
def extras_level(run: dict[str, Any], traces: Traces) -> None:
    """Both extras take one per cent less than naive in place, which is less than counts."""
    _extras(run, traces, 0.99)


@perturbation("measured")
def extras_wrong(run: dict[str, Any], traces: Traces) -> None:
    """Both extras are fast and wrong."""
    _extras(run, traces, 0.5, status="wrong", reason="wrong result: relative error 0.3, allowed 0.0048", relative_error=0.3)


@perturbation("measured")
def pipes_told(run: dict[str, Any], traces: Traces) -> None:
    """The fused kernels were counted as one H200 counted them."""
    _pipes(run, sdpa_efficient=(92.9e6, 64, 24, 13, 48), sdpa_flash=(34.2e6, 47, 39, 27, 25), sdpa_cudnn=(21.8e6, 47, 40, 42, 25))


@perturbation("measured")
def pipes_alike(run: dict[str, Any], traces: Traces) -> None:
    """All fused kernels execute as many instructions and keep the tensor pipe as busy; their names say nothing, for flash's does not tell its make."""
    _pipes(run, **dict.fromkeys(FUSED, (30e6, 50, 40, 30, 30)))


@perturbation("measured")
def pipes_turned_round(run: dict[str, Any], traces: Traces) -> None:
    """The faster of two fused kernels executes more instructions and keeps the tensor pipe less busy."""
    _pipes(run, sdpa_efficient=(10e6, 64, 60, 13, 48), sdpa_flash=(34.2e6, 47, 50, 27, 25), sdpa_cudnn=(81.8e6, 47, 40, 42, 25))
