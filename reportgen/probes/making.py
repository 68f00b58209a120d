"""What the probes' inputs are made from: the same numbers on every device, drawn on the CPU."""

from __future__ import annotations

from typing import Any

from .model import Inputs, NotHere


def normal(shape: tuple[int, ...], dtype: str, device: str, seed: int, factor: float = 1.0) -> Any:
    """Normal numbers times `factor`, rounded to `dtype` (`bfloat16`, …)."""
    import torch

    numbers = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * factor
    return numbers.to(getattr(torch, dtype)).to(device)


def qkv(device: str, dtype: str, batch: int, heads: int, queries: int, keys: int, head_dim: int, *, kv_heads: int | None = None,
        value_dim: int | None = None, factor: float = 1.0) -> tuple[Any, Any, Any]:
    """q, k, v: `[batch, heads, length, head_dim]`, contiguous. factor: of q and k."""
    own = kv_heads or heads
    return (normal((batch, heads, queries, head_dim), dtype, device, 1, factor), normal((batch, own, keys, head_dim), dtype, device, 2, factor),
            normal((batch, own, keys, value_dim or head_dim), dtype, device, 3))


def upstream(inputs: Inputs) -> Any:
    """A gradient of the output: `[batch, heads, queries, value_dim]`."""
    return normal((*inputs.q.shape[:-1], inputs.v.shape[-1]), str(inputs.q.dtype).split(".")[1], inputs.q.device.type, 4)


def triangle(queries: int, keys: int, device: str, corner: str = "top-left") -> Any:
    """Bool `[queries, keys]`, True where a query may see a key: causal, aligned at the named corner (`top-left`, `bottom-right`)."""
    import torch

    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(0 if corner == "top-left" else keys - queries)


def backends(*members: str) -> Any:
    """`sdpa_kernel` with these of `SDPBackend`."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    return sdpa_kernel([getattr(SDPBackend, member) for member in members])


def attend(q: Any, k: Any, v: Any, **options: Any) -> Any:
    """The call itself; looked up each time."""
    import torch.nn.functional as F

    return F.scaled_dot_product_attention(q, k, v, **options)


def without_cudnn(inputs: Inputs) -> Any:
    """The inputs' own call with cuDNN switched off around it."""
    with backends("FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH"):
        return attend(inputs.q, inputs.k, inputs.v, attn_mask=inputs.mask, **inputs.options)


WITHOUT_CUDNN = """\
from torch.nn.attention import SDPBackend, sdpa_kernel

with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
    out = F.scaled_dot_product_attention(q, k, v{arguments})
"""


def needs_memory(device: str, gibibytes: float) -> None:
    """Raises `NotHere` where a GPU has less free memory, and on a CPU, where it would take minutes."""
    import torch

    if device == "cpu":
        raise NotHere("it takes tensors of gigabytes, which is tried on GPUs only")
    free = torch.cuda.mem_get_info()[0] / 2**30
    if free < gibibytes:
        raise NotHere(f"it takes {gibibytes:.0f} GiB of GPU memory, and {free:.0f} GiB are free")
