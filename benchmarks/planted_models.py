"""Small transformers with one planted cause each: what `reportgen explain` must find first. See `planted`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

PLANTED = "# planted"
"""Ends the line that holds the cause."""


@dataclass(frozen=True)
class Sizes:
    """batch, heads, kv_heads, length (tokens), dim (of a head), layers, vocabulary (of the loss)"""

    batch: int = 4
    heads: int = 16
    kv_heads: int = 16
    length: int = 4096
    dim: int = 64
    layers: int = 3
    vocabulary: int = 8192

    @property
    def width(self) -> int:
        return self.heads * self.dim


TINY = Sizes(batch=2, heads=4, kv_heads=4, length=48, dim=16, layers=2, vocabulary=64)
"""For the CPU: nothing to measure there."""


class CausalAttention(nn.Module):
    """Nothing planted: fused, 16 bits, `is_causal`."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.q = nn.Linear(sizes.width, sizes.width)
        self.k = nn.Linear(sizes.width, sizes.kv_heads * sizes.dim)
        self.v = nn.Linear(sizes.width, sizes.kv_heads * sizes.dim)
        self.out = nn.Linear(sizes.width, sizes.width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (self.heads(project(x), count) for project, count in ((self.q, self.sizes.heads), (self.k, self.sizes.kv_heads), (self.v, self.sizes.kv_heads)))
        return self.out(self.attend(q, k, v, mask).transpose(1, 2).reshape(x.shape[0], x.shape[1], -1))

    def heads(self, x: Tensor, count: int) -> Tensor:
        """[batch, length, count · dim] → [batch, count, length, dim], a view."""
        return x.view(x.shape[0], x.shape[1], count, self.sizes.dim).transpose(1, 2)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)  # planted


class MaskedAttention(CausalAttention):
    """The mask is given, of whatever type."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)  # planted


class ChannelsFirstAttention(CausalAttention):
    """Projections that write [batch, channels, length], as a convolution does: the last dimension of q, k and v is apart in memory."""

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        turned = x.transpose(1, 2)
        q, k, v = (self.apart(torch.matmul(project.weight, turned), self.sizes.heads) for project in (self.q, self.k, self.v))
        return self.out(self.attend(q, k, v, mask).transpose(1, 2).reshape(x.shape[0], x.shape[1], -1))

    def apart(self, x: Tensor, count: int) -> Tensor:
        """[batch, count · dim, length] → [batch, count, length, dim], a view."""
        return x.view(x.shape[0], count, self.sizes.dim, x.shape[2]).transpose(2, 3)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)  # planted


class ChannelsFirstCured(ChannelsFirstAttention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q.contiguous(), k.contiguous(), v.contiguous(), is_causal=True)  # planted


class PaddedHeadAttention(CausalAttention):
    """Head dimension filled up to a multiple of 8 with zeros, at the scale of the true one."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        more = -q.shape[-1] % 8
        scale = q.shape[-1] ** -0.5
        filled = F.scaled_dot_product_attention(F.pad(q, (0, more)), F.pad(k, (0, more)), F.pad(v, (0, more)), is_causal=True, scale=scale)  # planted
        return filled[..., : q.shape[-1]]


class DropoutAttention(CausalAttention):
    """`dropout_p` left on although the model evaluates."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)  # planted


class RepeatedAttention(CausalAttention):
    """k and v are copied for every head of q."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        k, v = self.repeat(k), self.repeat(v)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)  # planted

    def repeat(self, x: Tensor) -> Tensor:
        batch, few, length, dim = x.shape
        times = self.sizes.heads // few
        return x[:, :, None].expand(batch, few, times, length, dim).reshape(batch, few * times, length, dim)


class GroupedAttention(CausalAttention):
    """k and v have fewer heads, and SDPA is told so."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)  # planted


class MaskPerLayerAttention(CausalAttention):
    """Each layer builds padding and triangle anew, as numbers, in FP32 first."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        assert mask is not None
        return F.scaled_dot_product_attention(q, k, v, attn_mask=build_mask(mask, q.dtype))  # planted


def build_mask(padding: Tensor, dtype: torch.dtype) -> Tensor:
    """padding: [batch, length] bool, true where a token is → [batch, 1, length, length] of `dtype`, 0 or the smallest number"""
    batch, length = padding.shape
    least = torch.finfo(torch.float32).min
    causal = torch.triu(torch.full((length, length), least, device=padding.device), diagonal=1)
    spread = causal[None, None].expand(batch, 1, length, length).clone()
    spread = spread.masked_fill(~padding[:, None, None, :], least)
    return spread.clamp(min=torch.finfo(dtype).min).to(dtype)


class FlexAttention(CausalAttention):
    """flex_attention that nobody compiled."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        from torch.nn.attention.flex_attention import flex_attention

        return flex_attention(q, k, v, score_mod=causal_score)  # planted


def causal_score(score: Tensor, batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return torch.where(query >= key, score, -float("inf"))


class WrittenAttention(CausalAttention):
    """matmul, scale, mask, softmax, matmul."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        assert mask is not None
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.sizes.dim**-0.5
        scores = scores.masked_fill(mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)  # planted
        return torch.matmul(weights, v)


class CopyingAttention(CausalAttention):
    """q, k and v are copied into an order that SDPA does not need."""

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)  # planted


class LearnedBiasAttention(CausalAttention):
    """A mask that learns: a bias for every head, with a gradient of its own."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.bias = nn.Parameter(torch.zeros(1, sizes.heads, sizes.length, sizes.length))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias)  # planted


class FrozenBiasAttention(LearnedBiasAttention):
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias.detach())  # planted


class WeightsAttention(nn.Module):
    """nn.MultiheadAttention as it is made: weights are wanted, so none of the fused kernels will do. Positions are added to q and k."""

    own = False
    wanted = True

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(sizes.width, sizes.heads, batch_first=True)
        self.positions = nn.Parameter(torch.zeros(1, sizes.length, sizes.width))

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        placed = x if self.own else x + self.positions
        return self.inner(placed, placed, x, need_weights=self.wanted)[0]  # planted


class NoWeightsAttention(WeightsAttention):
    wanted = False


class OwnWeightsAttention(WeightsAttention):
    own = True


class CachedAttention(CausalAttention):
    """One new token on a cache."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.register_buffer("keys", torch.randn(sizes.batch, sizes.kv_heads, sizes.length, sizes.dim))
        self.register_buffer("values", torch.randn(sizes.batch, sizes.kv_heads, sizes.length, sizes.dim))

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        self.keys[:, :, -1:] = k
        self.values[:, :, -1:] = v
        return F.scaled_dot_product_attention(q, self.keys, self.values)  # planted


class Block(nn.Module):
    def __init__(self, sizes: Sizes, attention: type[nn.Module]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(sizes.width)
        self.attention = attention(sizes)
        self.second = nn.LayerNorm(sizes.width)
        self.up = nn.Linear(sizes.width, 4 * sizes.width)
        self.down = nn.Linear(4 * sizes.width, sizes.width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        x = x + self.attention(self.norm(x), mask)
        return x + self.down(F.gelu(self.up(self.second(x))))


class Model(nn.Module):
    def __init__(self, sizes: Sizes, attention: type[nn.Module], trained: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(sizes, attention) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, sizes.vocabulary) if trained else None

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x)
        return self.head(x) if self.head else x


@dataclass(frozen=True)
class Case:
    """One thing planted.

    cause: what a reader must be told first; attention: the module; mask: which one the model is given (see `make_mask`)
    way: how a step is run; dim: another head dimension; few: a quarter of the heads in k and v; short: half the batch and half the length
    twin_of: the case that this one cures
    """

    name: str
    cause: str
    attention: type[nn.Module] = CausalAttention
    dtype: torch.dtype = torch.bfloat16
    mask: str = "none"
    trained: bool = False
    way: str = "plain"
    dim: int | None = None
    few: bool = False
    short: bool = False
    twin_of: str | None = None

    def sizes(self, of: Sizes) -> Sizes:
        return replace(of, dim=self.dim or of.dim, kv_heads=of.heads // 4 if self.few else of.heads,
                       batch=of.batch // 2 if self.short else of.batch, length=of.length // 2 if self.short else of.length)

    def line(self) -> str:
        """`file:number` of the planted line, with its text behind."""
        for owner in self.attention.__mro__:
            lines, start = inspect.getsourcelines(owner) if owner.__module__ == __name__ else ([], 0)
            for number, text in enumerate(lines, start):
                if text.rstrip().endswith(PLANTED):
                    return f"benchmarks/planted_models.py:{number} {text.strip().removesuffix(PLANTED).strip()}"
        raise LookupError(f"{self.attention.__name__} has no line that ends with {PLANTED}")


def make_mask(kind: str, sizes: Sizes, dtype: torch.dtype, device: str) -> Tensor | None:
    """bool: the triangle, true where a query sees a key; number: the same as 0 and −∞; fp32: that in FP32 whatever the type of q;
    hidden: the triangle, true where it does not; padding: [batch, length], the last tenth of every second entry is none"""
    if kind == "none":
        return None
    if kind == "padding":
        seen = torch.ones(sizes.batch, sizes.length, dtype=torch.bool, device=device)
        seen[::2, -max(1, sizes.length // 10):] = False
        return seen
    triangle = torch.ones(sizes.length, sizes.length, dtype=torch.bool, device=device).tril()
    if kind == "bool":
        return triangle
    if kind == "hidden":
        return ~triangle
    return torch.zeros(sizes.length, sizes.length, dtype=torch.float32 if kind == "fp32" else dtype, device=device).masked_fill(~triangle, float("-inf"))


CASES: tuple[Case, ...] = (
    Case("clean_inference", "none"),
    Case("clean_training", "none", trained=True),
    Case("head_dim_80", "none", dim=80),
    Case("bool_mask", "mask", MaskedAttention, mask="bool"),
    Case("bool_mask_cured", "none", twin_of="bool_mask"),
    Case("float_mask", "mask", MaskedAttention, mask="number"),
    Case("fp32", "type", dtype=torch.float32),
    Case("fp32_cured", "none", twin_of="fp32"),
    Case("strided", "stride", ChannelsFirstAttention),
    Case("strided_cured", "copies", ChannelsFirstCured, twin_of="strided"),
    Case("head_dim_100", "head dimension", dim=100),
    Case("head_dim_100_cured", "padding", PaddedHeadAttention, dim=100, twin_of="head_dim_100"),
    Case("dropout", "dropout", DropoutAttention),
    Case("dropout_cured", "none", twin_of="dropout"),
    Case("need_weights", "weights", WeightsAttention),
    Case("need_weights_cured", "none", NoWeightsAttention, twin_of="need_weights"),
    Case("need_weights_own", "weights", OwnWeightsAttention),
    Case("repeat_kv", "repeated k and v", RepeatedAttention, few=True),
    Case("repeat_kv_cured", "none", GroupedAttention, few=True, twin_of="repeat_kv"),
    Case("gqa_fp32", "enable_gqa in FP32", GroupedAttention, dtype=torch.float32, few=True),
    Case("mask_per_layer", "mask built per layer", MaskPerLayerAttention, mask="padding"),
    Case("mask_other_type", "mask of another type", MaskedAttention, mask="fp32"),
    Case("by_hand", "by hand", WrittenAttention, mask="hidden"),
    Case("by_hand_cured", "none", twin_of="by_hand"),
    Case("copies", "copies", CopyingAttention),
    Case("mask_gradient_backward", "mask with a gradient", LearnedBiasAttention, trained=True, short=True),
    Case("mask_gradient_backward_cured", "mask", FrozenBiasAttention, trained=True, short=True, twin_of="mask_gradient_backward"),
    Case("by_hand_backward", "by hand", WrittenAttention, mask="hidden", trained=True),
    Case("fp32_backward", "type", dtype=torch.float32, trained=True),
    Case("flex_eager", "flex not compiled", FlexAttention),
    Case("new_shapes", "first calls", way="new shapes"),
    Case("graph_decode", "graph replay", CachedAttention, way="graph"),
    Case("compiled", "mask", MaskedAttention, mask="bool", way="compiled"),
)


def prepare(case: Case, sizes: Sizes, device: str) -> Callable[[], Any]:
    """A function that runs one step of the case on `device`, and waits for nothing.

    Raises:
        NotImplementedError: this way of running needs a GPU. Otherwise what torch raises.
    """
    if case.way in ("graph", "compiled") and device == "cpu":
        raise NotImplementedError(f"{case.way}: needs a GPU")
    torch.manual_seed(0)
    model = Model(sizes, case.attention, case.trained).to(device=device, dtype=case.dtype)
    mask = make_mask(case.mask, sizes, case.dtype, device)
    x = torch.randn(sizes.batch, 1 if case.way == "graph" else sizes.length, sizes.width, device=device, dtype=case.dtype)
    if case.trained:
        return training(model, x, mask, sizes)
    model.eval().requires_grad_(False)
    if case.way == "graph":
        return replayed(model, x)
    if case.way == "new shapes":
        return growing(model, x)
    if case.way == "compiled":
        model = torch.compile(model)

    def step() -> Tensor:
        with torch.no_grad():
            return model(x, mask)

    return step


def training(model: nn.Module, x: Tensor, mask: Tensor | None, sizes: Sizes) -> Callable[[], Any]:
    """Forward, cross-entropy, backward, one step of SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    wanted = torch.randint(sizes.vocabulary, (x.shape[0] * x.shape[1],), device=x.device)

    def step() -> None:
        loss = F.cross_entropy(model(x, mask).flatten(0, 1), wanted)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def growing(model: nn.Module, x: Tensor) -> Callable[[], Any]:
    """Each step has a length that no step before had."""
    done = [0]

    def step() -> Tensor:
        done[0] += 1
        shorter = x.shape[1] // 2 + 3 * done[0]
        with torch.no_grad():
            return model(x[:, :shorter], None)

    return step


def replayed(model: nn.Module, x: Tensor, times: int = 16) -> Callable[[], Any]:
    """The model's forward in a CUDA graph, replayed `times` a step."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(aside):
        for _ in range(3):
            model(x, None)
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(x, None)

    def step() -> None:
        for _ in range(times):
            graph.replay()

    return step
