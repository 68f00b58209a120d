"""Which ops compute attention: what they belong to, which backend they are, and what their arguments are called.

A trace holds an op's arguments by their place alone, so each op brings the names of its places along.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """How attention is computed at a call site."""

    SDPA = "scaled_dot_product_attention"
    BACKEND = "a backend's own op"
    FLASH_ATTN = "flash-attn"
    XFORMERS = "xformers"
    TRANSFORMER_ENGINE = "TransformerEngine"
    VLLM = "vLLM"
    SGLANG = "SGLang"
    AITER = "AITER"
    FLASHINFER = "FlashInfer"
    SAGE = "SageAttention"
    FLEX = "flex_attention"
    BY_HAND = "written by hand"
    KERNEL = "a kernel that is known by its name alone"
    UNKNOWN = "an op that is not known"


class Backend(Enum):
    """Which of the implementations behind `scaled_dot_product_attention` ran."""

    FLASH = "flash"
    EFFICIENT = "efficient"
    CUDNN = "cuDNN"
    MATH = "math"
    OVERRIDEABLE = "overrideable"
    CPU_FLASH = "flash on the CPU"


class Direction(Enum):
    FORWARD = "forward"
    BACKWARD = "backward"


@dataclass(frozen=True)
class AttentionOp:
    """An op that computes attention.

    arguments: the names of its places: query, key, value, mask, dropout, causal, scale, gqa; "" for any other
    """

    kind: Kind
    backend: Backend | None = None
    direction: Direction = Direction.FORWARD
    arguments: tuple[str, ...] = ()


_QKV = ("query", "key", "value")
_SDPA = AttentionOp(Kind.SDPA, None, Direction.FORWARD, (*_QKV, "mask", "dropout", "causal", "scale", "gqa"))
_FLASH = (*_QKV, "dropout", "causal", "", "scale")
_BIASED = (*_QKV, "mask", "", "dropout", "causal", "", "scale")
_MATH = (*_QKV, "mask", "dropout", "causal", "", "scale", "gqa")


def _backend(backend: Backend, arguments: tuple[str, ...], direction: Direction = Direction.FORWARD) -> AttentionOp:
    return AttentionOp(Kind.BACKEND, backend, direction, arguments)


_BACK = ("", *_QKV)
OPS: dict[str, AttentionOp] = {
    "aten::scaled_dot_product_attention": _SDPA,
    "aten::_scaled_dot_product_flash_attention": _backend(Backend.FLASH, _FLASH),
    "aten::_scaled_dot_product_flash_attention_for_cpu": _backend(Backend.CPU_FLASH, (*_QKV, "dropout", "causal", "mask", "scale")),
    "aten::_scaled_dot_product_efficient_attention": _backend(Backend.EFFICIENT, (*_QKV, "mask", "", "dropout", "causal", "scale")),
    "aten::_scaled_dot_product_cudnn_attention": _backend(Backend.CUDNN, _BIASED),
    "aten::_scaled_dot_product_fused_attention_overrideable": _backend(Backend.OVERRIDEABLE, (*_QKV, "mask", "dropout", "causal", "", "scale")),
    "aten::_scaled_dot_product_attention_math": _backend(Backend.MATH, _MATH),
    "aten::_flash_attention_forward": _backend(Backend.FLASH, _QKV),
    "aten::_efficient_attention_forward": _backend(Backend.EFFICIENT, (*_QKV, "mask")),
    "aten::_cudnn_attention_forward": _backend(Backend.CUDNN, (*_QKV, "mask")),
    "aten::_scaled_dot_product_flash_attention_backward": _backend(Backend.FLASH, _BACK, Direction.BACKWARD),
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward": _backend(Backend.CPU_FLASH, _BACK, Direction.BACKWARD),
    "aten::_scaled_dot_product_efficient_attention_backward": _backend(Backend.EFFICIENT, (*_BACK, "mask"), Direction.BACKWARD),
    "aten::_scaled_dot_product_cudnn_attention_backward": _backend(Backend.CUDNN, _BACK, Direction.BACKWARD),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": _backend(Backend.OVERRIDEABLE, _BACK, Direction.BACKWARD),
    "aten::_flash_attention_backward": _backend(Backend.FLASH, _BACK, Direction.BACKWARD),
    "aten::_efficient_attention_backward": _backend(Backend.EFFICIENT, _BACK, Direction.BACKWARD),
    "aten::_cudnn_attention_backward": _backend(Backend.CUDNN, _BACK, Direction.BACKWARD),
}


def find(name: str) -> AttentionOp | None:
    """What the op of this name computes, or `None` where it is not attention."""
    return OPS.get(name)
