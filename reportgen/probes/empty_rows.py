"""A row that may see no key, as padding makes it: 0 ÷ 0 by the formula."""

from __future__ import annotations

from typing import Any

from .making import attend, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q, k, v = qkv(device, "bfloat16", 8, 1, 1024, 1024, 64)
    mask = torch.ones(8, 1, 1024, 1024, dtype=torch.bool, device=device).tril()
    mask[:, :, 512] = False
    return Inputs(q, k, v, mask)


def _cure(inputs: Inputs) -> Any:
    out = attend(inputs.q, inputs.k, inputs.v, attn_mask=inputs.mask)
    return out.masked_fill(~inputs.mask.any(-1, keepdim=True), 0.0)


PROBE = Probe(
    id="empty-rows",
    title="A row whose every key is masked does not come out as zeros",
    kind=Kind.TRAP,
    reports=(Report("pytorch#103749", "https://github.com/pytorch/pytorch/issues/103749", "torch 2.0", "any", "math, efficient"),
             Report("pytorch#109517", "https://github.com/pytorch/pytorch/issues/109517", "torch main, September 2023", "A100", "efficient")),
    needs=frozenset({Needs.MASK, Needs.EMPTY_ROWS}),
    inputs="bf16 `[8, 1, 1024, 64]`, a bool mask `[8, 1, 1024, 1024]`, causal but for row 512, which may see nothing",
    compared="the output, with zeros in the row without keys, as torch's math backend gives them; the formula of the documentation is 0 ÷ 0 there",
    avoid="reading, or adding up, rows whose every key is masked",
    make=_make,
    cure=Cure("Set the rows without keys to zero afterwards.",
              "out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n"
              "out = out.masked_fill(~mask.any(-1, keepdim=True), 0.0)\n", _cure),
)
