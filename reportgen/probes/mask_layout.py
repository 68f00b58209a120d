"""A mask of floats whose last dimension is not the innermost in memory, broadcast over batch and heads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, normal, qkv, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "bfloat16", 2, 4, 96, 72, 64)
    mask = normal((2, 1, 72, 96), "bfloat16", device, 5).transpose(-2, -1)
    inputs = Inputs(q, k, v, mask)
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q, inputs.k, inputs.v, attn_mask=inputs.mask.contiguous())


PROBE = Probe(
    id="mask-layout",
    title="An error, or wrong results, for a mask of floats that is transposed and broadcast over the heads",
    kind=Kind.WRONG,
    reports=(Report("pytorch#124289", "https://github.com/pytorch/pytorch/issues/124289", "torch 2.2 and 2.3", "not told", "efficient: an error"),
             Report("pytorch#187506", "https://github.com/pytorch/pytorch/pull/187506", "torch main, June 2026", "CPU", "flash on a CPU")),
    needs=frozenset({Needs.MASK, Needs.STRIDES}),
    inputs="bf16 `[2, 4, 96, 64]`, 72 keys, a mask of bf16 `[2, 1, 96, 72]` that is a transposed `[2, 1, 72, 96]`",
    compared="the output and the gradients of q, k and v",
    avoid="a mask whose last dimension is not contiguous",
    make=_make,
    cure=Cure("Copy the mask.", "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.contiguous())\n", _cure),
)
