"""NaN in what a mask hides: the formula multiplies it by 0, which is NaN."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q, k, v = qkv(device, "bfloat16", 1, 2, 64, 64, 64)
    mask = (torch.arange(64, device=device) < 48).expand(64, 64).contiguous()
    meant = Inputs(q, k, v.clone(), mask)
    v[..., 48:, :] = float("nan")
    return replace(meant, v=v, meant=meant)


def _cure(inputs: Inputs) -> Any:
    hidden = ~inputs.mask.any(-2)[:, None]
    return attend(inputs.q, inputs.k, inputs.v.masked_fill(hidden, 0.0), attn_mask=inputs.mask)


PROBE = Probe(
    id="masked-nan",
    title="NaN in values that the mask hides reaches the output",
    kind=Kind.TRAP,
    reports=(Report("pytorch#101967", "https://github.com/pytorch/pytorch/issues/101967", "torch 2.0", "any", "all"),),
    needs=frozenset({Needs.MASK, Needs.NAN}),
    inputs="bf16 `[1, 2, 64, 64]`, a bool mask that hides the last 16 keys, NaN in their v",
    compared="the output, with that of the visible keys alone",
    avoid="padding that was never written, such as `torch.empty`",
    make=_make,
    cure=Cure("Set what no query may see to zero.",
              "hidden = ~mask.any(-2)[..., None]\n"
              "out = F.scaled_dot_product_attention(q, k, v.masked_fill(hidden, 0.0), attn_mask=mask)\n", _cure),
)
