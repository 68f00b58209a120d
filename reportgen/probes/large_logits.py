"""Logits of 10¹¹: finite in bf16 and in fp32, and their difference from the largest is exactly 0."""

from __future__ import annotations

from typing import Any

from .making import attend, backends
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    return Inputs(*(torch.full((1, 1, 1, 64), 133_120.0, dtype=torch.bfloat16, device=device) for _ in range(3)))


def _cure(inputs: Inputs) -> Any:
    with backends("EFFICIENT_ATTENTION", "MATH"):
        return attend(inputs.q, inputs.k, inputs.v)


PROBE = Probe(
    id="large-logits",
    title="NaN for one key with a logit of 10¹¹",
    kind=Kind.WRONG,
    reports=(Report("pytorch#121558", "https://github.com/pytorch/pytorch/issues/121558", "torch main, March 2024", "not told", "flash"),),
    needs=frozenset({Needs.LARGE_LOGITS}),
    logits="10¹¹",
    inputs="bf16 `[1, 1, 1, 64]`, every element of q, k and v 133,120",
    compared="the output",
    avoid="flash with logits of 10¹¹",
    make=_make,
    cure=Cure("Leave flash out for this call.",
              "from torch.nn.attention import SDPBackend, sdpa_kernel\n\n"
              "with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):\n    out = F.scaled_dot_product_attention(q, k, v)\n", _cure),
)
