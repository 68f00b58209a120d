"""What an activity does, in one word of a fixed vocabulary. Predictions speak the same words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .shapes import under

MULTIPLIES = ("matmul", "fused attention")
"""The roles of activities that multiply matrices."""

OPS = {
    "aten::bmm": "matmul", "aten::mm": "matmul", "aten::matmul": "matmul", "aten::addmm": "matmul", "aten::baddbmm": "matmul",
    "aten::mul": "scale", "aten::mul_": "scale", "aten::div": "scale", "aten::div_": "scale",
    "aten::masked_fill": "mask", "aten::masked_fill_": "mask",
    "aten::softmax": "softmax", "aten::_softmax": "softmax",
    "aten::fill_": "fill", "aten::zero_": "fill", "aten::ones": "fill", "aten::zeros": "fill", "aten::full": "fill",
    "aten::tril": "tril", "aten::triu": "tril", "aten::tril_": "tril", "aten::triu_": "tril",
    "aten::where": "where", "aten::add": "add", "aten::add_": "add", "aten::isneginf": "isneginf", "aten::all": "all",
}
"""The innermost op around a launch → the role of what it launched (one of `variants.ROLES`)."""
_FUSED_OP = re.compile(r"aten::(?:_(?:flash|efficient|cudnn)_attention_forward|_scaled_dot_product_(?:flash|efficient|cudnn|fused)_attention\w*|_scaled_dot_product_attention_flash\w*)")
_FUSED_KERNEL = re.compile(r"flash_fwd_kernel<|flash_fwd_splitkv_kernel<|FlashAttnFwd|\bfmha_cutlassF_|_sdpa_\w*fprop|\bfmhaSm\d+\w*Kernel|\battn_fwd|FmhaFwd")
_AUXILIARY = re.compile(r"splitKreduce|splitkv_combine")


def role(kind: str, name: str, op_path: Sequence[str]) -> str:
    """The role of an activity, from its kind, its kernel's name and the ops around its launch (outermost first).

    The op decides where there is one, for the same kernel copies, casts and fills under different ops.
    """
    if kind == "memset":
        return "memset"
    inner = op_path[-1] if op_path else ""
    if inner == "aten::copy_":
        return _copy(kind, op_path)
    if kind == "memcpy":
        return "copy"
    if _AUXILIARY.search(name):
        return "other"
    if _FUSED_OP.fullmatch(inner) or _FUSED_KERNEL.search(name):
        return "fused attention"
    if inner in OPS:
        return OPS[inner]
    # torch.compile names its kernel after what it fused into it; only softmax is a step of its own there.
    if name.startswith("triton_") and "softmax" in name:
        return "softmax"
    return "other"


def _copy(kind: str, op_path: Sequence[str]) -> str:
    """`copy_` converts under `to`, and moves under `clone` and `contiguous`; a memcpy cannot convert."""
    if kind != "memcpy" and (under(op_path, "aten::_to_copy", "aten::copy_") or under(op_path, "aten::to", "aten::copy_")):
        return "cast"
    return "copy"
