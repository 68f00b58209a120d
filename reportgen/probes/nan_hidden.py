"""NaN in q must come out as NaN: zeros would hide where a training run broke."""

from __future__ import annotations

from .making import qkv
from .model import Inputs, Kind, Needs, Probe, Report


def _make(device: str) -> Inputs:
    q, k, v = qkv(device, "float16", 2, 2, 32, 32, 32)
    q[:, :, 5] = float("nan")
    return Inputs(q, k, v)


PROBE = Probe(
    id="nan-hidden",
    title="NaN in q comes out as zeros",
    kind=Kind.WRONG,
    reports=(Report("pytorch#141128", "https://github.com/pytorch/pytorch/issues/141128", "torch 2.5", "CPU", "flash on a CPU"),),
    needs=frozenset({Needs.NAN}),
    inputs="fp16 `[2, 2, 32, 32]`, NaN in row 5 of q, no mask",
    compared="the output: NaN in row 5, the other rows by the formula",
    avoid="looking for NaN in the output of attention",
    make=_make,
)
