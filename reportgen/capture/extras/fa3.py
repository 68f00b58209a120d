"""FlashAttention-3 in the place of torch's own flash backend, through `activate_flash_attention_impl`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..map_inputs import Tensors
from . import absent

TITLE = "FlashAttention-3"
INSTALL = "torch 2.11 or later, and `flash_attn_interface`, built from hopper/ of github.com/Dao-AILab/flash-attention"


def missing(device: str) -> str | None:
    import torch.nn.attention as attention

    if not hasattr(attention, "activate_flash_attention_impl"):
        return "this torch cannot put it in"
    return absent("flash_attn_interface", device=device)


def prepare(tensors: Tensors) -> Callable[[], Any]:
    """It is put in around each call, so that flash itself stays torch's own."""
    import torch.nn.functional as F
    from torch.nn import attention

    if tensors.mask is not None:
        raise NotImplementedError("SDPA hands no mask on to flash attention")

    def run() -> Any:
        attention.activate_flash_attention_impl("FA3")
        try:
            with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
                return F.scaled_dot_product_attention(tensors.q, tensors.k, tensors.v, is_causal=tensors.call.mask == "causal", enable_gqa=tensors.call.grouped)
        finally:
            attention.restore_flash_attention_impl()

    return run
