"""flex_attention: the mask is a function, and torch.compile writes the kernel in Triton."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...shapes.call import WINDOW
from ..map_inputs import Tensors

TITLE = "flex_attention"
INSTALL = "it comes with torch from version 2.5 on; on a GPU it needs Triton, on a CPU a C++ compiler"


def missing(device: str) -> str | None:
    from importlib.util import find_spec

    if find_spec("torch.nn.attention.flex_attention") is None:
        return "this torch does not have it"
    return "Triton is not installed" if device != "cpu" and find_spec("triton") is None else None


def prepare(tensors: Tensors) -> Callable[[], Any]:
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    call = tensors.call
    offset = call.keys - call.queries if call.mask != "causal" else 0
    window = WINDOW if call.mask == "window" else call.keys
    block = None
    if call.mask != "none":
        block = create_block_mask(lambda b, h, q, k: (k <= q + offset) & (q + offset - k < window), None, None, call.queries, call.keys, device=tensors.q.device)
    torch._dynamo.reset()  # a shape compiled before is no part of this one's price
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda: compiled(tensors.q, tensors.k, tensors.v, block_mask=block, enable_gqa=call.grouped)
