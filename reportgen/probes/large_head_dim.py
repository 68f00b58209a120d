"""A head dimension of 512, as image decoders have."""

from __future__ import annotations

from typing import Any

from .making import attend, backends, qkv
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    return Inputs(*qkv(device, "float16", 1, 1, 256, 256, 512))


def _cure(inputs: Inputs) -> Any:
    with backends("MATH"):
        return attend(inputs.q, inputs.k, inputs.v)


PROBE = Probe(
    id="large-head-dim",
    title="Wrong outputs for a head dimension of 512",
    kind=Kind.WRONG,
    reports=(Report("TheRock#6561", "https://github.com/ROCm/TheRock/issues/6561", "torch 2.14 main, ROCm 7.15", "gfx1151", "flash on ROCm"),
             Report("pytorch#189849", "https://github.com/pytorch/pytorch/issues/189849", "torch 2.14 main, ROCm 7.15", "gfx1151", "flash on ROCm")),
    needs=frozenset({Needs.LARGE_HEAD_DIM}),
    inputs="fp16 `[1, 1, 256, 512]`, no mask",
    compared="the output",
    avoid="fused backends for a head dimension above 256",
    make=_make,
    cure=Cure("Take the math backend for this call.",
              "from torch.nn.attention import SDPBackend, sdpa_kernel\n\n"
              "with sdpa_kernel(SDPBackend.MATH):\n    out = F.scaled_dot_product_attention(q, k, v)\n", _cure),
)
