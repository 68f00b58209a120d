"""First calls: when they are dear enough to be worth warming up for."""

from __future__ import annotations

from ..numbers.statistics import Estimate
from .model import VariantFacts

DEAR = 10
"""From so many times the steady state on, in every process, a first call is worth a sentence of advice."""


def dear(variant: VariantFacts, quantity: str) -> bool:
    """Whether a first call (`first_call`, `first_call_new_shape`) takes that long; `False` where either time was not taken."""
    first, steady = variant.time(quantity), variant.host_time
    return bool(first and steady and first.low >= DEAR * steady.high)


FAR = 2
"""A first call that takes more than so many times the longest of the other processes stands apart from them."""


def elsewhere(variant: VariantFacts) -> Estimate | None:
    """The first calls but for that in the run's first process, where that one stands apart above them all; else `None`.

    What the machine had not read yet is read by that process, whichever variant begins in it.
    """
    first = variant.first_call
    if first is None or len(first.samples) < 2:
        return None
    opening, rest = first.samples[0], Estimate(first.samples[1:])
    return rest if opening > FAR * rest.high else None


def began_the_run(variant: VariantFacts) -> bool | None:
    """Whether the variant was the first of the run's first process; `None` where the orders were not recorded."""
    alone, first = variant.first_call_alone, variant.first_call
    if alone is None or first is None:
        return None
    return alone.samples[0] == first.samples[0]
