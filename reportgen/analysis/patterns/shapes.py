"""What the diagnoses look at: the fields that a trace's activities and a run's facts share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Shown(Protocol):
    """An activity, as `trace.Activity` or `facts.ActivityFacts` shows it; seconds and bytes."""

    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def op_path(self) -> tuple[str, ...]: ...
    @property
    def launch_api(self) -> str: ...
    @property
    def duration(self) -> float: ...
    @property
    def bytes(self) -> int | None: ...
    @property
    def grid(self) -> tuple[int, int, int] | None: ...
    @property
    def block(self) -> tuple[int, int, int] | None: ...
    @property
    def registers(self) -> int | None: ...
    @property
    def shared_memory(self) -> int | None: ...
    @property
    def profiler_occupancy(self) -> float | None: ...


class ShownOp(Protocol):
    """An op, as `trace.Op` or `facts.OpFacts` shows it."""

    @property
    def name(self) -> str: ...
    @property
    def path(self) -> tuple[str, ...]: ...


def under(path: Sequence[str], *names: str) -> bool:
    """True if `names` occur along `path` in this order, with or without others between.

    Whole names are compared: a Triton kernel's op may contain another op's name.

    >>> under(("aten::masked_fill", "aten::clone", "aten::copy_"), "aten::masked_fill", "aten::copy_")
    True
    """
    rest = iter(path)
    return all(name in rest for name in names)
