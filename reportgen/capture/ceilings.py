"""What this device reaches with plain large work, in the same run as the variants.

A copy that cannot live in any cache, and a square matmul on random data: rates that a real program
can see, unlike a datasheet's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from ..run.workload import Workload
from . import operands

CACHES_COPIED = 20
"""A copy of this many times the last-level cache."""
LARGEST_COPY_SHARE = 0.2
"""Of the free memory, for each of the two buffers."""
CPU_COPY_BYTES, CPU_RANDOM_BYTES = 128 * 2**20, 2**20
"""On a CPU one buffer's bytes at most: there a number to look at, not one that decides a claim. So many random bytes, again and again."""
REPETITIONS, CPU_REPETITIONS = 7, 3
GPU_MATMUL, CPU_MATMUL = 8192, 1024
SMALLEST = 4
"""A size is judged by a matmul of this part of the largest one."""
MATMUL_SECONDS, CPU_MATMUL_SECONDS = 0.03, 0.1
"""A single matmul may take this long; slower devices get a smaller square, and some CPUs are slow in 16 bits."""
FLUSHED = 512 * 2**20


def measure(device: str, workload: Workload, cache_bytes: int | None = None) -> dict[str, Any]:
    """The fields of `run.Ceilings`.

    cache_bytes: last-level cache; asked from the device where not given.
    """
    import torch

    copied, copy_rate = _copy(device, cache_bytes or _cache(device))
    dtype = getattr(torch, workload.dtype)
    size = _matmul_size(device, dtype)
    rate = _matmul(device, dtype, size)
    with _exact_fp32():
        single_size = _matmul_size(device, torch.float32)
        single = _matmul(device, torch.float32, single_size)
    return {
        "copy_bytes_per_s": copy_rate,
        "matmul_flop_per_s": rate,
        "fp32_flop_per_s": single,
        "copy_bytes": copied,
        "matmul_size": size,
    }


def _cache(device: str) -> int | None:
    from .environment import last_level_cache

    return last_level_cache(device)


def copy_size(cache_bytes: int | None, free_bytes: int) -> int:
    """Bytes of one buffer, so that reading and writing it is at least 20 caches, if memory allows.

    >>> copy_size(60 * 2**20, 140 * 2**30) // 2**20
    1200
    """
    wanted = CACHES_COPIED * cache_bytes if cache_bytes else FLUSHED
    return int(min(max(wanted, FLUSHED), LARGEST_COPY_SHARE * free_bytes)) // 4096 * 4096


def _copy(device: str, cache_bytes: int | None) -> tuple[int, float]:
    """`(bytes of the source, bytes read + written per second)`."""
    import torch

    gpu = operands.is_gpu(device)
    size = copy_size(cache_bytes, torch.cuda.mem_get_info(device)[0]) if gpu else CPU_COPY_BYTES
    source = torch.randint(-128, 127, (size if gpu else CPU_RANDOM_BYTES,), dtype=torch.int8, device=device)
    source = source if gpu else source.repeat(size // CPU_RANDOM_BYTES)
    target = torch.empty_like(source)
    return size, 2 * size / _seconds(device, lambda: target.copy_(source))


def _matmul_size(device: str, dtype: Any) -> int:
    """The largest power of two whose matmul stays within the seconds that one may take, judged by a small one."""
    size, seconds = (GPU_MATMUL, MATMUL_SECONDS) if operands.is_gpu(device) else (CPU_MATMUL, CPU_MATMUL_SECONDS)
    small = size // SMALLEST
    rate = _matmul(device, dtype, small, repetitions=3)
    while size > small and 2 * size**3 / rate > seconds:
        size //= 2
    return size


def _matmul(device: str, dtype: Any, size: int, repetitions: int = REPETITIONS) -> float:
    """FLOP per second of a square matmul on normal random data (zeros would draw less power and clock higher)."""
    import torch

    left, right = (torch.randn(size, size, device=device, dtype=dtype) for _ in range(2))
    out = torch.empty_like(left)
    return 2 * size**3 / _seconds(device, lambda: torch.mm(left, right, out=out), repetitions)


def _seconds(device: str, work: Callable[[], Any], repetitions: int = REPETITIONS) -> float:
    """Median seconds of one `work()`, warm: by events on a GPU, by the clock on a CPU."""
    import torch

    with torch.no_grad():
        for _ in range(2):
            work()
        if not operands.is_gpu(device):
            return median(_by_clock(work) for _ in range(min(repetitions, CPU_REPETITIONS)))
        events = [torch.cuda.Event(enable_timing=True) for _ in range(repetitions + 1)]
        torch.cuda.synchronize(device)
        work()
        events[0].record()
        for event in events[1:]:
            work()
            event.record()
        torch.cuda.synchronize(device)
    return median(first.elapsed_time(second) for first, second in zip(events, events[1:])) / 1e3


def _by_clock(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextmanager
def _exact_fp32() -> Iterator[None]:
    """fp32 matmuls on the fp32 units while inside; the former setting afterwards."""
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
