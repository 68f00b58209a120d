"""A copy that nobody wrote: out-of-place `masked_fill` clones its input before it fills."""

from __future__ import annotations

from typing import Iterable, TypeVar

from .shapes import Shown, ShownOp, under

A = TypeVar("A", bound=Shown)
PATH = ("aten::masked_fill", "aten::clone", "aten::copy_")
_MASK_OPS = ("aten::masked_fill", "aten::masked_fill_")


def find(activities: Iterable[A]) -> tuple[A, ...]:
    """The activities under `masked_fill` → `clone` → `copy_`: a memcpy on CUDA, perhaps a kernel elsewhere."""
    return tuple(activity for activity in activities if under(activity.op_path, *PATH))


def mask_ops(ops: Iterable[ShownOp]) -> int:
    """How many ops the masking step dispatches, itself included: those at or under the outermost masking op."""
    return sum(any(name in _MASK_OPS for name in op.path) for op in ops)
