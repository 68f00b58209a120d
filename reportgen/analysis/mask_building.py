"""How math comes to its causal mask in one forward: which steps build it, what applies it, what both cost."""

from __future__ import annotations

from dataclasses import dataclass

from .model import ActivityFacts, VariantFacts
from .patterns import math_fallback, rebuilt_mask
from .patterns.rebuilt_mask import STEPS, Step

SCALAR = "aten::scalar_tensor"


@dataclass(frozen=True)
class MaskBuilding:
    """Seconds where it says time.

    seen, absent: the building steps that the forward's ops contain and lack, in the order of `STEPS`
    unfilled: an op that wrote its value itself, so that no `aten::fill_` stands below it; its step counts as seen.
        On a CPU `scalar_tensor` writes one element itself; the step is the scalar, however it is written
    built, applied: the activities that build the mask, and those that add it to the scores
    cpu_time: of the ops that build it, under the profiler; whole_cpu_time: of math's op around them, `None` where there is none
    """

    seen: tuple[Step, ...]
    absent: tuple[Step, ...]
    unfilled: str | None
    built: tuple[ActivityFacts, ...]
    applied: tuple[ActivityFacts, ...]
    cpu_time: float
    whole_cpu_time: float | None


def mask_building(math: VariantFacts) -> MaskBuilding:
    """Reads the ops and activities of one math forward."""
    found = rebuilt_mask.steps_of(math.ops)
    scalar = next(step for step in STEPS if step[0] == SCALAR)
    unfilled = SCALAR if scalar not in found and any(op.path[-2:] == (math_fallback.OP, SCALAR) for op in math.ops) else None
    found |= {scalar} if unfilled else set()
    roots = {step[0] for step in STEPS}
    return MaskBuilding(
        seen=tuple(step for step in STEPS if step in found),
        absent=tuple(step for step in STEPS if step not in found),
        unfilled=unfilled,
        built=rebuilt_mask.activities_of(math.activities),
        applied=tuple(a for a in math.activities if a.role == "add"),
        cpu_time=sum(op.duration for op in math.ops if op.name in roots and op.path[-2:-1] == (math_fallback.OP,)),
        whole_cpu_time=next((op.duration for op in math.ops if op.name == math_fallback.OP), None))
