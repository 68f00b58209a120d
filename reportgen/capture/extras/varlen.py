"""varlen_attn: sequences of any lengths packed one behind the other, with flash attention's kernels."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from ...shapes.call import WINDOW
from ..map_inputs import Tensors
from . import absent

TITLE = "varlen_attn"
INSTALL = "it comes with torch from version 2.10 on, windows with 2.11, for GPUs"


def missing(device: str) -> str | None:
    from importlib.util import find_spec

    return absent(device=device) or (None if find_spec("torch.nn.attention.varlen") else "this torch does not have it")


def prepare(tensors: Tensors) -> Callable[[], Any]:
    """Packing is part of the price of a backward alone: models that use it have their tokens packed."""
    import torch
    from torch.nn.attention.varlen import varlen_attn

    call, last = tensors.call, {"none": (-1, -1), "causal": (-1, 0), "window": (WINDOW - 1, 0)}[tensors.call.mask]
    windows = "window_size" in signature(varlen_attn).parameters
    if not windows and call.mask == "window":
        raise NotImplementedError("varlen_attn has no windows in this version of torch")
    options: dict[str, Any] = {"window_size": last} if windows else {"is_causal": call.mask == "causal"}

    def pack() -> list[Any]:
        return [one.transpose(1, 2).flatten(0, 1).contiguous() for one in (tensors.q, tensors.k, tensors.v)]

    packed = None if call.gradients else pack()
    begins = [torch.arange(0, (call.batch + 1) * length, length, dtype=torch.int32, device=tensors.q.device) for length in (call.queries, call.keys)]

    return lambda: varlen_attn(*(packed or pack()), *begins, call.queries, call.keys, **options).unflatten(0, (call.batch, call.queries)).transpose(1, 2)
