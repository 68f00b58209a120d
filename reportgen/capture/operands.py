"""Random operands for the small checks beside the timed forwards: inputs, mask, device helpers."""

from __future__ import annotations

from typing import Any

from ..run.workload import Workload

Operands = tuple[Any, Any, Any, Any]


def is_gpu(device: str) -> bool:
    """True for `cuda` and `cuda:1` (ROCm calls its devices `cuda` as well)."""
    return str(device).split(":")[0] == "cuda"


def make(device: str, workload: Workload, *, seed: int = 0, requires_grad: bool = False) -> Operands:
    """`(q, k, v, mask)`: q, k, v normal `[B, H, S, D]`; mask bool `[S, S]`, True = may not be seen.

    The same seed gives the same values to every variant.
    """
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)
    shape = (workload.batch, workload.heads, workload.sequence, workload.head_dim)
    dtype = getattr(torch, workload.dtype)
    q, k, v = (torch.randn(shape, device=device, dtype=dtype, generator=generator).requires_grad_(requires_grad)
               for _ in range(3))
    mask = torch.ones(workload.sequence, workload.sequence, dtype=torch.bool, device=device)
    return q, k, v, mask.triu_(1) if workload.causal else mask.zero_()


def synchronize(device: str) -> None:
    """Waits for the GPU; nothing to wait for on a CPU."""
    import torch

    if is_gpu(device):
        torch.cuda.synchronize(device)


def release(device: str) -> None:
    """Gives memory back that nothing holds any more, a dropped graph's pool included; nothing to do on a CPU."""
    import gc

    import torch

    if is_gpu(device):
        gc.collect()
        torch.cuda.empty_cache()


def start(device: str) -> None:
    """Starts CUDA in this process; nothing to start on a CPU."""
    import torch

    if is_gpu(device):
        torch.cuda.init()
