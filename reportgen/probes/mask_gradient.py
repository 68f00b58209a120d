"""A mask that learns, beside operands that do not: the backward pass of a relative position bias alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, normal, qkv, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "float16", 1, 2, 64, 64, 64)
    inputs = Inputs(q, k, v, normal((1, 2, 64, 64), "float16", device, 5), wants=("mask",))
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q.detach().requires_grad_(), inputs.k, inputs.v, attn_mask=inputs.mask)


PROBE = Probe(
    id="mask-gradient",
    title="An illegal memory access, or a wrong gradient, where only the mask asks for a gradient",
    kind=Kind.WRONG,
    reports=(Report("pytorch#148476", "https://github.com/pytorch/pytorch/issues/148476", "torch 2.6", "RTX 4070", "efficient"),
             Report("pytorch#188302", "https://github.com/pytorch/pytorch/pull/188302", "torch main, June 2026", "not told", "efficient")),
    needs=frozenset({Needs.MASK, Needs.MASK_GRADIENT}),
    inputs="fp16 `[1, 2, 64, 64]`, a mask of floats `[1, 2, 64, 64]` that asks for a gradient, q, k and v that do not",
    compared="the output and the gradient of the mask",
    avoid="a mask that alone asks for a gradient",
    make=_make,
    cure=Cure("Let q ask for a gradient as well.", "out = F.scaled_dot_product_attention(q.requires_grad_(), k, v, attn_mask=bias)\n", _cure),
)
