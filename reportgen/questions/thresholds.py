"""The constants that rules decide by, in words: typed where they decide, said from here.

Sentences of cases ask for them as `{rules[enough]}`, templates as `{{ rules.enough }}`.
"""

from __future__ import annotations

from ..analysis import bounds, round_trips, traffic
from ..hardware import arch_limits
from ..numbers import ranks, statistics
from ..saying.units import Bytes, Count, Percent, multiple, number_word


def rules() -> dict[str, object]:
    """Name → what a sentence says.

    enough: share of a ceiling from which an activity runs near it; half: share of its GPU time
    that a forward's bytes must account for; slack: share of it that a role's bytes must leave open; effect: the least relative difference that counts;
    magnitude: how far a ratio may lie from the article's; alpha: level of the test;
    processes, chance: of a whole run, and how rarely all of them agree by chance; apart: how far counted and requested
    bytes may lie apart; spill: share of the score bytes that may cross DRAM beside the operands; beyond_cache, caches_full:
    multiples of the last-level cache; weighty: share of its variant's time from which a step is spoken of;
    default_shared, default_shared_exact: bytes of a block's shared memory without opting in to more
    """
    return {
        "enough": Percent(100 * bounds.ENOUGH), "half": Percent(100 * round_trips.HALF), "slack": Percent(100 * round_trips.SLACK), "effect": Percent(100 * statistics.MINIMUM_EFFECT), "magnitude": Percent(100 * statistics.MAGNITUDE_TOLERANCE),
        "alpha": f"{ranks.ALPHA:g}",
        "processes": number_word(statistics.PROCESSES), "chance": Count(2**statistics.PROCESSES),
        "apart": Percent(100 * bounds.AGREEMENT), "spill": Percent(100 * traffic.SPILL),
        "beyond_cache": multiple(traffic.OPERANDS_BEYOND_CACHE), "caches_full": multiple(bounds.CACHES_FULL), "weighty": Percent(100 * bounds.WORTH_NAMING),
        "default_shared": Bytes(arch_limits.DEFAULT_SHARED_MEMORY), "default_shared_exact": Count(arch_limits.DEFAULT_SHARED_MEMORY),
    }
