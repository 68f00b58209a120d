"""Hardware counters as a tool gave them: per variant the kernels of one forward, in the order of their launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .ranges import Amount, Triple


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
    """

    tool: str | None = None
    metrics: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    variants: Mapping[str, tuple[KernelCounters, ...]] = field(default_factory=dict)
