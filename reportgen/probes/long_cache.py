"""The gradient of one query over a long cache, with the gradient that `out.sum()` hands back: one number, expanded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q, k, v = qkv(device, "bfloat16", 1, 2, 1, 8192, 64)
    return replace(Inputs(q, k, v), upstream=torch.ones((), dtype=torch.bfloat16, device=device).expand(1, 2, 1, 64))


def _cure(inputs: Inputs) -> Any:
    out = attend(inputs.q, inputs.k, inputs.v)
    out.register_hook(lambda gradient: gradient.contiguous())
    return out


PROBE = Probe(
    id="long-cache",
    title="An error, or wrong gradients, for one query over a long cache and the gradient of a sum",
    kind=Kind.WRONG,
    reports=(Report("pytorch#138529", "https://github.com/pytorch/pytorch/issues/138529", "torch 2.6 main, October 2024", "not told", "cuDNN: an error"),
             Report("pytorch#195813", "https://github.com/pytorch/pytorch/pull/195813", "torch main, September 2026", "MI300X", "flash on ROCm: an error for the expanded gradient")),
    needs=frozenset({Needs.ONE_QUERY, Needs.GRADIENTS}),
    inputs="bf16, one query `[1, 2, 1, 64]`, 8,192 keys, no mask; the gradient of the output is one 1, expanded (stride 0)",
    compared="the output and the gradients of q, k and v",
    avoid="gradients through one query over a long cache",
    make=_make,
    cure=Cure("Copy the gradient on its way back.",
              "out = F.scaled_dot_product_attention(q, k, v)\n"
              "out.register_hook(lambda gradient: gradient.contiguous())\n", _cure),
)
