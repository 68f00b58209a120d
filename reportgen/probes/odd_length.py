"""A length that is no multiple of any tile, q in another layout than k and v, forward and backward."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, normal, qkv, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    _, k, v = qkv(device, "bfloat16", 1, 6, 261, 261, 64)
    inputs = Inputs(normal((1, 261, 6, 64), "bfloat16", device, 1).transpose(1, 2), k, v)
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    import torch.nn.functional as F

    length = inputs.q.size(-2)
    more = -length % 128
    mask = F.pad(inputs.q.new_ones(length).bool(), (0, more)).expand(length + more, -1)
    q, k, v = (F.pad(one, (0, 0, 0, more)) for one in (inputs.q, inputs.k, inputs.v))
    return attend(q, k, v, attn_mask=mask)[..., :length, :]


PROBE = Probe(
    id="odd-length",
    title="Wrong or NaN gradients where the length is no multiple of 128",
    kind=Kind.WRONG,
    reports=(Report("cudnn-frontend#160", "https://github.com/NVIDIA/cudnn-frontend/issues/160", "cuDNN 9.12, cudnn-frontend 1.14", "H100", "cuDNN's backward"),
             Report("pytorch#171895", "https://github.com/pytorch/pytorch/pull/171895", "torch before 2.10", "not told", "cuDNN's backward, at length 261 with these layouts")),
    needs=frozenset({Needs.ODD_LENGTH, Needs.GRADIENTS}),
    inputs="bf16 `[1, 6, 261, 64]`, q a view of `[1, 261, 6, 64]`, k and v contiguous, no mask",
    compared="the output and the gradients of q, k and v",
    avoid="lengths that are no multiple of 128 in training",
    make=_make,
    cure=Cure("Pad the length to a multiple of 128 and mask what was added.",
              "more = -q.size(-2) % 128\n"
              "mask = F.pad(q.new_ones(q.size(-2)).bool(), (0, more)).expand(q.size(-2) + more, -1)\n"
              "padded = (F.pad(one, (0, 0, 0, more)) for one in (q, k, v))\n"
              "out = F.scaled_dot_product_attention(*padded, attn_mask=mask)[..., :q.size(-2), :]\n", _cure),
)
