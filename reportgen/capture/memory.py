"""Peak memory of one forward, above its inputs."""

from __future__ import annotations

from typing import Any

from ..run.workload import Workload
from . import operands


def peak(variant: Any, device: str, workload: Workload) -> int | None:
    """Bytes that torch's allocator held at most during one warm forward, above what was held before.

    The output counts, the inputs and the mask do not. `None` on a CPU, where torch keeps no such count.
    Workspaces that a library allocates once (cuBLAS) are there before and do not count.
    """
    import torch

    if not operands.is_gpu(device):
        return None
    inputs = operands.make(device, workload)
    with torch.no_grad():
        variant.forward(*inputs)
        return above(device, lambda: variant.forward(*inputs))


def above(device: str, work: Any) -> int:
    """Bytes at the peak of `work()` above what was allocated when it began (GPU only)."""
    import torch

    torch.cuda.synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    kept = work()
    torch.cuda.synchronize(device)
    del kept
    return torch.cuda.max_memory_allocated(device) - before
