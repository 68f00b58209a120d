"""Requested bytes beside counted ones: what sentences say where a run has hardware counters."""

from __future__ import annotations

from ..analysis import ActivityFacts, VariantFacts
from ..analysis.bounds import AGREEMENT, apart, asked_for, requested, weighty
from ..analysis.traffic import activity_dram_bytes, forward_traffic
from ..questions.limit_words import by_role
from ..questions.model import Because
from ..saying.units import Bytes, Percent

LIMIT = Percent(100 * AGREEMENT)

COUNTED = (
    Because("inplace_dram", "Counted by the hardware, {inplace_dram} cross DRAM in naive in place, where its steps ask for {inplace_asked}."),
    Because("math_dram", "Counted by the hardware, {math_dram} cross DRAM in SDPA math, where its steps ask for {math_asked}."),
    Because("apart_below", "Among the steps that take {rules[weighty]} of the time or more, fewer bytes were counted than asked for, by more than {rules[apart]}, in {apart_below}: "
                           "the cache may still hold what was written a moment before, and what a step writes may leave the cache after its end."),
    Because("apart_above", "Among the steps that take {rules[weighty]} of the time or more, more bytes were counted than asked for, by more than {rules[apart]}, in {apart_above}: "
                           "a step may read something more than once, or push lines out that an earlier one had left in the cache."),
    Because("confirmed", "In every step that takes {rules[weighty]} of the time or more, counted and requested bytes agree within {confirmed}."),
)


def counted_args(inplace: VariantFacts, math: VariantFacts) -> dict[str, object]:
    """Arguments of `COUNTED`; all of them `None` where nothing was counted."""
    args: dict[str, object] = {}
    found: list[tuple[str, ActivityFacts]] = []
    for prefix, variant in (("inplace", inplace), ("math", math)):
        traffic = forward_traffic(variant)
        asked = asked_for(variant)
        args[f"{prefix}_dram"] = None if traffic is None else Bytes(traffic.total)
        args[f"{prefix}_asked"] = "an unknown number" if asked is None else Bytes(asked)
        found += [(variant.title, activity) for activity in variant.activities if traffic is not None and weighty(activity, variant)]
    below = [(title, a) for title, a in found if apart(a) and (activity_dram_bytes(a) or 0) < (requested(a) or 0)]
    above = [(title, a) for title, a in found if apart(a) and (title, a) not in below]
    args |= {"apart_below": by_role(below), "apart_above": by_role(above), "confirmed": LIMIT if found and not below and not above else None}
    return args
