"""A copy that nobody wrote: out-of-place `masked_fill` clones its input before it fills."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from .shapes import Shown, under

A = TypeVar("A", bound=Shown)
PATH = ("aten::masked_fill", "aten::clone", "aten::copy_")
MASK_OPS = ("aten::masked_fill", "aten::masked_fill_")
"""The ops of a masking step, out of place and in place."""


def find(activities: Iterable[A]) -> tuple[A, ...]:
    """The activities under `masked_fill` → `clone` → `copy_`: a memcpy on CUDA, perhaps a kernel elsewhere."""
    return tuple(activity for activity in activities if under(activity.op_path, *PATH))
