"""A causal mask built anew in every forward, which `is_causal=True` does on the math backend."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Iterable, Sequence, TypeVar

from ...trace import Activity, Forward
from .shapes import Shown, ShownOp, under

A = TypeVar("A", bound=Shown)

STEPS = {
    "aten::ones → aten::fill_": ("aten::ones", "aten::fill_"),
    "aten::tril": ("aten::tril",),
    "aten::scalar_tensor → aten::fill_": ("aten::scalar_tensor", "aten::fill_"),
    "aten::where": ("aten::where",),
}
"""The steps of building: a square of ones, its lower triangle, the fill values, and 0 or −∞ for each pair."""

_OTHERS_USE = "aten::_safe_softmax"
"""It fills and selects too, but to protect rows, not to build the mask."""


def _step(path: Sequence[str]) -> str | None:
    if _OTHERS_USE in path:
        return None
    return next((name for name, ops in STEPS.items() if under(path, *ops)), None)


def steps_of(ops: Iterable[ShownOp]) -> frozenset[str]:
    """Which of the building steps (keys of `STEPS`) the ops of one forward contain."""
    return frozenset(step for step in (_step(op.path) for op in ops) if step)


def activities_of(activities: Iterable[A]) -> tuple[A, ...]:
    """The GPU activities of one forward that build the mask; needs `tril`, without which nothing causal is built."""
    found = tuple(activity for activity in activities if _step(activity.op_path))
    return found if any("aten::tril" in activity.op_path for activity in found) else ()


def gpu_time(activities: Iterable[Shown]) -> float:
    """Seconds per forward that building the mask takes on the GPU."""
    return sum(activity.duration for activity in activities_of(activities))


@dataclass(frozen=True)
class RebuiltMask:
    """forwards: how many were looked at; rebuilt_in: how many contain every step
    activities: of the first forward; gpu_time: seconds per forward, the median over forwards
    """

    forwards: int
    rebuilt_in: int
    activities: tuple[Activity, ...]
    gpu_time: float

    @property
    def every_time(self) -> bool:
        return self.forwards > 0 and self.rebuilt_in == self.forwards


def find(forwards: Sequence[Forward]) -> RebuiltMask | None:
    """The mask's building in a trace's forwards; `None` where no forward builds one."""
    rebuilt = [forward for forward in forwards if steps_of(forward.ops) == STEPS.keys()]
    if not rebuilt:
        return None
    return RebuiltMask(len(forwards), len(rebuilt), activities_of(rebuilt[0].activities), median(gpu_time(f.activities) for f in rebuilt))
