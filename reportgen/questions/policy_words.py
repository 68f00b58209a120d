"""What to write on a device, by its map: a rule of the policy in words, the line of code, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from variants.backends import BACKENDS

from ..analysis import RunFacts
from ..analysis.maps import Default, MapFacts
from ..analysis.policy import Evidence, Kind, Policy, Rule, Span
from ..analysis.unseen import Unseen
from ..probes import Needs
from ..saying.units import Count, plural
from . import right_words
from .map_words import share, takes
from .model import Leads

_MASKS = {"none": "no mask", "causal": "`is_causal=True`", "bool": "a bool mask", "float": "a float mask"}
_SIZES = {"keys": ("keys", "keys"), "queries": ("queries", "queries"), "batch_heads": ("batch × heads", "batch × heads")}


@dataclass(frozen=True)
class Piece:
    """What to write for one kind of call. call: which one; code: the line; evidence: a sentence; unless: for which calls not, or empty"""

    call: str
    code: str
    evidence: str
    unless: str


def pieces(policy: Policy, run: RunFacts | None) -> list[Piece]:
    """One per rule that pins, those that save most first. run: of the same device, which knows what comes out wrong there."""
    return [Piece(call(rule), code(rule.order), rests_on(rule), _unless(rule, run)) for rule in policy.pinning]


def call(rule: Rule) -> str:
    """`no mask, 16-bit, head dim 193 to 256, fewer KV heads than query heads, fewer queries than keys`."""
    kind = rule.kind
    parts = [_MASKS[kind.mask], f"{kind.bits}-bit", f"head dim {_range(rule.dims)}"]
    parts += ["v of another width"] if not kind.same_dims else []
    parts += ["fewer KV heads than query heads"] if kind.grouped else []
    parts += ["fewer queries than keys"] if not kind.square else []
    parts += ["with gradients"] if kind.gradients else []
    return ", ".join([*parts, *(f"{_range(span)} {_SIZES[name][0]}" if name != "batch_heads" else f"batch × heads {_range(span)}" for name, span in rule.spans.items())])


def _range(span: Span) -> str:
    if span.low is None or span.low <= 1:
        return f"up to {Count(span.high)}" if span.high is not None else "any"
    return f"{Count(span.low)} to {Count(span.high)}" if span.high is not None else f"from {Count(span.low)}"


def code(order: tuple[str, ...]) -> str:
    """`with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH], set_priority=True):`"""
    return f"with sdpa_kernel([{', '.join(BACKENDS[name].pin for name in order)}], set_priority=True):"


def rests_on(rule: Rule) -> str:
    """What torch's own pick loses at the measured calls of the rule, and what the order loses."""
    found: Evidence = rule.evidence
    count = len(found.spots)
    own = "at some of them this order leads to no right result" if found.own_worst == inf else "this order loses nothing there" if round(found.own_worst, 4) == 0 else f"this order loses {share(found.own_worst)} there at worst"
    bound = f", and at {Count(found.host_bound)} of them the CPU is the limit" if found.host_bound else ""
    if found.default_mean is None:
        wrong = any(spot.default is Default.WRONG for spot in found.spots)
        return f"Torch's own pick {'gives a wrong result' if wrong else 'has no time to compare'} at some of {plural(count, 'measured call')}; {own}{bound}."
    if count == 1:
        return f"Torch's own pick takes {takes(found.default_mean)} at the one measured call, {_keys(found)}; {own}{bound}."
    return (f"Torch's own pick takes {takes(found.default_mean)} on average over {plural(count, 'measured call')}, {_keys(found)}, and {takes(found.default_worst or 0.0)} at worst; "
            f"{own}{bound}.")


def _keys(found: Evidence) -> str:
    low, high = found.keys
    return f"{Count(low)} keys" if low == high else f"{Count(low)} to {Count(high)} keys"


def leave(policy: Policy, further: Unseen | None = None) -> str:
    """Which calls to leave to torch, and on what that rests; further: the regret at calls that the map has not."""
    facts: MapFacts = policy.facts
    best = len(facts.default_is(Default.BEST))
    bound = sum(bool(spot.host_bound) for spot in facts.spots)
    said = f"Leave {'all other calls' if policy.pinning else 'every call'} to torch: at {Count(best)} of {plural(len(facts.spots), 'measured call')} its own pick is the fastest, or not told apart from it."
    if bound:
        said += (f" At {Count(bound)} the CPU takes as long to queue the call as the GPU to run it, or longer: there, another backend saves nothing in a loop that launches call by call, "
                 "and the `with` costs time of its own.")
    own, default = policy.regret, facts.regret
    if policy.pinning and own is not None and default is not None:
        said += f" On average over the measured calls, from which they were made, these rules lose {share(own)}, and torch's own pick loses {share(default)}."
    if further is not None:
        said += f" {_further(further, bool(policy.pinning))}"
    return said


def _further(found: Unseen, pinning: bool) -> str:
    default = f"torch's own pick loses {share(found.default_mean)} on average and {share(found.default_worst)} at worst"
    said = f"At {plural(found.calls, 'further call')} that the map has not, {default}"
    if pinning:
        said += f"; with these rules it is {share(found.own_mean)} and {share(found.own_worst)}"
    if found.without:
        said += f". At {Count(found.without)} more, one of the two gives no right result in a known time"
    return f"{said}."


def _unless(rule: Rule, run: RunFacts | None) -> str:
    return right_words.unless(run, Leads("backends", without(rule.kind)), {"backends": rule.order[:1]}) if run is not None else ""


def without(kind: Kind) -> frozenset[Needs]:
    """What a call of the kind has not."""
    masked = kind.mask in ("bool", "float")
    out = {Needs.MASK: not masked, Needs.OTHER_TYPE: not masked, Needs.MASK_GRADIENT: not (masked and kind.gradients), Needs.EMPTY_ROWS: not masked, Needs.GRADIENTS: not kind.gradients,
           Needs.GROUPED: not kind.grouped, Needs.ONE_QUERY: kind.square, Needs.UNEQUAL_LENGTHS: kind.square or kind.mask != "causal", Needs.DROPOUT: True,
           Needs.OTHER_HEAD_DIM: kind.same_dims, Needs.LARGE_HEAD_DIM: kind.head_dim <= 256}
    return frozenset(need for need, never in out.items() if never)
