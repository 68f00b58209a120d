"""Attention with one fault planted in it, to stand in for a backend's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import scaled_dot_product_attention as right


class _Backwards(torch.autograd.Function):
    """Hands a tensor on, and its gradient changed."""

    @staticmethod
    def forward(ctx: Any, tensor: Any, change: Callable[[Any], Any]) -> Any:
        ctx.change = change
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return ctx.change(gradient), None


def _one_nan(gradient: Any) -> Any:
    gradient = gradient.clone()
    gradient[..., -1, -1] = float("nan")
    return gradient


def _other_seed(q: Any, k: Any, v: Any, **options: Any) -> Any:
    """The output of one dropout mask with the gradients of another."""
    state = torch.get_rng_state()
    shown = right(q.detach(), k.detach(), v.detach(), **options)
    torch.set_rng_state(state)
    torch.rand(1)
    drawn = right(q, k, v, **options)
    return drawn + (shown - drawn).detach()


def _bottom_right(q: Any, k: Any, v: Any, is_causal: bool = False, attn_mask: Any = None, **options: Any) -> Any:
    if is_causal:
        attn_mask = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril(k.size(-2) - q.size(-2))
    return right(q, k, v, attn_mask=attn_mask, **options)


FAULTS: dict[str, Callable[..., Any]] = {
    "a NaN gradient of k": lambda q, k, v, **options: right(q, _Backwards.apply(k, _one_nan), v, **options),
    "a gradient of v that is 1 % off": lambda q, k, v, **options: right(q, k, _Backwards.apply(v, lambda gradient: gradient * 1.01), **options),
    "a dropped mask": lambda q, k, v, attn_mask=None, **options: right(q, k, v, **options),
    "a mask that is taken for added numbers": lambda q, k, v, attn_mask=None, **options: right(q, k, v, attn_mask=None if attn_mask is None else attn_mask.to(q.dtype), **options),
    "causal from the bottom right": _bottom_right,
    "two heads swapped": lambda q, k, v, **options: right(q, k, v, **options).flip(1),
    "an output that is 1 % off": lambda q, k, v, **options: right(q, k, v, **options) * 1.01,
    "the last row forgotten": lambda q, k, v, **options: right(q, k, v, **options).index_fill(-2, torch.tensor([q.size(-2) - 1]), 0.0),
    "gradients of another dropout mask": _other_seed,
    "NaN made to zeros": lambda q, k, v, **options: right(q, k, v, **options).nan_to_num(),
}
