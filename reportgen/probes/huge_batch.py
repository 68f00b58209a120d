"""More than 65,535 batches: a grid of CUDA blocks has no more in two of its dimensions."""

from __future__ import annotations

from typing import Any

from .making import attend, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    return Inputs(*qkv(device, "float16", 65_537, 1, 4, 4, 16))


def _cure(inputs: Inputs) -> Any:
    import torch

    return torch.cat([attend(*part) for part in zip(*(one.split(32_768) for one in (inputs.q, inputs.k, inputs.v)))])


PROBE = Probe(
    id="huge-batch",
    title="An error, or wrong outputs, for more than 65,535 batches",
    kind=Kind.WRONG,
    reports=(Report("pytorch#146704", "https://github.com/pytorch/pytorch/issues/146704", "torch 2.6", "not told", "efficient, flash: an error"),
             Report("pytorch#142228", "https://github.com/pytorch/pytorch/issues/142228", "torch 2.5", "not told", "efficient: an error"),
             Report("xformers#845", "https://github.com/facebookresearch/xformers/issues/845", "xformers 0.0.21", "RTX 3090 Ti, T4", "efficient: an error")),
    needs=frozenset({Needs.EXTREME_BATCH}),
    inputs="fp16 `[65537, 1, 4, 16]`, no mask",
    compared="the output",
    avoid="more than 65,535 batches in one call",
    make=_make,
    cure=Cure("Split the batch.",
              "parts = zip(q.split(32768), k.split(32768), v.split(32768))\n"
              "out = torch.cat([F.scaled_dot_product_attention(*part) for part in parts])\n", _cure),
)
