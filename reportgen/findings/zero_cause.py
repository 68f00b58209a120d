"""Why the profiler shows 0 % for a kernel: the driver call that launched it, or its shared memory?

Both explanations fit a large kernel launched by a driver call. Two kinds of kernel tell them apart:
one above 48 KiB that the *runtime* launched (0 there acquits the driver call), and one at or under
48 KiB with a filling grid that a *driver* call launched (above 0 there acquits it as well).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from ..analysis import ActivityFacts, RunFacts
from ..saying.tables import code
from ..saying.units import Bytes, Percent, listed
from ..questions.model import Because, Case, Decision, decide, not_measurable
from .launches import is_driver_call, is_runtime_call
from ..analysis.kernels import kernels, main_kernel
from ..questions.shared import NO_TRACE, software, unread
from .residency import DEFAULT_LIMIT, fills

_ADVICE = ("When the profiler shows 0 %, look at the kernel's shared memory first: above 49,152 B the field means nothing, whatever launched the kernel. "
           "Work the occupancy out instead.")
_PAIR = Because("pair", "A controlled pair says so too: {pair}.")
_OWN = Because("own", "cuDNN's own kernel uses {own} of shared memory, above the 48 KiB per block that the profiler reckons with.")
_EXCEPTION = Because("exception", "One kernel does not fit the 48 KiB rule either: {exception}.")

CAUSE_CASES: dict[str, Case] = {
    **NO_TRACE,
    "both-halves": Case(
        "differs",
        "The driver call is not the cause of the 0 %, with {software}: {large} reads 0 % too, and {small} reads {small_field}.",
        because=(_OWN, _PAIR), caveats=(_EXCEPTION,), advice=_ADVICE),
    "runtime-half": Case(
        "differs",
        "A driver call is not needed for a 0 %, with {software}: {large} reads 0 % too. Whether a driver call alone would give 0 % was not seen in this run.",
        because=(_OWN,), caveats=(_EXCEPTION,), advice=_ADVICE),
    "driver-half": Case(
        "differs",
        "A driver call does not make the field 0 %, with {software}: {small} reads {small_field}. A kernel above 48 KiB that the runtime launched was not seen in this run.",
        because=(_OWN, _PAIR), caveats=(_EXCEPTION,), advice=_ADVICE),
    "driver-call": Case(
        "holds",
        "The driver call fits as the cause of the 0 %, with {software}: {against} reads 0 % although its shared memory is within 48 KiB and its grid fills the GPU.",
        advice="Do not read the occupancy field of kernels that the driver's API launched; work their occupancy out instead."),
    "not-seen": not_measurable(
        "Not measurable: no kernel of this run tells the two causes apart. The driver call and the 48 KiB rule both fit the 0 % of cuDNN's kernel ({own} of shared memory, {api})."),
    "no-zero": not_measurable("Not measurable: the profiler shows {field} for cuDNN's kernel here, so there is no 0 % to explain."),
}


@dataclass(frozen=True)
class Witness:
    """A kernel of this run, or a probe, with what decides: launch call, shared memory (bytes), field (percent), grid."""

    who: str
    api: str
    shared_memory: int
    field: float
    fills: bool
    probe: bool = False

    def words(self) -> str:
        return f"{code(self.who)} ({Bytes(self.shared_memory)} of shared memory, launched by `{self.api}`)"


def cause_rule(facts: RunFacts) -> Decision:
    blocked = unread(facts, "sdpa_cudnn")
    if blocked:
        return blocked
    own = main_kernel(facts.variants["sdpa_cudnn"])
    if own is None or own.profiler_occupancy is None or own.profiler_occupancy != 0:
        return decide("no-zero", field=Percent(own.profiler_occupancy) if own and own.profiler_occupancy is not None else "no value")
    seen = witnesses(facts)
    large_zero = _first(seen, lambda w: is_runtime_call(w.api) and w.shared_memory > DEFAULT_LIMIT and w.field == 0)
    small_above = _first(seen, lambda w: is_driver_call(w.api) and w.shared_memory <= DEFAULT_LIMIT and w.fills and w.field > 0)
    small_zero = _first(seen, lambda w: is_driver_call(w.api) and w.shared_memory <= DEFAULT_LIMIT and w.fills and w.field == 0)
    large_above = _first(seen, lambda w: w.shared_memory > DEFAULT_LIMIT and w.field > 0)
    odd = small_zero or large_above
    shared = own.shared_memory or 0
    args = {"software": software(facts, "torch", "cudnn"), "own": Bytes(shared) if shared > DEFAULT_LIMIT else None, "api": f"`{own.launch_api}`",
            "large": large_zero and large_zero.words(), "small": small_above and small_above.words(),
            "small_field": small_above and Percent(small_above.field), "pair": pair(facts), "against": small_zero and small_zero.words(),
            "exception": odd and f"{odd.words()} reads {Percent(odd.field)}"}
    if large_zero and small_above:
        return decide("both-halves", **args)
    if large_zero:
        return decide("runtime-half", **args)
    if small_above:
        return decide("driver-half", **args)
    if small_zero:
        return decide("driver-call", **args)
    return decide("not-seen", **{**args, "own": Bytes(shared)})


def witnesses(facts: RunFacts) -> tuple[Witness, ...]:
    """All kernels of all variants with a readable field, then the probes."""
    found = [_of_kernel(kernel, facts) for variant in facts.variants.values() for kernel in kernels(variant)]
    return (*(one for one in found if one), *probes(facts))


def _of_kernel(kernel: ActivityFacts, facts: RunFacts) -> Witness | None:
    if kernel.profiler_occupancy is None or kernel.profiler_occupancy < 0 or kernel.shared_memory is None:
        return None
    return Witness(kernel.short, kernel.launch_api, kernel.shared_memory, kernel.profiler_occupancy, fills(kernel.grid, facts.device.sm_count))


def probes(facts: RunFacts) -> tuple[Witness, ...]:
    """The pair of probe kernels that differ in shared memory only; empty where torch could compile none."""
    recorded = facts.probes.get("occupancy_probe")
    entries = recorded if isinstance(recorded, list) else []
    return tuple(_of_probe(entry, facts) for entry in entries
                 if entry.get("profiler_occupancy") is not None and entry["profiler_occupancy"] >= 0 and entry.get("shared_memory") is not None)


def _of_probe(entry: Mapping[str, Any], facts: RunFacts) -> Witness:
    return Witness(entry["name"], entry["launch_api"], int(entry["shared_memory"]), float(entry["profiler_occupancy"]),
                   fills(tuple(entry["grid"]), facts.device.sm_count), probe=True)


def pair(facts: RunFacts) -> str | None:
    """What the probes show, call by call, where shared memory alone turns the reading to 0; else `None`."""
    said, sizes = [], None
    found = probes(facts)
    for api in dict.fromkeys(one.api for one in found):
        small, large = (next((one for one in found if one.api == api and (one.shared_memory > DEFAULT_LIMIT) is above), None) for above in (False, True))
        if not small or not large or not small.field > 0 == large.field:
            continue
        sizes = f"{Bytes(small.shared_memory)} and {Bytes(large.shared_memory)}"
        said.append(f"{Percent(small.field)} and {Percent(large.field)} when `{api}` launches them")
    return f"two probe kernels that differ in shared memory alone ({sizes}) read {listed(said)}" if said else None


def _first(seen: tuple[Witness, ...], wanted: Any) -> Witness | None:
    """The first that fits; kernels of the variants come before probes."""
    return next((one for one in seen if wanted(one)), None)
