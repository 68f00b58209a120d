"""Operands whose last dimension is not the innermost in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from .making import attend, normal, upstream
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = (normal((1, 4, 64, 80), "float32", device, seed).transpose(-2, -1) for seed in (1, 2, 3))
    inputs = Inputs(q, k, v)
    return replace(inputs, upstream=upstream(inputs))


def _cure(inputs: Inputs) -> Any:
    return attend(inputs.q.contiguous(), inputs.k.contiguous(), inputs.v.contiguous())


PROBE = Probe(
    id="strided-channels",
    title="Wrong outputs for operands that are transposed in their last two dimensions",
    kind=Kind.WRONG,
    reports=(Report("pytorch#187506", "https://github.com/pytorch/pytorch/pull/187506", "torch main, June 2026", "CPU", "flash on a CPU"),),
    needs=frozenset({Needs.STRIDES}),
    inputs="fp32 `[1, 4, 80, 64]`, each a transposed `[1, 4, 64, 80]`",
    compared="the output and the gradients of q, k and v",
    avoid="operands whose last dimension is not contiguous",
    make=_make,
    cure=Cure("Copy them.", "out = F.scaled_dot_product_attention(q.contiguous(), k.contiguous(), v.contiguous())\n", _cure),
)
