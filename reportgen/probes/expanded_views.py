"""One KV head for all query heads as a view, and one query: the layout of multi-query models."""

from __future__ import annotations

from typing import Any

from .making import attend, normal
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q = normal((1, 1, 16, 128), "float16", device, 1).transpose(1, 2)
    k, v = (normal((1, 1, 16, 128), "float16", device, seed).expand(1, 16, 16, 128) for seed in (2, 3))
    return Inputs(q, k, v, torch.ones(1, 1, 1, 16, dtype=torch.bool, device=device))


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q, inputs.k.contiguous(), inputs.v.contiguous(), attn_mask=inputs.mask)


PROBE = Probe(
    id="expanded-views",
    title="Wrong outputs for one KV head as a view, one query, and a mask",
    kind=Kind.WRONG,
    reports=(Report("pytorch#112577", "https://github.com/pytorch/pytorch/issues/112577", "torch 2.1", "not told", "efficient"),),
    needs=frozenset({Needs.MASK, Needs.STRIDES, Needs.ONE_QUERY}),
    inputs="fp16, one query `[1, 16, 1, 128]`, 16 keys, k and v one head expanded over 16 (stride 0), a bool mask of ones",
    compared="the output",
    avoid="k and v that are expanded over the heads, with a mask, when decoding",
    make=_make,
    cure=Cure("Copy k and v.", "out = F.scaled_dot_product_attention(q, k.contiguous(), v.contiguous(), attn_mask=mask)\n", _cure),
)
