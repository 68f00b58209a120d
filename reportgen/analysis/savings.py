"""What a change of one's code saves here: a time per forward, and the share of what it is taken from.

Nothing is called a saving that the ranking's rule does not tell apart.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..saying.units import Saving, difference, extent
from .first_calls import dear
from .model import RunFacts
from .ranking import deciding, faster

DIGITS = 3
"""A difference that takes more to add up as printed is rounded on its own."""


def saving(facts: RunFacts, before: str, after: str, quantity: str | None = None) -> Saving | None:
    """What `after` saves over `before` in the deciding time, or in the quantity that is named.

    The share is 1 − the median of the per-process ratios. `None` where one of the two is missing or not right, or where
    the two cannot be told apart beyond noise.
    """
    name = quantity or deciding(facts).name
    if not facts.ok(before, after):
        return None
    found = facts.compare(name, after, before)
    first, second = facts.variants[before].time(name), facts.variants[after].time(name)
    if found is None or found.winner != "first" or first is None or second is None or facts.variants[before].timer != facts.variants[after].timer:
        return None
    said = difference(first.median, second.median)[2]
    short = sum(letter.isdigit() for letter in said) <= DIGITS
    return Saving(first.median - second.median, 1 - found.ratio.median, facts.variants[before].title, said=said if short else "")


def quickest_saves(facts: RunFacts, before: str) -> Saving | None:
    """What the quickest fused backend saves over `before`; `None` where none is faster."""
    found = faster(facts, before)
    return saving(facts, before, found[0]) if found else None


def warm_up_saves(facts: RunFacts, names: Iterable[str], quantity: str, per: str) -> Saving | None:
    """What a request no longer waits for where the dearest of these first calls was made before it: the first call without the host time that stays.

    quantity: `first_call` or `first_call_new_shape`. `None` where none of them is dear.
    """
    found = [variant for variant in map(facts.variants.__getitem__, names) if dear(variant, quantity)]
    times = [(first, steady.median, variant.title) for variant in found if (first := variant.time(quantity)) and (steady := variant.host_time)]
    if not times:
        return None
    first, steady_time, title = max(times, key=lambda one: one[0].median)
    return Saving(first.low - steady_time, None, title, per=per, said=extent(first.low - steady_time, first.high - steady_time))
