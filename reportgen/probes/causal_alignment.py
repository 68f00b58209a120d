"""`is_causal` with more keys than queries: torch documents the alignment at the upper left, and flash attention's own is the lower right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, qkv, triangle, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "float16", 2, 2, 96, 160, 64)
    inputs = Inputs(q, k, v, options={"is_causal": True})
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q, inputs.k, inputs.v, attn_mask=triangle(inputs.q.size(-2), inputs.k.size(-2), inputs.q.device.type))


PROBE = Probe(
    id="causal-alignment",
    title="`is_causal=True` with more keys than queries is not aligned at the upper left, where torch documents it",
    kind=Kind.WRONG,
    reports=(Report("pytorch#108108", "https://github.com/pytorch/pytorch/issues/108108", "torch 2.1", "any", "flash, whose library changed its alignment"),
             Report("flash-attention#1778", "https://github.com/Dao-AILab/flash-attention/issues/1778", "flash-attention 2", "any", "flash-attention's own interface")),
    needs=frozenset({Needs.UNEQUAL_LENGTHS}),
    inputs="fp16, 96 queries `[2, 2, 96, 64]`, 160 keys, `is_causal=True`",
    compared="the output and the gradients of q, k and v, with the upper-left alignment",
    avoid="`is_causal=True` where there are fewer queries than keys",
    make=_make,
    cure=Cure("Give the mask itself.",
              "mask = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool, device=q.device).tril()\n"
              "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n", _cure),
)
