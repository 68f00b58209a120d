"""Which calls a map measures, the most telling ones first: a budget that ends early leaves a coarse map and no hole in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from .call import Call, Dtype, Mask
from .presets import PRESETS

TOKENS, WIDTH = 16_384, 2_048
"""Of a batch where the number of tokens is constant; heads × head dimension."""
LENGTHS = (1024, 4096, 256, 16_384, 512, 2048, 128, 8192)
"""From the middle outwards, so that the first few span the range."""
FEW = (2048, 512, 8192)
ODD = (1000, 4095, 3000, 1023)
"""No multiples of 64, and two of them none of 8; at a batch of 4, in which 4,096 lies as well."""
SECONDS = {True: 240.0, False: 45.0}
"""What a map takes by default, on a GPU and on a CPU."""
MOST_SECONDS = 86_400.0
MOST_CACHE = 16 * 2**30
"""Bytes of k and v that a point of decoding may have."""


def points(gpu: bool) -> list[Call]:
    """Every call of the map, each once, in the order in which they are measured. A CPU gets a small one."""
    return list(dict.fromkeys(_on_a_gpu() if gpu else _on_a_cpu()))


def _square(length: int, head_dim: int, mask: Mask = "causal", batch: int | None = None, gradients: bool = False, dtype: Dtype = "bfloat16",
            value_dim: int | None = None) -> Call:
    heads = max(1, WIDTH // head_dim)
    return Call(batch or max(1, TOKENS // length), heads, heads, length, length, head_dim, value_dim or head_dim, dtype, mask, gradients=gradients)


def _on_a_gpu() -> Iterator[Call]:
    dims, masks = (128, 64), ("causal", "none", "bool")
    for length in LENGTHS:
        yield from (_square(length, dim, mask) for mask in masks for dim in dims)  # type: ignore[arg-type]
    for preset in PRESETS:
        yield from preset.calls
    for length in LENGTHS:
        yield from (_square(length, dim, mask, gradients=True) for mask in masks for dim in dims)  # type: ignore[arg-type]
    yield from _decoding()
    yield from _decoding_other_dims()
    for length in LENGTHS:
        yield from (_square(length, dim, mask, batch=1) for mask in masks for dim in dims)  # type: ignore[arg-type]
    for length in FEW:
        for gradients in (False, True):
            yield from _grouped(length, gradients)
            yield from _other_dims(length, gradients)
    yield from _odd_lengths()
    yield from _single_precision()
    for length in FEW:
        for dim in dims:
            yield from (_square(length, dim, mask, gradients=gradients) for gradients in (False, True) for mask in ("float", "window"))
            yield from (replace(_square(length, dim, gradients=gradients), layout="bshd") for gradients in (False, True))
    for length in FEW:
        yield from (_square(length, dim, dtype=dtype, gradients=gradients) for dtype in ("float16", "float32") for gradients in (False, True) for dim in dims)


def _decoding() -> Iterator[Call]:
    for keys in (4096, 32_768, 131_072):
        for batch in (1, 16, 256):
            for kv_heads in (8, 32):
                one = Call(batch, 32, kv_heads, 1, keys, 128, 128, mask="none")
                if one.bytes <= MOST_CACHE:
                    yield one
                    yield replace(one, queries=16, mask="bool")


def _decoding_other_dims() -> Iterator[Call]:
    """What holds at head dimension 128 does not at 64 and 256: on an H200 cuDNN loses at 256."""
    for head_dim, heads in ((256, 16), (64, 32)):
        for keys in (4096, 512, 32_768):
            for batch in (16, 1):
                for kv_heads in (heads, heads // 4):
                    yield Call(batch, heads, kv_heads, 1, keys, head_dim, head_dim, mask="none")
        for kv_heads in (heads, heads // 4):
            yield Call(16, heads, kv_heads, 16, 4096, head_dim, head_dim, mask="bool")


def _odd_lengths() -> Iterator[Call]:
    for length in ODD:
        for dim in (128, 64):
            yield _square(length, dim, "causal", batch=4)
            yield _square(length, dim, "none", batch=4)
            if length in ODD[:2]:
                yield _square(length, dim, batch=4, gradients=True)


def _single_precision() -> Iterator[Call]:
    """Two backends take fp32. With gradients, on an H200, math wins where heads are large, so that is looked at under every mask."""
    for dim in (256, 128, 64):
        for length in (2048, 512):
            for mask in ("causal", "none", "bool", "float"):
                yield _square(length, dim, mask, gradients=True, dtype="float32")
    yield from (_square(length, 256, dtype="float32") for length in (2048, 512))


def _grouped(length: int, gradients: bool) -> Iterable[Call]:
    return [Call(max(1, TOKENS // length), 32, 8, length, length, 128, 128, mask=mask, gradients=gradients) for mask in ("causal", "bool")]


def _other_dims(length: int, gradients: bool) -> Iterable[Call]:
    for head_dim, value_dim in ((192, 128), (256, 256), (512, 512)):
        for mask in ("causal", "bool"):
            yield _square(length, head_dim, mask, gradients=gradients, value_dim=value_dim)


def _on_a_cpu() -> Iterator[Call]:
    for length in (256, 1024, 128, 512):
        for gradients in (False, True):
            for mask in ("causal", "none", "bool"):
                yield Call(1, 4, 4, length, length, 64, 64, "bfloat16", mask, gradients=gradients)
    yield Call(1, 8, 2, 512, 512, 64, 64)
    yield Call(1, 8, 8, 1, 1024, 64, 64, mask="none")
    yield Call(1, 4, 4, 512, 512, 64, 64, "float32")
    yield Call(1, 4, 4, 512, 512, 64, 64, mask="float")
