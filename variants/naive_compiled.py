"""Naive attention through `torch.compile`: what does a compiler leave of the five kernels?"""

from __future__ import annotations

from functools import cache

TITLE = "Naive, compiled"
CHANGED = "The naive forward, unchanged, given to `torch.compile`."
BACKEND = None
SLOW_START = True
PREDICTION = (
    ("matmul", "q · kᵀ"),
    ("softmax", "scale, causal mask and softmax in one kernel"),
    ("matmul", "weights · v"),
)


@cache
def _compiled():
    import torch

    from .naive import forward as naive

    return torch.compile(naive, dynamic=False)


def forward(q, k, v, mask):
    """q, k, v `[B, H, S, D]`, mask bool `[S, S]` (True = may not be seen) → `[B, H, S, D]`."""
    return _compiled()(q, k, v, mask)


masked = forward
