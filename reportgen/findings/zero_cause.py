"""Why the profiler shows 0 % for cuDNN's kernel: what the witnesses of a run say of the driver call and of shared memory."""

from __future__ import annotations

from ..analysis import RunFacts
from ..analysis.kernels import main_kernel
from ..analysis.residency import opted_in
from ..analysis.witnesses import Witness, hearing, pairs
from ..questions.model import Advice, Because, Case, Decision, decide, not_measurable
from ..questions.residency import NO_VALUE, field
from ..questions.shared import software
from ..saying.markup import code
from ..saying.units import Bytes, Percent, listed

_ADVICE = (Advice("When the profiler shows 0 %, check the kernel's shared memory: above {rules[default_shared_exact]} B the field means nothing, "
    "whatever launched the kernel.",
    "Calculate the occupancy instead.", needs="rule"),)
"""Where a kernel above the limit was seen to read 0, and none speaks against the rule."""
_PAIR = Because("pair", "A controlled pair confirms it: {pair}.")
_OWN = Because("own", "The profiler assumes at most {rules[default_shared]} of shared memory per block. cuDNN's kernel uses {own}, so the profiler concludes that no block fits, and shows 0.")
_EXCEPTION = Because("exception", "One kernel contradicts the {rules[default_shared]} rule too: {exception}.")

CAUSE_CASES: dict[str, Case] = {
    "both-halves": Case(
        "differs",
        "The driver call is not the cause of the 0 %: {large} also shows 0 %, and {small} shows {small_field}.",
        because=(_OWN, _PAIR), caveats=(_EXCEPTION,), advice=_ADVICE),
    "runtime-half": Case(
        "differs",
        "0 % does not need a driver call: {large} also shows 0 %. Whether a driver call alone gives 0 % was not seen in this run.",
        because=(_OWN,), caveats=(_EXCEPTION,), advice=_ADVICE),
    "driver-half": Case(
        "differs",
        "A driver call alone does not give 0 %: {small} shows {small_field}. This run has no kernel above {rules[default_shared]} that the runtime launched.",
        because=(_OWN, _PAIR), caveats=(_EXCEPTION,)),
    "driver-call": Case(
        "holds",
        "The driver call fits as the cause of the 0 %: {against} shows 0 % although its shared memory is within {rules[default_shared]} and its grid fills the GPU.",
        advice=(Advice("Ignore the occupancy field of kernels launched through the driver's API; calculate their occupancy instead."),)),
    "not-seen": not_measurable(
        "no kernel of this run separates the two causes: the driver call and the {rules[default_shared]} rule both explain the 0 % of cuDNN's kernel ({own} of shared memory, {api})."),
    "no-zero": not_measurable("the profiler shows {field} for cuDNN's kernel here, so there is no 0 % to explain."),
}


def cause_rule(facts: RunFacts) -> Decision:
    own = main_kernel(facts.variants["sdpa_cudnn"])
    if own is None or own.profiler_occupancy is None or own.profiler_occupancy != 0:
        return decide("no-zero", field=field(own.profiler_occupancy if own else None) or NO_VALUE)
    seen, shared = hearing(facts), Bytes(own.shared_memory or 0)
    odd = seen.small_zero or seen.large_above
    args = {"software": software(facts, "torch", "cudnn"), "own": shared if opted_in(own) else None, "api": f"`{own.launch_api}`",
            "large": seen.large_zero and _words(seen.large_zero), "small": seen.small_above and _words(seen.small_above),
            "small_field": seen.small_above and Percent(seen.small_above.field), "pair": pair(facts), "against": seen.small_zero and _words(seen.small_zero),
            "rule": seen.large_zero is not None and odd is None, "exception": odd and f"{_words(odd)} reads {Percent(odd.field)}"}
    if seen.large_zero and seen.small_above:
        return decide("both-halves", **args)
    if seen.large_zero:
        return decide("runtime-half", **args)
    if seen.small_above:
        return decide("driver-half", **args)
    if seen.small_zero:
        return decide("driver-call", **args)
    return decide("not-seen", **{**args, "own": shared})


def _words(one: Witness) -> str:
    return f"{code(one.who)} ({Bytes(one.shared_memory)} of shared memory, launched by `{one.api}`)"


def pair(facts: RunFacts) -> str | None:
    """What the probes show, call by call, where shared memory alone turns the reading to 0; else `None`."""
    found = pairs(facts)
    if not found:
        return None
    sizes = f"{Bytes(found[-1].small.shared_memory)} and {Bytes(found[-1].large.shared_memory)}"
    said = [f"{Percent(one.small.field)} and {Percent(one.large.field)} when `{one.api}` launches them" for one in found]
    return f"two probe kernels that differ in shared memory alone ({sizes}) read {listed(said)}"
