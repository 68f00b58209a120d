"""k and v that are one head, expanded over all heads without a copy (stride 0), with a length one above a multiple of 32."""

from __future__ import annotations

from typing import Any

from .making import attend, normal
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _of_length(length: int, device: str) -> Inputs:
    import torch

    q = normal((2, 8, length, 64), "bfloat16", device, 1)
    k, v = (normal((2, 1, length, 64), "bfloat16", device, seed).expand(2, 8, length, 64) for seed in (2, 3))
    mask = torch.ones(2, 1, length, length, dtype=torch.bool, device=device).tril()
    return Inputs(q, k, v, mask)


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q, inputs.k.contiguous(), inputs.v.contiguous(), attn_mask=inputs.mask)


PROBE = Probe(
    id="expanded-kv",
    title="Wrong outputs for k and v that are expanded over the heads without a copy, with a mask",
    kind=Kind.WRONG,
    reports=(Report("pytorch#191937", "https://github.com/pytorch/pytorch/issues/191937", "torch 2.12", "not told", "efficient"),),
    needs=frozenset({Needs.MASK, Needs.EXPANDED, Needs.ONE_ABOVE}),
    inputs="bf16 `[2, 8, 65, 64]`, k and v expanded over the heads (stride 0), a causal bool mask",
    compared="the output",
    avoid="k and v that are expanded over the heads, with a mask, where the number of keys is one above a multiple of 32",
    make=lambda device: _of_length(65, device),
    control=lambda device: _of_length(66, device),
    cure=Cure("Copy k and v.", "out = F.scaled_dot_product_attention(q, k.contiguous(), v.contiguous(), attn_mask=mask)\n", _cure),
)
