"""Math's casts: of its inputs up to FP32 before it computes, back down after, and the one whose result nobody uses."""

from __future__ import annotations

from dataclasses import dataclass

from .model import ActivityFacts, VariantFacts
from .patterns import math_fallback


@dataclass(frozen=True)
class Casts:
    """The casts that math launches: before its first matmul, after it, and the one of those whose result is dropped."""

    up: tuple[ActivityFacts, ...] = ()
    down: tuple[ActivityFacts, ...] = ()
    wasted: ActivityFacts | None = None


def input_casts(variant: VariantFacts) -> int:
    """Casts that math itself dispatches before its first matmul (one each for q, k and v).

    Casts deeper down are those of scalars, inside `mul` for example, and no casts of the inputs.
    """
    count = 0
    for op in variant.ops:
        if op.name in ("aten::bmm", "aten::baddbmm"):
            break
        count += op.path[-3:] == (math_fallback.OP, "aten::to", "aten::_to_copy")
    return count


def casts(math: VariantFacts) -> Casts:
    """The casts of one math forward; none where the trace shows no matmul or another backend."""
    found = math_fallback.find(math.activities)
    first = next((place for place, a in enumerate(math.activities) if a.role == "matmul"), None)
    if found is None or first is None:
        return Casts()
    before = {id(a) for a in math.activities[:first]}
    return Casts(tuple(a for a in found.casts if id(a) in before), tuple(a for a in found.casts if id(a) not in before), found.wasted_cast)
