"""A causal mask built anew in every forward, which `is_causal=True` does on the math backend."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from .shapes import Shown, ShownOp, under

A = TypeVar("A", bound=Shown)

Step = tuple[str, ...]
STEPS: tuple[Step, ...] = (("aten::ones", "aten::fill_"), ("aten::tril",), ("aten::scalar_tensor", "aten::fill_"), ("aten::where",))
"""The steps of building, each as the ops along its path: a square of ones, its lower triangle, the fill values, and 0 or −∞ for each pair."""

_OTHERS_USE = "aten::_safe_softmax"
"""It fills and selects too, but to protect rows, not to build the mask."""


def _step(path: Sequence[str]) -> Step | None:
    if _OTHERS_USE in path:
        return None
    return next((ops for ops in STEPS if under(path, *ops)), None)


def steps_of(ops: Iterable[ShownOp]) -> frozenset[Step]:
    """Which of the building steps the ops of one forward contain."""
    return frozenset(step for step in (_step(op.path) for op in ops) if step)


def activities_of(activities: Iterable[A]) -> tuple[A, ...]:
    """The GPU activities of one forward that build the mask; needs `tril`, without which nothing causal is built."""
    found = tuple(activity for activity in activities if _step(activity.op_path))
    return found if any("aten::tril" in activity.op_path for activity in found) else ()
