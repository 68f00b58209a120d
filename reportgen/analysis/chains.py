"""Forwards in a chain, as layers of a model: does what masking in place saves in one add up over many?"""

from __future__ import annotations

from dataclasses import dataclass

from ..numbers.statistics import Comparison, Estimate, compare
from ..run import Chains
from .model import RunFacts

PAIR = ("naive", "naive_inplace")
"""The two that are chained: out of place and in place."""


@dataclass(frozen=True)
class Chained:
    """One length of the chains; seconds of the whole chain, process by process.

    winner: `first` where out of place needs less, `second` where in place does, `tie`; by the floor of the pair's time
    """

    layers: int
    naive: Estimate
    inplace: Estimate
    compared: Comparison

    @property
    def saved(self) -> float:
        """Seconds between the medians; negative where in place costs more."""
        return self.naive.median - self.inplace.median

    @property
    def per_layer(self) -> float:
        return self.saved / self.layers


def chained(facts: RunFacts) -> tuple[Chained, Chained] | None:
    """The shortest and the longest chain that was timed; `None` where the run has none."""
    probe = facts.probes.saving_accumulates
    if probe is None or not probe.timed:
        return None
    quantity = "wall_time" if probe.timer == "wall" else "gpu_time"
    single, deep = (_chained(facts, probe, quantity, layers) for layers in (min(probe.layers), max(probe.layers)))
    return single, deep


def _chained(facts: RunFacts, probe: Chains, quantity: str, layers: int) -> Chained:
    naive, inplace = (probe.time(name, layers) for name in PAIR)
    return Chained(layers, naive, inplace, compare(naive, inplace, facts.floor_of(quantity, *PAIR)))


def per_layer_ratio(single: Chained, deep: Chained) -> Estimate:
    """Saving per layer of the long chain ÷ that of the short one, process by process."""
    savings = [[(a - b) / one.layers for a, b in zip(one.naive.samples, one.inplace.samples)] for one in (deep, single)]
    return Estimate(tuple(long / short if short else float("inf") for long, short in zip(*savings)))
