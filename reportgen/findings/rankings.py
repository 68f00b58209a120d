"""Rankings over a run's variants: which time decides, who beats whom, who is first and who ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Sequence

from ..analysis import RunFacts, VariantFacts
from ..numbers.statistics import Estimate, compare
from ..saying.units import Seconds, extent, listed

Quantity = Literal["gpu_time", "gpu_time_cold", "wall_time", "host_time", "profiled_host_time", "first_call", "first_call_new_shape"]


def deciding(facts: RunFacts) -> tuple[Quantity, str]:
    """The time that decides which variant is faster: GPU time, or on a CPU run, which has none, wall time."""
    return ("wall_time", "wall time on the CPU") if facts.device.kind == "cpu" else ("gpu_time", "GPU time")


def time_of(variant: VariantFacts, quantity: Quantity) -> Estimate | None:
    return variant.time(quantity)


@dataclass(frozen=True)
class Standing:
    """How one variant compares with others in one quantity (smaller is better).

    slower, faster, ties: variants that it beats, that beat it, and that cannot be told from it
    """

    slower: tuple[VariantFacts, ...]
    faster: tuple[VariantFacts, ...]
    ties: tuple[VariantFacts, ...]


def standing(facts: RunFacts, name: str, against: Sequence[str], quantity: Quantity) -> Standing:
    """Compares `name` with those of `against` that have the quantity.

    Raises:
        ValueError: `name` itself has it not.
    """
    own = time_of(facts.variants[name], quantity)
    if own is None:
        raise ValueError(f"{name} has no {quantity}")
    sides: dict[str, list[VariantFacts]] = {"first": [], "second": [], "tie": []}
    for other in measured(facts, against, quantity):
        if other.id != name:
            theirs = time_of(other, quantity)
            sides[compare(own, theirs, facts.floor_of(quantity, name, other.id)).winner].append(other)  # type: ignore[arg-type]
    return Standing(tuple(sides["first"]), tuple(sides["second"]), tuple(sides["tie"]))


def measured(facts: RunFacts, names: Sequence[str], quantity: Quantity) -> tuple[VariantFacts, ...]:
    """Those of `names` that ran and have the quantity, in the order given."""
    return tuple(facts.variants[name] for name in names if facts.ok(name) and time_of(facts.variants[name], quantity) is not None)


def quickest(facts: RunFacts, names: Sequence[str], quantity: Quantity) -> VariantFacts | None:
    """The one of smallest median, or `None` where nothing was measured. A median alone decides no verdict."""
    found = measured(facts, names, quantity)
    return min(found, key=lambda variant: time_of(variant, quantity).median) if found else None  # type: ignore[union-attr]


def order(facts: RunFacts, names: Sequence[str], quantity: Quantity) -> tuple[VariantFacts, ...]:
    """By median, smallest first."""
    return tuple(sorted(measured(facts, names, quantity), key=lambda variant: time_of(variant, quantity).median))  # type: ignore[union-attr]


def said(variants: Sequence[VariantFacts], quantity: Quantity) -> str:
    """`SDPA flash 93.2 µs, SDPA cuDNN 59.1 µs and …`, medians in the order given."""
    return listed([f"{variant.title} {Seconds(time_of(variant, quantity).median)}" for variant in variants])  # type: ignore[union-attr]


def ranges(variants: Sequence[VariantFacts], quantity: Quantity) -> str:
    """`SDPA flash 2.45 to 3.96 ms and SDPA cuDNN 66.1 to 103 ms`: smallest to largest, where a median would say too much."""
    return listed([f"{variant.title} {extent(time.low, time.high)}" for variant in variants if (time := time_of(variant, quantity))])


def interval(time: Estimate | None) -> str | None:
    """`59 µs (58.7 to 59.3 µs)`: the median of the processes with the smallest and the largest."""
    return None if time is None else f"{Seconds(time.median)} ({Seconds(time.low)} to {Seconds(time.high)})"

