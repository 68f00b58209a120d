"""FlashAttention-3 in the place of torch's own flash backend, through `activate_flash_attention_impl`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..map_inputs import Tensors
from . import absent, cannot_swap, swapped

TITLE = "FlashAttention-3"
INSTALL = "torch 2.11 or later, and `flash_attn_interface`, built from hopper/ of github.com/Dao-AILab/flash-attention"


def missing(device: str) -> str | None:
    return cannot_swap() or absent("flash_attn_interface", device=device)


def prepare(tensors: Tensors) -> Callable[[], Any]:
    return swapped("FA3", tensors)
