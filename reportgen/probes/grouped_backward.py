"""Gradients of k and v with grouped queries: each is a sum over the query heads that share a KV head."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, qkv, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "float16", 1, 8, 200, 200, 64, kv_heads=2)
    inputs = Inputs(q, k, v, options={"is_causal": True, "enable_gqa": True})
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    groups = inputs.q.size(1) // inputs.k.size(1)
    return attend(inputs.q, inputs.k.repeat_interleave(groups, 1), inputs.v.repeat_interleave(groups, 1), is_causal=True)


PROBE = Probe(
    id="grouped-backward",
    title="Wrong gradients of k and v with grouped queries where the length is no multiple of 64",
    kind=Kind.WRONG,
    reports=(Report("FlagGems#898", "https://github.com/flagos-ai/FlagGems/pull/898", "FlagGems, August 2025", "not told", "a backend of another project; the same question is asked of torch's own"),),
    needs=frozenset({Needs.GROUPED, Needs.GRADIENTS}),
    inputs="fp16 `[1, 8, 200, 64]`, 2 KV heads, `is_causal=True`, `enable_gqa=True`",
    compared="the output and the gradients of q, k and v",
    avoid="`enable_gqa=True` in training",
    make=_make,
    cure=Cure("Repeat k and v for each query head instead of `enable_gqa=True`.",
              "groups = q.size(1) // k.size(1)\n"
              "out = F.scaled_dot_product_attention(q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1), is_causal=True)\n", _cure),
)
