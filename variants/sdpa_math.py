"""SDPA, pinned to the backend that is written in plain torch operations."""

from __future__ import annotations

TITLE = "SDPA math"
CHANGED = "One call of `scaled_dot_product_attention`, pinned to the backend made of plain torch operations."
BACKEND = "math"
PREDICTION = (
    ("matmul", "q · kᵀ"),
    ("scale", "÷ √D"),
    ("mask", "causal mask"),
    ("softmax", "scores to weights"),
    ("matmul", "weights · v"),
)


def forward(q, k, v, mask):
    """q, k, v `[B, H, S, D]` → `[B, H, S, D]`; the mask is left to `is_causal`."""
    from torch.nn import functional as F

    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def masked(q, k, v, mask):
    """The same under a mask of one's own, bool `[S, S]`, True = may not be seen (SDPA wants the reverse)."""
    from torch.nn import functional as F

    return F.scaled_dot_product_attention(q, k, v, attn_mask=~mask)
