"""SDPA, pinned to the memory-efficient kernel (from xFormers, built on CUTLASS)."""

from __future__ import annotations

TITLE = "SDPA efficient"
CHANGED = "The same call, pinned to the memory-efficient backend."
BACKEND = "efficient"
PREDICTION = (
    ("fused attention", "scores, mask, softmax and weights · v in one kernel"),
)


def forward(q, k, v, mask):
    """q, k, v `[B, H, S, D]` → `[B, H, S, D]`; the mask is left to `is_causal`."""
    from torch.nn import functional as F

    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q, k, v, mask):
    """The same under a mask of one's own, bool `[S, S]`, True = may not be seen (SDPA wants the reverse)."""
    from torch.nn import functional as F

    return F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
