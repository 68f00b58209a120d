"""v as a view of `[batch, length, heads × head_dim]`, q and k contiguous: three layouts in one call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, normal, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k = (normal((1, 16, 62, 128), "bfloat16", device, seed) for seed in (1, 2))
    v = normal((1, 62, 16, 128), "bfloat16", device, 3).transpose(1, 2)
    inputs = Inputs(q, k, v)
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q, inputs.k, inputs.v.contiguous())


PROBE = Probe(
    id="value-layout",
    title="Wrong outputs where v alone is a transposed view",
    kind=Kind.WRONG,
    reports=(Report("ROCm/pytorch#3230", "https://github.com/ROCm/pytorch/issues/3230", "ROCm 7.0", "MI300X", "flash, efficient"),
             Report("flash-attention#818", "https://github.com/Dao-AILab/flash-attention/pull/818", "flash-attention 2, February 2024", "any", "flash's backward")),
    needs=frozenset({Needs.STRIDES}),
    inputs="bf16 `[1, 16, 62, 128]`, v a view of `[1, 62, 16, 128]`, q and k contiguous",
    compared="the output and the gradients of q, k and v",
    avoid="a v that is not contiguous beside a k that is",
    make=_make,
    cure=Cure("Copy v.", "out = F.scaled_dot_product_attention(q, k, v.contiguous())\n", _cure),
)
