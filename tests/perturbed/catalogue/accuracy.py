"""Errors, masked rows, gradients."""

from __future__ import annotations

from typing import Any

from ..recorded import SIX, Traces
from ..registry import perturbation


def _rows(run: dict[str, Any], **outcomes: str) -> None:
    for name, outcome in outcomes.items():
        run["variants"][name]["masked_row"] = {"outcome": outcome, "reason": None}


@perturbation("B6")
def backends_agree_on_rows(run: dict[str, Any], traces: Traces) -> None:
    """Every SDPA backend that takes a mask gives zeros for a fully masked row; naive gives NaN."""
    _rows(run, sdpa_math="zeros", sdpa_efficient="zeros", sdpa_cudnn="zeros")


@perturbation("B6")
def all_rows_zeros(run: dict[str, Any], traces: Traces) -> None:
    """All that take a mask, naive included, give zeros for a fully masked row."""
    _rows(run, naive="zeros", naive_inplace="zeros", sdpa_math="zeros", sdpa_efficient="zeros", sdpa_cudnn="zeros", naive_compiled="zeros")


@perturbation("ledger math-safe-softmax")
def math_row_nan(run: dict[str, Any], traces: Traces) -> None:
    """`_safe_softmax` is in math's trace, and a fully masked row becomes NaN all the same."""
    _rows(run, sdpa_math="nan")


@perturbation("ledger math-accurate")
def efficient_more_accurate(run: dict[str, Any], traces: Traces) -> None:
    """Efficient's error is 0.0008, math's 0.0016."""
    run["variants"]["sdpa_efficient"]["relative_error"] = 0.0008


@perturbation("D", contrived=True)
def exact_zero_error(run: dict[str, Any], traces: Traces) -> None:
    """Math's error is exactly 0."""
    run["variants"]["sdpa_math"]["relative_error"] = 0.0


@perturbation("A4")
def errors_not_taken(run: dict[str, Any], traces: Traces) -> None:
    """No variant's output could be compared with FP64; all are taken for right."""
    for name in SIX:
        run["variants"][name].update(relative_error=None, allowed_error=None)


@perturbation("ledger inplace-autograd")
def inplace_refused(run: dict[str, Any], traces: Traces) -> None:
    """Autograd refuses the backward pass of naive in place."""
    run["probes"]["autograd"].update(gradients_equal=None, relative_difference=None, inplace_backward="refused",
                                     reason="one of the variables needed for gradient computation has been modified by an inplace operation.")


@perturbation("ledger inplace-autograd")
def gradients_differ(run: dict[str, Any], traces: Traces) -> None:
    """The gradients of naive and naive in place differ by 2 %."""
    run["probes"]["autograd"].update(gradients_equal=False, relative_difference=0.02)


@perturbation("ledger inplace-autograd")
def autograd_probe_failed(run: dict[str, Any], traces: Traces) -> None:
    """The autograd probe broke."""
    run["probes"]["autograd"] = {"reason": "CUDA out of memory."}
