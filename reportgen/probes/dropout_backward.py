"""Dropout in training: the backward pass draws its mask anew, and must draw the same one as the forward pass."""

from __future__ import annotations

from dataclasses import replace

from .making import WITHOUT_CUDNN, normal, upstream, without_cudnn
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    import torch

    q, k = (normal((2, 2, 128, 128), "float16", device, seed, 0.5) for seed in (1, 2))
    v = torch.eye(128, dtype=torch.float16, device=device).expand(2, 2, 128, 128).contiguous()
    inputs = Inputs(q, k, v, options={"dropout_p": 0.25}, keys_show=True)
    return replace(inputs, upstream=upstream(inputs))


PROBE = Probe(
    id="dropout-backward",
    title="Gradients that belong to another dropout mask than the output, or a seed that does not repeat it",
    kind=Kind.WRONG,
    reports=(Report("flash-attention#1251", "https://github.com/Dao-AILab/flash-attention/issues/1251", "flash-attention 3, September 2024", "not told", "flash-attention 3"),
             Report("pytorch#190717", "https://github.com/pytorch/pytorch/issues/190717", "torch main, July 2026", "not told", "`Dropout` in compiled code")),
    needs=frozenset({Needs.DROPOUT, Needs.GRADIENTS}),
    inputs="fp16 `[2, 2, 128, 128]`, `dropout_p=0.25`; v is the identity, so that the output shows which keys were kept",
    compared="the output and the gradients of q, k and v, with the formula and the keys that were kept; and a second call with the same seed, bit for bit",
    avoid="dropout in attention",
    make=_make,
    cure=Cure("Switch cuDNN off around the call.", WITHOUT_CUDNN.format(arguments=", dropout_p=p"), without_cudnn),
)
