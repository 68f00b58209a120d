"""SDPA on its math backend: many kernels instead of one, usually in FP32."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from variants.backends import BACKENDS

from .roles import role
from .shapes import Shown

A = TypeVar("A", bound=Shown)
(OP,) = BACKENDS["math"].ops


@dataclass(frozen=True)
class MathFallback(Generic[A]):
    """casts: the activities under the math op that convert between types, in order
    wasted_cast: the cast of the whole attention matrix for a second result that SDPA drops
    """

    casts: tuple[A, ...]
    wasted_cast: A | None


def find(activities: Sequence[A]) -> MathFallback[A] | None:
    """The math backend's share of one forward, or `None` where it was not taken."""
    found = [activity for activity in activities if OP in activity.op_path]
    if not found:
        return None
    roles = [role(activity.kind, activity.name, activity.op_path) for activity in found]
    return MathFallback(
        casts=tuple(a for a, what in zip(found, roles) if what == "cast"),
        wasted_cast=_wasted(found, roles),
    )


def _wasted(found: Sequence[A], roles: Sequence[str]) -> A | None:
    """The cast between softmax and the second matmul, where math casts its inputs up: then that matmul takes the uncast matrix, as v was cast up too."""
    matmuls = [place for place, what in enumerate(roles) if what == "matmul"]
    if len(matmuls) != 2 or "softmax" not in roles:
        return None
    between = [place for place in range(roles.index("softmax"), matmuls[1]) if roles[place] == "cast"]
    upcast = "cast" in roles[:matmuls[0]]
    return found[between[-1]] if between and upcast else None
