"""First calls: when they are dear enough to be worth warming up for."""

from __future__ import annotations

from .model import VariantFacts

DEAR = 10
"""From so many times the steady state on, in every process, a first call is worth a sentence of advice."""


def dear(variant: VariantFacts, quantity: str) -> bool:
    """Whether a first call (`first_call`, `first_call_new_shape`) takes that long; `False` where either time was not taken."""
    first, steady = variant.time(quantity), variant.host_time
    return bool(first and steady and first.low >= DEAR * steady.high)
