"""Which kernels of a run tell why the profiler shows 0 % for one: the driver call that launched it, or its shared memory?

Both explanations fit a large kernel launched by a driver call. Two kinds of kernel tell them apart:
one above 48 KiB that the *runtime* launched (0 there acquits the driver call), and one at or under
48 KiB with a filling grid that a *driver* call launched (above 0 there acquits it as well).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ..hardware.arch_limits import DEFAULT_SHARED_MEMORY
from ..run import ProbeLaunch
from .kernels import kernels
from .launches import is_driver_call, is_runtime_call
from .model import ActivityFacts, RunFacts
from .residency import fills


@dataclass(frozen=True)
class Witness:
    """A kernel of this run, or a probe, with what decides: launch call, shared memory (bytes), field (percent), grid."""

    who: str
    api: str
    shared_memory: int
    field: float
    fills: bool
    probe: bool = False

    @property
    def large(self) -> bool:
        """It uses more shared memory than the profiler reckons with."""
        return self.shared_memory > DEFAULT_SHARED_MEMORY


class Fit(Enum):
    """Which of the two explanations a witness's reading fits."""

    DRIVER_CALL = "only the driver call"
    SHARED_MEMORY = "only the shared memory"
    BOTH = "both"
    NEITHER = "neither"
    TOO_SMALL = "neither, because the grid is too small to show anything"


def fit(one: Witness) -> Fit:
    """The driver call foretells 0 for every launch by the driver, the 48 KiB rule for every kernel above it; each foretells more than 0 otherwise."""
    zero = one.field == 0
    if zero and not one.large and not one.fills:
        return Fit.TOO_SMALL
    driver, shared = is_driver_call(one.api) == zero, one.large == zero
    return Fit.BOTH if driver and shared else Fit.DRIVER_CALL if driver else Fit.SHARED_MEMORY if shared else Fit.NEITHER


@dataclass(frozen=True)
class Testimony:
    """The first witness of each kind that can decide, kernels of the variants before probes; `None` where this run has none.

    large_zero: above 48 KiB, launched by the runtime, reads 0: no driver call is needed for a 0
    small_above: within 48 KiB, filling, launched by the driver, reads above 0: a driver call does not make a 0
    small_zero: the same, reads 0: this speaks for the driver call
    large_above: above 48 KiB, reads above 0: this speaks against the 48 KiB rule
    """

    large_zero: Witness | None
    small_above: Witness | None
    small_zero: Witness | None
    large_above: Witness | None


def hearing(facts: RunFacts) -> Testimony:
    """What the kernels and probes of this run say about the two explanations."""
    seen = witnesses(facts)
    by_driver = [one for one in seen if is_driver_call(one.api) and not one.large and one.fills]

    def first(among: Any, wanted: Callable[[Witness], bool]) -> Witness | None:
        return next((one for one in among if wanted(one)), None)

    return Testimony(
        large_zero=first(seen, lambda one: is_runtime_call(one.api) and one.large and one.field == 0),
        small_above=first(by_driver, lambda one: one.field > 0),
        small_zero=first(by_driver, lambda one: one.field == 0),
        large_above=first(seen, lambda one: one.large and one.field > 0))


def witnesses(facts: RunFacts) -> tuple[Witness, ...]:
    """All kernels of all variants with a readable field, then the probes."""
    found = [_of_kernel(kernel, facts) for variant in facts.variants.values() for kernel in kernels(variant)]
    return (*(one for one in found if one), *probes(facts))


def telling(facts: RunFacts) -> tuple[Witness, ...]:
    """Each kernel that could tell the two causes apart, once: driver-launched, above 48 KiB, or a probe."""
    return tuple(one for one in dict.fromkeys(witnesses(facts)) if one.probe or one.large or is_driver_call(one.api))


def _of_kernel(kernel: ActivityFacts, facts: RunFacts) -> Witness | None:
    if kernel.profiler_occupancy is None or kernel.profiler_occupancy < 0 or kernel.shared_memory is None:
        return None
    return Witness(kernel.short, kernel.launch_api, kernel.shared_memory, kernel.profiler_occupancy, fills(kernel.grid, facts.device.sm_count))


def probes(facts: RunFacts) -> tuple[Witness, ...]:
    """The pair of probe kernels that differ in shared memory only; empty where torch could compile none."""
    probe = facts.probes.occupancy_probe
    found = (_of_probe(launch, facts) for launch in (probe.launches if probe else ()))
    return tuple(one for one in found if one)


def _of_probe(launch: ProbeLaunch, facts: RunFacts) -> Witness | None:
    if launch.profiler_occupancy is None or launch.profiler_occupancy < 0 or launch.shared_memory is None:
        return None
    return Witness(launch.name, launch.launch_api, launch.shared_memory, float(launch.profiler_occupancy), fills(launch.grid, facts.device.sm_count), probe=True)


@dataclass(frozen=True)
class Pair:
    """Two probe kernels that one call launched and that differ in shared memory alone; only the large one reads 0."""

    api: str
    small: Witness
    large: Witness


def pairs(facts: RunFacts) -> tuple[Pair, ...]:
    """Call by call, the probes of which shared memory alone turns the reading to 0."""
    out, found = [], probes(facts)
    for api in dict.fromkeys(one.api for one in found):
        small, large = (next((one for one in found if one.api == api and one.large is above), None) for above in (False, True))
        if small and large and small.field > 0 == large.field:
            out.append(Pair(api, small, large))
    return tuple(out)
