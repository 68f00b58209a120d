"""A gradient of the output in another layout than the output: what follows attention decides it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, normal, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = (one.transpose(1, 2) for one in qkv(device, "bfloat16", 2, 96, 4, 4, 64))  # [2, 4, 96, 64], a view of [2, 96, 4, 64]
    return replace(Inputs(q, k, v, options={"is_causal": True}), upstream=normal((2, 4, 64, 96), "bfloat16", device, 4).transpose(-2, -1))


def _cure(inputs: Inputs) -> Any:
    out = attend(inputs.q, inputs.k, inputs.v, is_causal=True)
    out.register_hook(lambda gradient: gradient.contiguous())
    return out


PROBE = Probe(
    id="upstream-layout",
    title="Wrong gradients, or none, where the gradient of the output is not contiguous",
    kind=Kind.WRONG,
    reports=(Report("flash-attention#355", "https://github.com/Dao-AILab/flash-attention/issues/355", "flash-attention 2, July 2023", "not told", "flash-attention's own interface"),
             Report("pytorch#134001", "https://github.com/pytorch/pytorch/issues/134001", "torch 2.5 nightly, August 2024", "not told", "cuDNN: an internal assertion"),
             Report("pytorch#176915", "https://github.com/pytorch/pytorch/issues/176915", "torch main, 2026", "H100", "cuDNN: an internal assertion")),
    needs=frozenset({Needs.GRADIENTS, Needs.STRIDES}),
    inputs="bf16 `[2, 4, 96, 64]`, views of `[2, 96, 4, 64]`, `is_causal=True`; the gradient of the output is a transposed `[2, 4, 64, 96]`",
    compared="the output and the gradients of q, k and v",
    avoid="steps after attention that hand back a gradient in another layout",
    make=_make,
    cure=Cure("Copy the gradient on its way back.",
              "out = F.scaled_dot_product_attention(q, k, v, is_causal=True)\n"
              "out.register_hook(lambda gradient: gradient.contiguous())\n", _cure),
)
