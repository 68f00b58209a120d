"""A batch of nothing, as routing makes it: an empty output and empty gradients are right."""

from __future__ import annotations

from dataclasses import replace

from .making import qkv, upstream
from .model import Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    inputs = Inputs(*qkv(device, "bfloat16", 0, 4, 64, 64, 64))
    return replace(inputs, upstream=upstream(inputs))


PROBE = Probe(
    id="empty-batch",
    title="An error, or gradients of another shape, for an empty batch",
    kind=Kind.WRONG,
    reports=(Report("pytorch#165944", "https://github.com/pytorch/pytorch/issues/165944", "torch main, October 2025", "any", "flash"),
             Report("flash-attention#1159", "https://github.com/Dao-AILab/flash-attention/issues/1159", "flash-attention 2, August 2024", "not told", "flash-attention's own interface"),
             Report("pytorch#195812", "https://github.com/pytorch/pytorch/pull/195812", "torch main, September 2026", "MI300X", "flash on ROCm")),
    needs=frozenset({Needs.EXTREME_BATCH}),
    inputs="bf16 `[0, 4, 64, 64]`, no mask",
    compared="the shapes of the output and of the gradients of q, k and v",
    avoid="calls with an empty batch",
    make=_make,
)
