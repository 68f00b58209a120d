"""Transposes that SDPA makes to give its kernel the layout it wants: views, ops without kernels."""

from __future__ import annotations

from typing import Iterable

from .shapes import ShownOp

SDPA = "aten::scaled_dot_product_attention"
BACKEND_OPS = {
    "math": "aten::_scaled_dot_product_attention_math",
    "efficient": "aten::_scaled_dot_product_efficient_attention",
    "flash": "aten::_scaled_dot_product_flash_attention",
    "cudnn": "aten::_scaled_dot_product_cudnn_attention",
    "overrideable": "aten::_scaled_dot_product_fused_attention_overrideable",
    "flash (CPU)": "aten::_scaled_dot_product_flash_attention_for_cpu",
}
"""The op that shows which backend really ran, by whole name."""


def under_sdpa(ops: Iterable[ShownOp]) -> int:
    """How many `aten::transpose` lie under an SDPA op."""
    return sum(op.name == "aten::transpose" and _in_sdpa(op.path) for op in ops)


def _in_sdpa(path: tuple[str, ...]) -> bool:
    return any(name == SDPA or name in BACKEND_OPS.values() for name in path)


def backends(ops: Iterable[ShownOp]) -> tuple[str, ...]:
    """Which SDPA backends ran, in order of first appearance; empty where none did."""
    names = {op: backend for backend, op in BACKEND_OPS.items()}
    return tuple(dict.fromkeys(names[op.name] for op in ops if op.name in names))
