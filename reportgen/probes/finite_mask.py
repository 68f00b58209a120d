"""A mask that hides with the smallest number of its type instead of −∞, over whole tiles of keys."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, qkv, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q, k, v = qkv(device, "float16", 1, 2, 441, 441, 64)
    mask = torch.zeros(1, 2, 441, 441, dtype=torch.float16, device=device)
    mask[..., :128] = torch.finfo(torch.float16).min
    inputs = Inputs(q, k, v, mask)
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q, inputs.k, inputs.v, attn_mask=inputs.mask > -1e4)


PROBE = Probe(
    id="finite-mask",
    title="NaN, or wrong results, for a mask that hides the first tiles of keys with a finite number",
    kind=Kind.WRONG,
    reports=(Report("pytorch#109517", "https://github.com/pytorch/pytorch/issues/109517", "torch main, September 2023", "A100", "efficient"),
             Report("pytorch#110213", "https://github.com/pytorch/pytorch/issues/110213", "torch 2.1", "not told", "efficient")),
    needs=frozenset({Needs.MASK}),
    inputs="fp16 `[1, 2, 441, 64]`, a mask of fp16 that is −65,504 for the first 128 keys and 0 for the others",
    compared="the output and the gradients of q, k and v",
    avoid="a mask of large negative numbers",
    make=_make,
    cure=Cure("Give a bool mask.", "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask > -1e4)\n", _cure),
)
