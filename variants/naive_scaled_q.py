"""Naive attention in place, with the scale moved from the scores to the queries."""

from __future__ import annotations

TITLE = "Naive with scaled q"
CHANGED = "As naive in place, but the scale is applied to the queries, D numbers a row, and not to the scores, S numbers a row."
BACKEND = None
BRIEF = True
PREDICTION = (
    ("scale", "q ÷ √D"),
    ("matmul", "q · kᵀ"),
    ("mask", "causal mask"),
    ("softmax", "scores to weights"),
    ("matmul", "weights · v"),
)


def forward(q, k, v, mask):
    """q, k, v `[B, H, S, D]`, mask bool `[S, S]` (True = may not be seen) → `[B, H, S, D]`."""
    import torch

    scores = torch.matmul(q * q.shape[-1] ** -0.5, k.transpose(-2, -1))
    scores.masked_fill_(mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v)


masked = forward
