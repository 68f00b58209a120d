"""A bool mask beside logits below −65,504: where a mask becomes a finite number, what is hidden outweighs what is not."""

from __future__ import annotations

from typing import Any

from .making import attend, normal
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q = torch.zeros(1, 2, 128, 64, dtype=torch.bfloat16, device=device)
    k, v = torch.zeros_like(q), normal((1, 2, 128, 64), "bfloat16", device, 3)
    q[..., 0] = 1.0
    k[:, :, ::2, 0] = -819_200.0
    mask = torch.arange(128, device=device).remainder(2).eq(0).expand(128, 128).contiguous()
    return Inputs(q, k, v, mask[None, None])


def _cure(inputs: Inputs) -> Any:
    import torch

    bias = torch.zeros_like(inputs.mask, dtype=inputs.q.dtype).masked_fill(~inputs.mask, float("-inf"))
    return attend(inputs.q, inputs.k, inputs.v, attn_mask=bias)


PROBE = Probe(
    id="masked-leak",
    title="Keys that a bool mask hides take part where the visible ones have logits below −65,504",
    kind=Kind.WRONG,
    reports=(Report("pytorch#140837", "https://github.com/pytorch/pytorch/pull/140837", "torch main, November 2024", "any", "cuDNN: a reviewer asks for inputs like these"),
             Report("pytorch#177868", "https://github.com/pytorch/pytorch/pull/177868", "torch main, March 2026", "not told", "cuDNN")),
    needs=frozenset({Needs.MASK, Needs.LARGE_LOGITS}),
    logits="−102,400",
    inputs="bf16 `[1, 2, 128, 64]`, a bool mask that hides every second key; the visible logits are −102,400, the hidden ones 0",
    compared="the output: the mean of v over the visible keys",
    avoid="a bool mask beside logits below −65,504",
    make=_make,
    cure=Cure("Give a mask of floats with −∞.",
              "bias = torch.zeros_like(mask, dtype=q.dtype).masked_fill(~mask, float(\"-inf\"))\n"
              "out = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)\n", _cure),
)
