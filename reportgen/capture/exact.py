"""Attention and its gradients by the formula, step by step: in FP64 what a probe is measured against, and in the inputs' type what a plain program loses.

    weights  P = exp(s − max s) ÷ Σ exp(s − max s)    with s = q · kᵀ · scale + mask
    output   O = P · v
    backward dP = dO · vᵀ,  dS = P · (dP − Σ dO · O),  dq = scale · dS · k,  dk = scale · dSᵀ · q,  dv = Pᵀ · dO

A row that may see no key gets zeros, as torch's math backend does. `is_causal` is aligned top-left, as torch documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..probes import Inputs

NAMES = {"q": "gradient of q", "k": "gradient of k", "v": "gradient of v", "mask": "gradient of the mask"}


@dataclass(frozen=True)
class Result:
    """values: `output` and the gradients that are wanted, by the names of `run.correctness.TENSORS`
    sizes: for each the same sum with every term's absolute value: what cancels in it
    """

    values: dict[str, Any]
    sizes: dict[str, Any]


def formula(inputs: Inputs, kept: Any = None) -> Result:
    """In FP64. kept: bool `[B, H, Sq, Sk]`, the keys that dropout kept; without it nothing is dropped."""
    import torch

    return _work_out(inputs, torch.float64, lambda value: value, kept)


def plain(inputs: Inputs, kept: Any = None) -> dict[str, Any]:
    """The values as a plain fused program gets them: sums in FP32; weights, output and their gradients rounded to the inputs' type."""
    import torch

    def rounded(value: Any) -> Any:
        return value.to(inputs.q.dtype).float()

    return _work_out(inputs, torch.float32, rounded, kept).values


def _work_out(inputs: Inputs, number: Any, rounded: Callable[[Any], Any], kept: Any) -> Result:
    q, k, v = (each.detach().to(number) for each in (inputs.q, inputs.k, inputs.v))
    groups = q.shape[1] // max(1, k.shape[1])
    if groups > 1:
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    scale = inputs.options.get("scale") or (q.shape[-1] ** -0.5 if q.shape[-1] else 1.0)
    weights = _weights(inputs, q @ k.transpose(-2, -1) * scale)
    factor = 1.0 if kept is None else kept.to(number) / (1.0 - inputs.options["dropout_p"])
    used = rounded(weights * factor)
    output = rounded(used @ v)
    values, sizes = {"output": output}, {"output": used @ v.abs()}
    if inputs.upstream is None:
        return Result(values, sizes)
    above = inputs.upstream.detach().to(number)
    through = above @ v.transpose(-2, -1) * factor
    row = (above * output).sum(-1, keepdim=True)
    scores = rounded(weights * (through - row))
    size = weights * (above.abs() @ v.abs().transpose(-2, -1) * factor + (above * output).abs().sum(-1, keepdim=True))
    found = {"q": (scores @ k * scale, size @ k.abs() * abs(scale)),
             "k": (scores.transpose(-2, -1) @ q * scale, size.transpose(-2, -1) @ q.abs() * abs(scale)),
             "v": (used.transpose(-2, -1) @ above, used.transpose(-2, -1) @ above.abs())}
    if inputs.mask is not None and inputs.mask.dtype.is_floating_point:
        found["mask"] = (scores, size)
    for name in inputs.wants:
        like = getattr(inputs, name)
        values[NAMES[name]] = rounded(_folded(found[name][0], like, groups))
        sizes[NAMES[name]] = _folded(found[name][1], like, groups)
    return Result(values, sizes)


def _weights(inputs: Inputs, scores: Any) -> Any:
    """Softmax over the keys that may be seen; zeros where there is none. What is not seen cannot bring in NaN."""
    import torch

    if inputs.options.get("is_causal"):
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(), float("-inf"))
    if inputs.mask is not None:
        mask = inputs.mask.detach()
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype is torch.bool else scores + mask.to(scores.dtype)
    top = scores.amax(-1, keepdim=True)
    weights = (scores - top.masked_fill(top == float("-inf"), 0.0)).exp()
    total = weights.sum(-1, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def _folded(gradient: Any, like: Any, groups: int) -> Any:
    """Summed over what was repeated or broadcast, to the shape of the operand."""
    if groups > 1 and gradient.dim() == 4 and gradient.shape[1] == like.shape[1] * groups:
        batch, heads, rows, columns = gradient.shape
        gradient = gradient.view(batch, heads // groups, groups, rows, columns).sum(2)
    return gradient.sum_to_size(like.shape)
