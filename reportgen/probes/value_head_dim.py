"""v with another head dimension than q and k, as in multi-head latent attention."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, qkv, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    inputs = Inputs(*qkv(device, "bfloat16", 2, 2, 160, 160, 128, value_dim=64), options={"is_causal": True})
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    import torch.nn.functional as F

    width = inputs.v.size(-1)
    return attend(inputs.q, inputs.k, F.pad(inputs.v, (0, inputs.q.size(-1) - width)), is_causal=True)[..., :width]


PROBE = Probe(
    id="value-head-dim",
    title="An error, or wrong results, for a v with another head dimension",
    kind=Kind.WRONG,
    reports=(Report("pytorch#128348", "https://github.com/pytorch/pytorch/issues/128348", "torch 2.4 main", "not told", "cuDNN: an error"),
             Report("TransformerEngine#3249", "https://github.com/NVIDIA/TransformerEngine/issues/3249", "cuDNN before 9.26", "H100, H800", "cuDNN's backward, with another layout")),
    needs=frozenset({Needs.OTHER_HEAD_DIM}),
    inputs="bf16, q and k `[2, 2, 160, 128]`, v `[2, 2, 160, 64]`, `is_causal=True`",
    compared="the output and the gradients of q, k and v",
    avoid="a v with another head dimension than q",
    make=_make,
    cure=Cure("Pad v, and cut the output.",
              "width = v.size(-1)\n"
              "out = F.scaled_dot_product_attention(q, k, F.pad(v, (0, q.size(-1) - width)), is_causal=True)[..., :width]\n", _cure),
)
