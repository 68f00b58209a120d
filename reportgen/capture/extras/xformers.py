"""xformers' memory_efficient_attention, which chooses among kernels of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...shapes.call import WINDOW
from ..map_inputs import Tensors
from . import absent

TITLE = "xformers"
INSTALL = "`pip install xformers`, in the version for this torch"


def missing(device: str) -> str | None:
    return absent("xformers", device=device)


def prepare(tensors: Tensors) -> Callable[[], Any]:
    """It wants `[batch, length, heads, dim]`; a transposed view is enough."""
    from xformers.ops import LowerTriangularMask, memory_efficient_attention
    from xformers.ops.fmha.attn_bias import LocalAttentionFromBottomRightMask

    call = tensors.call
    if call.grouped:
        raise NotImplementedError("with grouped heads it takes five dimensions, which is not written here")
    bias = {"none": lambda: None, "causal": LowerTriangularMask, "window": lambda: LocalAttentionFromBottomRightMask(WINDOW - 1, 0)}[call.mask]()
    return lambda: memory_efficient_attention(*(one.transpose(1, 2) for one in (tensors.q, tensors.k, tensors.v)), attn_bias=bias).transpose(1, 2)
