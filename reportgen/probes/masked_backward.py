"""cuDNN's backward with a mask, a length of 64 above a multiple of 128, and logits far below 0."""

from __future__ import annotations

from dataclasses import replace

from .making import WITHOUT_CUDNN, qkv, triangle, upstream, without_cudnn
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _of_length(length: int, device: str) -> Inputs:
    q, k, v = qkv(device, "bfloat16", 1, 1, length, length, 64, factor=0.1)
    q[..., 0], k[..., 0] = 1.0, -120.0 * 8.0
    inputs = Inputs(q, k, v, triangle(length, length, device)[None, None])
    return replace(inputs, upstream=upstream(inputs))


def _make(device: str) -> Inputs:
    return _of_length(704, device)


def _control(device: str) -> Inputs:
    return _of_length(640, device)


PROBE = Probe(
    id="masked-backward",
    title="NaN gradients from a backward pass with a mask and logits far below 0",
    kind=Kind.WRONG,
    reports=(Report("pytorch#196678", "https://github.com/pytorch/pytorch/issues/196678", "torch 2.11 to 2.13", "H100, H200", "cuDNN"),
             Report("trl#7181", "https://github.com/huggingface/trl/issues/7181", "torch 2.13", "H100", "cuDNN")),
    needs=frozenset({Needs.MASK, Needs.GRADIENTS, Needs.LARGE_LOGITS, Needs.ODD_LENGTH}),
    logits="near −120",
    inputs="bf16 `[1, 1, 704, 64]`, a lower-triangular bool mask, every logit near −120",
    compared="the output and the gradients of q, k and v",
    avoid="a backward pass with a mask and logits far below 0, where the length is no multiple of 128",
    make=_make,
    control=_control,
    cure=Cure("Switch cuDNN off around the call.",
              WITHOUT_CUDNN.format(arguments=", attn_mask=mask"), without_cudnn),
)
