"""A mask of more than 2³² elements: an offset of 32 bits wraps around."""

from __future__ import annotations

from typing import Any

from .making import attend, needs_memory, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report

QUERIES, ROW = 65_664, 65_536


def _make(device: str) -> Inputs:
    import torch

    needs_memory(device, 20)
    q, k, v = qkv(device, "bfloat16", 1, 1, QUERIES, 64, 64)
    mask = torch.empty(QUERIES, ROW, dtype=torch.bfloat16, device=device)[:, :64]
    mask.zero_()
    mask[::2, :32] = float("-inf")
    mask[1::2, 32:] = float("-inf")
    return Inputs(q, k, v, mask)


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q, inputs.k, inputs.v, attn_mask=inputs.mask.contiguous())


PROBE = Probe(
    id="mask-offsets",
    title="Wrong outputs in the rows past the 2³²-th element of a mask",
    kind=Kind.WRONG,
    reports=(Report("pytorch#187227", "https://github.com/pytorch/pytorch/issues/187227", "torch 2.14 nightly, June 2026", "H200", "efficient"),
             Report("pytorch#162588", "https://github.com/pytorch/pytorch/issues/162588", "torch 2.9", "not told", "efficient")),
    needs=frozenset({Needs.MASK, Needs.LARGE_TENSORS}),
    inputs="bf16, 65,664 queries `[1, 1, 65664, 64]`, 64 keys; the mask is the first 64 columns of a `[65664, 65536]` one, so that its rows lie as far apart as the report's",
    compared="the output",
    avoid="a mask whose last row begins past its 2³²-th element",
    make=_make,
    cure=Cure("Copy the part of the mask that is used.", "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.contiguous())\n", _cure),
)
