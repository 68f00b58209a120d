"""The roofline: work over bytes against work over time, for whole forwards and for their matmuls, under the ceilings of the same run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..hardware.kernel_names import TensorCores
from .bounds import requested
from .kernels import matmuls, readable, tensor_cores, uses_tf32
from .model import ActivityFacts, RunFacts, VariantFacts
from .patterns.roles import MULTIPLIES
from .traffic import activity_traffic, activity_work, forward_traffic


@dataclass(frozen=True)
class Point:
    """A whole forward of a variant, or the matmuls of one.

    flop, bytes: of it; seconds: GPU time of it
    tensor_cores: whether its matrix products run on them, where all run on one unit; else `unknown`
    roof: FLOP/s that its bytes and its unit allow
    """

    variant: VariantFacts
    part: Literal["forward", "matmuls"]
    flop: float
    bytes: float
    seconds: float
    tensor_cores: TensorCores
    roof: float

    @property
    def intensity(self) -> float:
        """FLOP per byte."""
        return self.flop / self.bytes

    @property
    def rate(self) -> float:
        """FLOP per second."""
        return self.flop / self.seconds

    @property
    def share(self) -> float:
        """Of its roof; 1 reaches it."""
        return self.rate / self.roof


def is_counted(facts: RunFacts) -> bool:
    """Counted bytes are used where there are any; points never mix counted and modelled ones."""
    return any(forward_traffic(variant) for variant in readable(facts))


def forwards(facts: RunFacts) -> list[Point]:
    """Every whole forward whose bytes, work, time and unit are known; nothing without ceilings."""
    found = (_point(facts, variant, "forward", variant.activities, variant.gpu_time.median if variant.gpu_time else None) for variant in readable(facts))
    return [point for point in found if point]


def products(facts: RunFacts) -> list[Point]:
    """The matmuls of the variants that have other steps beside them."""
    found = (_point(facts, variant, "matmuls", own, sum(a.duration for a in own)) for variant in readable(facts) if (own := matmuls(variant)))
    return [point for point in found if point]


def ridge(facts: RunFacts, point: Point) -> float | None:
    """FLOP per byte from which arithmetic, no longer memory, sets a point's roof; `None` where its unit was not measured in its type."""
    ceiling = _ceiling(facts, point)
    return ceiling / facts.ceilings.copy_bytes_per_s if ceiling and facts.ceilings and facts.ceilings.copy_bytes_per_s else None


def arithmetic_share(facts: RunFacts, variant: VariantFacts) -> float | None:
    """Share of a forward's GPU time that its arithmetic alone would take at the matmul ceiling of its unit; `None` where work or ceiling is not known."""
    point = next((one for one in forwards(facts) if one.variant is variant), None)
    ceiling = _ceiling(facts, point) if point else None
    return point.rate / ceiling if point and ceiling else None


def _ceiling(facts: RunFacts, point: Point) -> float | None:
    if facts.ceilings is None or uses_tf32(point.variant):
        return None
    return {"yes": facts.ceilings.matmul_flop_per_s, "no": facts.ceilings.fp32_flop_per_s, "unknown": None}[point.tensor_cores]


def _point(facts: RunFacts, variant: VariantFacts, part: Literal["forward", "matmuls"], activities: Sequence[ActivityFacts], seconds: float | None) -> Point | None:
    counted, ceilings = is_counted(facts), facts.ceilings
    moved = [_moved(activity, counted) for activity in activities]
    work = [_flop(activity, counted) for activity in activities]
    if not ceilings or not ceilings.copy_bytes_per_s or None in moved or None in work or not seconds:
        return None
    flop, size, unit = sum(w for w in work if w), sum(m for m in moved if m), _unit(activities)
    ceiling = {"yes": ceilings.matmul_flop_per_s, "no": ceilings.fp32_flop_per_s, "unknown": None}[unit]
    if not flop or not size or not ceiling:
        return None
    return Point(variant, part, flop, size, seconds, unit, min(ceilings.copy_bytes_per_s * flop / size, ceiling))


def _moved(activity: ActivityFacts, counted: bool) -> float | None:
    traffic = activity_traffic(activity)
    return requested(activity) if not counted else traffic.total if traffic else None


def _flop(activity: ActivityFacts, counted: bool) -> float | None:
    if counted:
        work = activity_work(activity)
        return work.flop if work else None
    return activity.flop if activity.role in MULTIPLIES else 0.0


def _unit(activities: Sequence[ActivityFacts]) -> TensorCores:
    units = {tensor_cores(a) for a in activities if a.role in MULTIPLIES}
    return units.pop() if len(units) == 1 else "unknown"
