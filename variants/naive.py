"""Causal attention from primitive operations, as one would write it down from the paper."""

from __future__ import annotations

TITLE = "Naive"
CHANGED = "The starting point: each step of the formula is one torch operation."
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
    scores = scores.masked_fill(mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, v)


masked = forward
