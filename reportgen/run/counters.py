"""Hardware counters as a tool gave them: per variant the kernels of one forward, in the order of their launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .ranges import Amount, Few, Triple

FULL = 100.5
"""Percent of a peak that rounding may show."""


def over_full(metric: str, value: float | None) -> bool:
    """Whether a share of a peak is more than all of it, which no measurement can give.

    A metric that is put together from several replays of a kernel shows it where the replays differ. Shares of a pipe
    are known to do so by a little, and are left.
    """
    return "pct" in metric and "pipe" not in metric and value is not None and value > FULL


@dataclass(frozen=True)
class KernelCounters:
    """One kernel. metrics: the tool's name of a metric → value in bytes, seconds, percent or counts; `None`: it had none."""

    kernel: str
    grid: Triple | None = None
    block: Triple | None = None
    metrics: Mapping[str, Amount | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Counters:
    """metrics: those of which some kernel has a value; missing: those that were asked for in vain
    variants: variant → its kernels; one that did not run, or that the tool saw no kernel of, is absent
    mask_step: op of the probe of that name → its kernels; empty where they were not counted
    passes: how often the tool ran a kernel at most to count all; `None` where it does not say
    """

    tool: str | None = None
    metrics: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    variants: Mapping[str, tuple[KernelCounters, ...]] = field(default_factory=dict)
    mask_step: Mapping[str, tuple[KernelCounters, ...]] = field(default_factory=dict)
    passes: Few | None = None
