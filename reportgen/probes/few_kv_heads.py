"""Decoding with grouped queries and few KV heads: one query, four KV heads."""

from __future__ import annotations

from typing import Any

from .making import attend, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "bfloat16", 4, 28, 1, 333, 128, kv_heads=4)
    return Inputs(q, k, v, options={"enable_gqa": True})


def _cure(inputs: Inputs) -> Any:
    groups = inputs.q.size(1) // inputs.k.size(1)
    return attend(inputs.q, inputs.k.repeat_interleave(groups, 1), inputs.v.repeat_interleave(groups, 1))


PROBE = Probe(
    id="few-kv-heads",
    title="Wrong outputs when decoding with fewer than eight KV heads",
    kind=Kind.WRONG,
    reports=(Report("pytorch#193893", "https://github.com/pytorch/pytorch/issues/193893", "torch 2.11 and 2.13, cuDNN 9.19 and 9.20", "B200", "cuDNN"),),
    needs=frozenset({Needs.GROUPED, Needs.ONE_QUERY}),
    inputs="bf16, one query `[4, 28, 1, 128]`, 333 keys, 4 KV heads, `enable_gqa=True`",
    compared="the output",
    avoid="`enable_gqa=True` when decoding",
    make=_make,
    cure=Cure("Repeat k and v for each query head instead of `enable_gqa=True`.",
              "groups = q.size(1) // k.size(1)\n"
              "out = F.scaled_dot_product_attention(q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1))\n", _cure),
)
