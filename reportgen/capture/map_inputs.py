"""Tensors of a `Call`, and what is right for them: a few groups of heads beside FP64."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..probes import comparing
from ..shapes import Call
from ..shapes.call import WINDOW

SEED = 20261203
GROUPS = 3
"""Groups of heads held beside FP64 where all would be too many: the first, the last and one between."""
ALL_BELOW = 2**24
"""Scores up to which every group is held beside FP64."""
GRADIENT_SLACK = 2.0
"""As for the probes: kernels add up the gradients of k and v in 16 bits."""
NAMES = {"q": "gradient of q", "k": "gradient of k", "v": "gradient of v"}

Group = tuple[int, int]
"""A batch entry and a head of k and v."""


@dataclass
class Tensors:
    """q, k, v, the mask or `None`, and the gradient of the output or `None`."""

    call: Call
    q: Any
    k: Any
    v: Any
    mask: Any
    upstream: Any
    check: Callable[[], tuple[Any, ...]] | None = None
    """What is held beside FP64 in place of `run`, where that draws random numbers."""

    def run(self) -> tuple[Any, ...]:
        """The output, and the gradients of q, k and v where they are wanted."""
        import torch
        import torch.nn.functional as F

        options: dict[str, Any] = {"enable_gqa": True} if self.call.grouped else {}
        if self.call.mask == "causal":
            options["is_causal"] = True
        if self.upstream is None:
            with torch.no_grad():
                return (F.scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=self.mask, **options),)
        output = F.scaled_dot_product_attention(self.q, self.k, self.v, attn_mask=self.mask, **options)
        return (output.detach(), *torch.autograd.grad(output, (self.q, self.k, self.v), self.upstream))


def make(call: Call, device: str) -> Tensors:
    """The same normal numbers for every backend."""
    import torch

    generator = torch.Generator(device=device).manual_seed(SEED)
    dtype = getattr(torch, call.dtype)

    def normal(heads: int, length: int, dim: int) -> Any:
        if call.layout == "bshd":
            return torch.randn(call.batch, length, heads, dim, device=device, dtype=dtype, generator=generator).transpose(1, 2)
        return torch.randn(call.batch, heads, length, dim, device=device, dtype=dtype, generator=generator)

    q, k, v = normal(call.heads, call.queries, call.head_dim), normal(call.kv_heads, call.keys, call.head_dim), normal(call.kv_heads, call.keys, call.value_dim)
    upstream = torch.randn(call.batch, call.heads, call.queries, call.value_dim, device=device, dtype=dtype, generator=generator) if call.gradients else None
    if call.gradients:
        q, k, v = (one.requires_grad_(True) for one in (q, k, v))
    return Tensors(call, q, k, v, _mask(call, device, dtype), upstream)


def _mask(call: Call, device: str, dtype: Any) -> Any:
    """`[queries, keys]`, aligned at the bottom right."""
    import torch

    if call.mask in ("none", "causal"):
        return None
    offset = call.keys - call.queries
    seen = torch.ones(call.queries, call.keys, dtype=torch.bool, device=device).tril_(offset)
    if call.mask == "window":
        seen &= torch.ones_like(seen).triu_(offset - WINDOW + 1)
    if call.mask == "float":
        return torch.zeros(call.queries, call.keys, dtype=dtype, device=device).masked_fill_(~seen, float("-inf"))
    return seen


def groups(call: Call) -> list[Group]:
    """Which groups of heads are compared: all of them, or the first, the last and one drawn by the call's own name."""
    every = [(batch, head) for batch in range(call.batch) for head in range(call.kv_heads)] if call.score_elements <= ALL_BELOW else None
    if every is not None and len(every) <= 64:
        return every
    drawn = random.Random(call.id)
    between = (drawn.randrange(call.batch), drawn.randrange(call.kv_heads))
    return list(dict.fromkeys([(0, 0), (call.batch - 1, call.kv_heads - 1), between]))[:GROUPS]


class Right:
    """The exact results of some groups of a call, and the plain formula's; worked out once, for every backend."""

    def __init__(self, tensors: Tensors) -> None:
        self.call, self.groups = tensors.call, groups(tensors.call)
        self._exact = [_formula(comparing.exact, tensors, group) for group in self.groups]
        self._plain = [_formula(lambda *a, **b: comparing.plain(*a, wide_scores=True, **b), tensors, group) for group in self.groups]

    def judged(self, values: Sequence[Any]) -> dict[str, Any]:
        """`{"right", "tensor", "error", "allowed"}` of the tensor that is furthest beyond what is allowed. values: as `Tensors.run` gives them."""
        worst: dict[str, Any] = {"right": True, "tensor": None, "error": None, "allowed": None}
        share = -1.0
        for index, group in enumerate(self.groups):
            for name, value in _cut(self.call, values, group).items():
                one = comparing.compare(name, value, self._exact[index][name], self._plain[index][name], 1.0 if name == "output" else GRADIENT_SLACK)  # type: ignore[arg-type]
                off = float("inf") if one["error"] is None else max(one["error"] / one["allowed"], one["row_error"] / one["row_allowed"] if one["row_allowed"] else 0.0)
                if off > share or not one["right"] and worst["right"]:
                    share = off
                    worst = {"right": worst["right"] and one["right"], "tensor": name, "error": one["error"], "allowed": one["allowed"]}
        return worst


def _formula(formula: Callable[..., Any], tensors: Tensors, group: Group) -> Any:
    call, (batch, head) = tensors.call, group
    share = call.heads // call.kv_heads
    own = (slice(batch, batch + 1), slice(head * share, (head + 1) * share))
    of_kv = (slice(batch, batch + 1), slice(head, head + 1))
    return formula(tensors.q[own], tensors.k[of_kv], tensors.v[of_kv], _mask_of(tensors.mask, own), is_causal=call.mask == "causal",
                   upstream=None if tensors.upstream is None else tensors.upstream[own])


def _mask_of(mask: Any, own: tuple[slice, slice]) -> Any:
    """The part of a mask that a group sees: `[queries, keys]` is everyone's, `[batch, heads, …]` is cut where it is not broadcast."""
    if mask is None or mask.dim() == 2:
        return mask
    return mask[tuple(cut if size > 1 else slice(None) for cut, size in zip(own, mask.shape))]


def _cut(call: Call, values: Sequence[Any], group: Group) -> dict[str, Any]:
    batch, head = group
    share = call.heads // call.kv_heads
    own, of_kv = (slice(batch, batch + 1), slice(head * share, (head + 1) * share)), (slice(batch, batch + 1), slice(head, head + 1))
    cut = {"output": values[0][own]}
    if len(values) > 1:
        cut |= {NAMES["q"]: values[1][own], NAMES["k"]: values[2][of_kv], NAMES["v"]: values[3][of_kv]}
    return cut
