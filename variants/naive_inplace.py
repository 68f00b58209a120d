"""Naive attention with one character more: the mask is written into the scores themselves."""

from __future__ import annotations

TITLE = "Naive in place"
CHANGED = "`masked_fill` became `masked_fill_`: the mask is written into the scores, not into a new tensor."
BACKEND = None
PREDICTION = (
    ("matmul", "q · kᵀ"),
    ("scale", "÷ √D"),
    ("mask", "causal mask"),
    ("softmax", "scores to weights"),
    ("matmul", "weights · v"),
)


def forward(q, k, v, mask):
    """q, k, v `[B, H, S, D]`, mask bool `[S, S]` (True = may not be seen) → `[B, H, S, D]`."""
    import torch

    scores = torch.matmul(q, k.transpose(-2, -1))
    scores = scores * q.shape[-1] ** -0.5
    scores.masked_fill_(mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v)


masked = forward
