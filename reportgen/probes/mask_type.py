"""A mask of floats in another type than q's: torch accepts float32 beside 16 bits."""

from __future__ import annotations

from .making import attend, qkv, triangle
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q, k, v = qkv(device, "float16", 2, 4, 128, 128, 64)
    mask = torch.zeros(128, 128, device=device).masked_fill(~triangle(128, 128, device), float("-inf"))
    return Inputs(q, k, v, mask)


PROBE = Probe(
    id="mask-type",
    title="NaN outputs for a mask of floats in another type than q",
    kind=Kind.WRONG,
    reports=(Report("pytorch#191612", "https://github.com/pytorch/pytorch/pull/191612", "torch main, July 2026", "compute capability 9.0 and 10.x", "cuDNN"),
             Report("pytorch#191964", "https://github.com/pytorch/pytorch/pull/191964", "torch main, August 2026", "not told", "cuDNN")),
    needs=frozenset({Needs.MASK, Needs.OTHER_TYPE}),
    inputs="fp16 `[2, 4, 128, 64]`, a causal mask of 0 and −∞ in fp32, as `generate_square_subsequent_mask` makes it",
    compared="the output",
    avoid="a mask of floats in another type than q",
    make=_make,
    cure=Cure("Give the mask the type of q.", "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.to(q.dtype))\n",
              lambda inputs: attend(inputs.q, inputs.k, inputs.v, attn_mask=inputs.mask.to(inputs.q.dtype))),
)
