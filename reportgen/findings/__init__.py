"""All findings in the order in which a reader should meet them; claims and outcomes over them.

A finding is one file with its claims, cases and evidence, one template below
`templates/findings/`, and one line in `FINDINGS`.
"""

from __future__ import annotations

from ..analysis import RunFacts
from ..questions import evaluate
from ..questions.model import Finding, Outcome, Question
from . import (
    by_hand,
    cpu_bill,
    cudnn_kernel,
    cudnn_launch,
    efficient_kernel,
    fastest,
    flash_hbm,
    flash_occupancy,
    hidden_memcpy,
    is_it_right,
    mask_rebuilt,
    mask_step,
    math_cuda_cores,
    math_slowdown,
    predict_then_look,
    safe_softmax,
    saving_per_layer,
)

FINDINGS: tuple[Finding, ...] = (
    is_it_right.FINDING,
    hidden_memcpy.FINDING,
    mask_step.FINDING,
    by_hand.FINDING,
    math_slowdown.FINDING,
    math_cuda_cores.FINDING,
    mask_rebuilt.FINDING,
    safe_softmax.FINDING,
    efficient_kernel.FINDING,
    flash_hbm.FINDING,
    flash_occupancy.FINDING,
    cudnn_kernel.FINDING,
    cudnn_launch.FINDING,
    cpu_bill.FINDING,
    fastest.FINDING,
    saving_per_layer.FINDING,
    predict_then_look.FINDING,
)


def claims() -> tuple[Question, ...]:
    """Every claim of every finding, in page order."""
    return tuple(claim for finding in FINDINGS for claim in finding.claims)


def outcomes(facts: RunFacts) -> dict[str, Outcome]:
    """Claim id → its outcome on one run, in page order."""
    return evaluate.outcomes(claims(), facts)
