"""What a change of one's code saves here: a time per forward, and the share of what it is taken from.

Nothing is called a saving that the ranking's rule does not tell apart.
"""

from __future__ import annotations

from ..saying.units import Saving
from .model import RunFacts
from .ranking import deciding


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
    return Saving(first.median - second.median, 1 - found.ratio.median, facts.variants[before].title)
