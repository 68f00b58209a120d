"""Naive attention with scale and mask folded into the first matmul: `torch.baddbmm` adds a bias and scales."""

from __future__ import annotations

TITLE = "Naive with baddbmm"
CHANGED = "Scale and mask became arguments of the first matmul: `torch.baddbmm(bias, q, kᵀ, alpha=scale)`, with 0 or −∞ in the bias."
BACKEND = None
BRIEF = True
PREDICTION = (
    ("matmul", "bias + scale × q · kᵀ"),
    ("softmax", "scores to weights"),
    ("matmul", "weights · v"),
)


def forward(q, k, v, mask):
    """q, k, v `[B, H, S, D]`, mask bool `[S, S]` (True = may not be seen) → `[B, H, S, D]`."""
    import torch

    bias = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(mask, float("-inf"))
    scores = torch.baddbmm(bias, q.flatten(0, 1), k.flatten(0, 1).transpose(-2, -1), alpha=q.shape[-1] ** -0.5)
    weights = torch.softmax(scores, dim=-1)
    return torch.bmm(weights, v.flatten(0, 1)).view(q.shape)


masked = forward
