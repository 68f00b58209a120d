"""`is_causal` with one query and a cache of keys: torch aligns the mask top-left, so the query sees the first key alone."""

from __future__ import annotations

from typing import Any

from .making import attend, qkv, triangle
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "bfloat16", 2, 4, 1, 1024, 64)
    return Inputs(q, k, v, options={"is_causal": True}, meant=Inputs(q, k, v, triangle(1, 1024, device, "bottom-right")))


def _cure(inputs: Inputs) -> Any:
    from torch.nn.attention.bias import causal_lower_right

    return attend(inputs.q, inputs.k, inputs.v, attn_mask=causal_lower_right(inputs.q.shape[-2], inputs.k.shape[-2]))


PROBE = Probe(
    id="causal-one-query",
    title="`is_causal=True` with fewer queries than keys lets a query see only the first keys",
    kind=Kind.TRAP,
    reports=(Report("pytorch#103082", "https://github.com/pytorch/pytorch/issues/103082", "torch 2.0", "any", "all"),
             Report("pytorch#108108", "https://github.com/pytorch/pytorch/issues/108108", "torch 2.1", "any", "all"),
             Report("torch's documentation", "https://docs.pytorch.org/docs/2.15/generated/torch.nn.functional.scaled_dot_product_attention.html", "2.15", "any",
                    "all: \"upper left causal bias\"")),
    needs=frozenset({Needs.UNEQUAL_LENGTHS}),
    inputs="bf16, one query `[2, 4, 1, 64]`, 1,024 keys, `is_causal=True`",
    compared="the output, with that of a mask aligned bottom-right: the query sees every key of its cache",
    avoid="`is_causal=True` where there are fewer queries than keys",
    make=_make,
    cure=Cure("Align the mask bottom-right.",
              "from torch.nn.attention.bias import causal_lower_right\n\n"
              "out = F.scaled_dot_product_attention(q, k, v, attn_mask=causal_lower_right(q.size(-2), k.size(-2)))\n", _cure),
)
