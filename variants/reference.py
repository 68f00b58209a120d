"""The formula in FP64: what every variant is measured against. Slow and plain on purpose."""

from __future__ import annotations


def attention(q, k, v, mask):
    """softmax(q · kᵀ ÷ √D, masked) · v.

    Args:
        q, k, v: `[..., S, D]`, any float type; worked out in FP64.
        mask: bool `[S, S]`, True where a query may not see a key.

    Returns:
        FP64 `[..., S, D]`; NaN in a row whose every key is masked (0 ÷ 0, as the formula has it).
    """
    import torch

    q, k, v = q.double(), k.double(), v.double()
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    return torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1) @ v
