"""Where the extra GPU time of one variant over another goes, in groups that both traces are sorted into by one rule.

An activity belongs to the first group that fits: what builds a mask, what protects rows that see nothing, the cast whose result is dropped,
then its role. What a matrix library launches beside its product (a memset, a reduction) belongs to the product. The groups' differences
add up to the difference of the two traces; nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .bounds import requested
from .model import ActivityFacts, RunFacts, VariantFacts
from .patterns import math_fallback, rebuilt_mask
from .patterns.hidden_copy import MASK_OPS
from .softmax import SAFE_OP, SOFTMAX_OP

PRODUCTS = ("aten::bmm", "aten::mm", "aten::addmm", "aten::baddbmm")
"""Ops of a matrix library: all that is launched below them is the product."""
WIDER = 1.5
"""A step that asks for at least this many times the bytes of the other variant's walks over wider elements."""
PAID = 0.5
"""Wider elements explain a step's time if it grew by at least this part of what its bytes grew by."""


class Group(Enum):
    """What a step is for. The order is that in which a forward takes them."""

    CASTS = "casts of the inputs and the output"
    MASK_BUILT = "building the mask"
    SCALE = "scaling"
    MATMULS = "the two matmuls"
    MASK_APPLIED = "applying the mask"
    SOFTMAX = "softmax"
    SAFE_SOFTMAX = "the safe softmax's checks"
    DROPPED_CAST = "casting attention weights that are then dropped"
    FUSED = "fused attention"
    OTHER = "other steps"


_BY_ROLE = {"matmul": Group.MATMULS, "scale": Group.SCALE, "softmax": Group.SOFTMAX, "cast": Group.CASTS, "fused attention": Group.FUSED,
            "mask": Group.MASK_APPLIED, "add": Group.MASK_APPLIED}


@dataclass(frozen=True)
class Step:
    """One group of both variants. first, second: seconds per forward in the variant that is compared with, and in the other.

    first_bytes, second_bytes: what its activities ask for together, `None` where one of them is not modelled or there is none
    """

    group: Group
    first: float
    second: float
    first_bytes: float | None = None
    second_bytes: float | None = None

    @property
    def extra(self) -> float:
        """Seconds that the second variant takes more; negative where it takes less."""
        return self.second - self.first

    @property
    def wider(self) -> bool:
        """Whether both variants take this step, and the second asks for far more bytes in it."""
        return bool(self.first and self.second and self.first_bytes and self.second_bytes and self.second_bytes >= WIDER * self.first_bytes)

    @property
    def paid(self) -> bool:
        """Whether a wider step's time grew with its bytes (see `PAID`)."""
        return self.wider and self.second / self.first - 1 >= PAID * ((self.second_bytes or 0.0) / (self.first_bytes or 1.0) - 1)


@dataclass(frozen=True)
class Waterfall:
    """From the first variant's GPU time to the second's, as their traces have them (seconds per forward, sums of medians).

    steps: the groups that either of them has, the largest extra time first
    """

    first: VariantFacts
    second: VariantFacts
    steps: tuple[Step, ...]

    @property
    def start(self) -> float:
        return sum(step.first for step in self.steps)

    @property
    def end(self) -> float:
        return sum(step.second for step in self.steps)

    @property
    def gap(self) -> float:
        """Seconds between the two traces."""
        return self.end - self.start

    def share(self, step: Step) -> float | None:
        """A step's part of the gap (all parts add up to 1); `None` where the second variant takes no longer."""
        return step.extra / self.gap if self.gap > 0 else None


def waterfall(facts: RunFacts, first: str, second: str) -> Waterfall | None:
    """The way from one variant's time to another's; `None` unless both are right and their GPU activities are known."""
    if not facts.ok(first, second):
        return None
    one, other = facts.variants[first], facts.variants[second]
    if not (one.activities and other.activities):
        return None
    held, had = _grouped(one), _grouped(other)
    steps = [Step(group, _seconds(held[group]), _seconds(had[group]), _bytes(held[group]), _bytes(had[group])) for group in Group if held[group] or had[group]]
    return Waterfall(one, other, tuple(sorted(steps, key=lambda step: -step.extra)))


def _grouped(variant: VariantFacts) -> dict[Group, list[ActivityFacts]]:
    built = {id(a) for a in rebuilt_mask.activities_of(variant.activities)}
    fallback = math_fallback.find(variant.activities)
    dropped = fallback.wasted_cast if fallback else None
    out: dict[Group, list[ActivityFacts]] = {group: [] for group in Group}
    for activity in variant.activities:
        out[Group.MASK_BUILT if id(activity) in built else Group.DROPPED_CAST if activity is dropped else _group(activity)].append(activity)
    return out


def _group(activity: ActivityFacts) -> Group:
    path = activity.op_path
    if any(op in PRODUCTS for op in path):
        return Group.MATMULS
    if SAFE_OP in path and SOFTMAX_OP not in path:
        return Group.SAFE_SOFTMAX
    if any(op in MASK_OPS for op in path):
        return Group.MASK_APPLIED
    return _BY_ROLE.get(activity.role, Group.OTHER)


def _seconds(activities: list[ActivityFacts]) -> float:
    return sum(activity.duration for activity in activities)


def _bytes(activities: list[ActivityFacts]) -> float | None:
    sizes = [requested(activity) for activity in activities]
    return None if not sizes or None in sizes else float(sum(size or 0.0 for size in sizes))
