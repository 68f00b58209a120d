"""Timings of one variant on both sides, each with its interval and whether it counts."""

from __future__ import annotations

from ...analysis import VariantFacts
from ...analysis.pace import HOST_BOUND
from ...numbers import quantities, ranks
from ...numbers.statistics import MINIMUM_EFFECT, changed
from ...run.noise import Noise
from .model import TimingChange


def timings(old: VariantFacts, new: VariantFacts, floors: tuple[Noise | None, ...]) -> tuple[TimingChange, ...]:
    """Every quantity that both sides measured, in the order of the registry."""
    found = []
    for quantity in quantities.recorded():
        before, after = old.time(quantity), new.time(quantity)
        if before is None or after is None or before.median <= 0:
            continue
        floor = max((noise.floor(quantity) for noise in floors if noise), default=0.0)
        decides = quantities.may_replace(quantity) and not (quantity == "wall_time" and (host_bound(old) or host_bound(new)))
        found.append(TimingChange(old.id, quantity, before, after, ranks.interval(before, after), max(MINIMUM_EFFECT, floor),
                                  changed(before, after, floor), decides))
    return tuple(found)


def host_bound(variant: VariantFacts) -> bool:
    """Whether the wall time on a GPU is the host's own time; never on a CPU, where it is all there is."""
    if variant.gpu_time is None or variant.wall_time is None or variant.host_time is None:
        return False
    return variant.host_time.median >= HOST_BOUND * variant.wall_time.median
