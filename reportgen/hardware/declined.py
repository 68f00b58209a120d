"""Which of SDPA's backends decline a call, by torch's own checks: `sdpa_backends.toml` as far as a call's arguments decide it.

A rule is here only if every torch since 2.5 has it, or where the table says which. What an argument does not prove is not said: a call that nothing here
rules out may still be declined (by the device, the versions, a switch).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .attention_ops import Backend

HALVES = ("float16", "bfloat16")
FUSED = (Backend.CUDNN, Backend.FLASH, Backend.EFFICIENT)
LARGEST_HEAD = 256


@dataclass(frozen=True)
class Given:
    """What of a call the checks look at; `None` where it is not known.

    query, key, value: sizes; type: of the three, `float32`, …; last_strides: of the three and of the mask, in elements
    mask: its sizes, `()` where none is given; mask_type; mask_learns: it wants a gradient
    """

    query: tuple[int, ...]
    key: tuple[int, ...]
    value: tuple[int, ...]
    type: str | None = None
    last_strides: tuple[int, ...] | None = None
    mask: tuple[int, ...] | None = None
    mask_type: str | None = None
    mask_learns: bool = False
    causal: bool | None = None


@dataclass(frozen=True)
class Declined:
    """backend: that declines; asks: the row of `sdpa_backends.toml` that it fails"""

    backend: Backend
    asks: str


def declined(given: Given) -> list[Declined]:
    """Every backend and row that the arguments prove.

    >>> row = declined(Given((1, 8, 64, 80), (1, 8, 64, 80), (1, 8, 64, 80), "bfloat16", mask=(64, 64), mask_type="bool"))
    >>> [(one.backend.value, one.asks) for one in row]
    [('flash', '`attn_mask`')]
    """
    if not all(len(sizes) >= 2 for sizes in (given.query, given.key, given.value)):
        return []
    return [*_dimensions(given), *_strides(given), *_types(given), *_heads(given), *_masks(given), *_grouped(given), *_lengths(given)]


def _dimensions(given: Given) -> Iterator[Declined]:
    if any(len(sizes) != 4 for sizes in (given.query, given.key, given.value)):
        yield from (Declined(backend, "Dimensions of q, k and v") for backend in FUSED)


def _strides(given: Given) -> Iterator[Declined]:
    if given.last_strides and any(stride != 1 for stride in given.last_strides) and given.query[-1] > 1:
        yield from (Declined(backend, "Last stride of q, k, v and the mask") for backend in FUSED)


def _types(given: Given) -> Iterator[Declined]:
    if given.type is not None and given.type not in HALVES:
        yield Declined(Backend.CUDNN, "Element types")
        yield Declined(Backend.FLASH, "Element types")
        if given.type != "float32":
            yield Declined(Backend.EFFICIENT, "Element types")


def _heads(given: Given) -> Iterator[Declined]:
    own, of_value = given.query[-1], given.value[-1]
    largest = max(own, of_value)
    if own % 8 or of_value % 8 or largest > LARGEST_HEAD:
        yield Declined(Backend.CUDNN, "Head dimension")
    if own != of_value or largest > LARGEST_HEAD:
        yield Declined(Backend.FLASH, "Head dimension")
    multiple = {"float32": 4}.get(given.type or "", 8)
    if given.type is not None and (own % multiple or of_value % multiple):
        yield Declined(Backend.EFFICIENT, "Head dimension")


def _masks(given: Given) -> Iterator[Declined]:
    if not given.mask:
        return
    yield Declined(Backend.FLASH, "`attn_mask`")
    if given.mask_learns:
        yield Declined(Backend.CUDNN, "`attn_mask`")
    if given.type and given.mask_type not in (None, "bool", given.type):
        yield Declined(Backend.EFFICIENT, "`attn_mask`")  # "invalid dtype for bias - should match query's dtype"


def _grouped(given: Given) -> Iterator[Declined]:
    """The efficient backend takes fewer heads in k and v in the newest torch alone."""
    if len(given.query) == 4 and len(given.key) == 4 and given.query[1] != given.key[1]:
        yield Declined(Backend.EFFICIENT, "Fewer heads in k and v (`enable_gqa=True`)")


def _lengths(given: Given) -> Iterator[Declined]:
    if given.causal and given.query[-2] != given.key[-2]:
        yield Declined(Backend.FLASH, "`is_causal` with another number of keys than queries")
    if given.key[-2] == 1:
        yield Declined(Backend.CUDNN, "A single key")
