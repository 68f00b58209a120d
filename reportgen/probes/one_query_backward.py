"""cuDNN's backward with one query and logits far below 0."""

from __future__ import annotations

from dataclasses import replace

from .making import WITHOUT_CUDNN, qkv, upstream, without_cudnn
from .model import Cure, Inputs, Kind, Needs, Probe, Report


def _with_logits_near(logit: float, device: str) -> Inputs:
    q, k, v = qkv(device, "bfloat16", 1, 2, 1, 128, 64)
    q *= 0.1
    q[..., 0], k[..., 0] = 64.0, logit / 8.0  # shared out so that little cancels in the gradient of q
    inputs = Inputs(q, k, v)
    return replace(inputs, upstream=upstream(inputs))


PROBE = Probe(
    id="one-query-backward",
    title="NaN gradients of k and v from a backward pass with one query and logits far below 0",
    kind=Kind.WRONG,
    reports=(Report("cudnn-frontend#1072", "https://github.com/NVIDIA/cudnn-frontend/issues/1072", "cuDNN 9.25.1 and 9.26.0", "H200", "cuDNN"),),
    needs=frozenset({Needs.ONE_QUERY, Needs.GRADIENTS, Needs.LARGE_LOGITS}),
    logits="near −128",
    inputs="bf16, one query `[1, 2, 1, 64]`, 128 keys, no mask, every logit near −128",
    compared="the output and the gradients of q, k and v",
    avoid="a backward pass with one query and logits far below 0",
    make=lambda device: _with_logits_near(-128.0, device),
    control=lambda device: _with_logits_near(0.0, device),
    cure=Cure("Switch cuDNN off around the call.", WITHOUT_CUDNN.format(arguments=""), without_cudnn),
)
