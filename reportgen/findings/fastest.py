"""Which variant is fastest here, where cuDNN stands, and whether each backend can be pinned."""

from __future__ import annotations

from ..analysis import SIX, ActivityFacts, RunFacts, VariantFacts
from ..numbers.statistics import MINIMUM_EFFECT, Estimate, compare
from ..saying.tables import code
from ..saying.units import Flop, Ratio, Seconds, extent, listed, significant
from ..questions.model import (
    NOT_RECORDED,
    UNAVAILABLE,
    Because,
    Case,
    Claim,
    Decision,
    Finding,
    decide,
    missing_variant,
    not_measurable,
    not_recorded,
)
from .fastest_evidence import evidence
from .one_kernel import OTHER_SHAPE, main_kernel, other_workload, software
from .pinning import BACKENDS, PIN_CASES, pin_rule
from .rankings import Quantity, deciding, measured, order, quickest, said, standing, time_of

FLASH = "sdpa_flash"
_CAVEATS = (
    Because("absent", "Not in the race, because they did not run here: {absent}."),
    Because("cold", "With cold caches {cold} is ahead of {first}: {cold_times}."),
    Because("wall", "In an eager loop, launching included, {wall} is ahead of {first}: {wall_times}."),
    Because("front_ties", "{winner} is not told apart from {front_ties}."),
    OTHER_SHAPE,
)
_SHARED = "Time your own shapes before you pin one: the order of backends depends on the sequence length, the head dimension and the library versions."
_ADVICE = (
    Because("by_default", "Leave `scaled_dot_product_attention` unpinned for this shape: without a mask of one's own and without gradients, torch picks {winner} by itself ({software})."),
    Because("instead_of", "Pin the winner for this shape (`sdpa_kernel({winner_pin})`) and check that its accuracy suits you: unpinned, torch picks {instead_of} ({software}, without a mask of one's own and without gradients)."),
    Because("unprobed", "Pin the winner for this shape (`sdpa_kernel({winner_pin})`), unless your trace shows that an unpinned call gets it anyway: this run did not try."),
    Because("unpinnable", "No pin reaches the winner: {winner} is written in torch operations. Call it in place of `scaled_dot_product_attention` for this shape, if you can pay for the memory that it needs."),
    Because("earned_after", "At a shape not seen before, the first call of {winner} takes {new_shape} longer than that of {runner_up}: it takes {earned_after} calls at that shape to earn this back, "
                            "so with many shapes {many_shapes}."),
    Because("quantity", _SHARED),
)

FASTEST_CASES: dict[str, Case] = {
    **UNAVAILABLE,
    "flash-wins": Case(
        "holds",
        "Flash is the fastest by {quantity}, with {software}: {flash_time} per forward; next comes {next} with {next_time} ({ratio}).",
        caveats=_CAVEATS, advice=_ADVICE),
    "other-wins": Case(
        "differs",
        "Flash is not the fastest by {quantity}, with {software}: {winner} takes {winner_time} per forward, flash {flash_time} ({ratio}).",
        because=(Because("winner_instruction", "The kernel names show one difference: {winner_kernel} names `wgmma`, matrix instructions that a group of four warps issues "
                                               "and that read shared memory directly; flash's kernel is FlashAttention-2, written for the older `mma.sync` of a single warp."),
                 Because("also", "Not alone: {also} beats flash too."),
                 Because("winner_flop", "Counted on Tensor Cores: {winner_flop} in the winner's kernel, {flash_flop} in flash's{amount}.")),
        caveats=_CAVEATS, advice=_ADVICE),
    "tie": Case(
        "within noise",
        "Whether flash is the fastest by {quantity} cannot be told, with {software}: it ties with {ties} at {flash_time} per forward.",
        caveats=_CAVEATS, advice="Choose between the tied ones by what else they cost: CPU time, first call, accuracy. " + _SHARED),
    "no-time": not_measurable("Not measurable: this run has no {quantity} for SDPA flash."),
    "alone": not_measurable("Not measurable: flash is the only one of the six that ran, so it has nobody to beat."),
}
PINS = {"sdpa_math": "SDPBackend.MATH", "sdpa_efficient": "SDPBackend.EFFICIENT_ATTENTION", "sdpa_flash": "SDPBackend.FLASH_ATTENTION",
        "sdpa_cudnn": "SDPBackend.CUDNN_ATTENTION"}


def fastest_rule(facts: RunFacts) -> Decision:
    blocked = missing_variant(facts, FLASH)
    if blocked:
        return blocked
    quantity, words = deciding(facts)
    flash = facts.variants[FLASH]
    own = time_of(flash, quantity)
    if own is None:
        return decide("no-time", quantity=words)
    place = standing(facts, FLASH, SIX, quantity)
    if not (place.slower or place.faster or place.ties):
        return decide("alone")
    args = {"quantity": words, "flash_time": Seconds(own.median), "software": software(facts, "torch", "cudnn"),
            "ties": listed([f"{v.title} ({Seconds(time_of(v, quantity).median)})" for v in place.ties]),  # type: ignore[union-attr]
            "other_workload": other_workload(facts), **_other_winners(facts, quantity)}
    if place.faster:
        winner = min(place.faster, key=lambda variant: time_of(variant, quantity).median)  # type: ignore[union-attr]
        return decide("other-wins", **args, **_winner(flash, winner, place.faster, quantity), **_what_to_pin(facts, winner, quantity))
    if place.ties:
        return decide("tie", **args)
    return decide("flash-wins", **args, **_next(own, place.slower, quantity), **_what_to_pin(facts, flash, quantity))


def _next(own: Estimate, slower: tuple[VariantFacts, ...], quantity: Quantity) -> dict[str, object]:
    second = min(slower, key=lambda variant: time_of(variant, quantity).median)  # type: ignore[union-attr]
    time = time_of(second, quantity)
    return {"next": second.title, "next_time": Seconds(time.median), "ratio": _ratio(time, own)}  # type: ignore[union-attr]


def _winner(flash: VariantFacts, winner: VariantFacts, faster: tuple[VariantFacts, ...], quantity: Quantity) -> dict[str, object]:
    """The quickest of those that beat flash, and what the two kernels show of why."""
    time, own = time_of(winner, quantity), time_of(flash, quantity)
    kernel, beaten = main_kernel(winner), main_kernel(flash)
    names_wgmma = bool(kernel and kernel.decoded and any("wgmma" in part.text for part in kernel.decoded.parts))
    is_fa2 = bool(beaten and beaten.decoded and beaten.decoded.family.startswith("FlashAttention-2"))
    return {"winner_time": Seconds(time.median), "ratio": _ratio(own, time),  # type: ignore[union-attr]
            "winner_kernel": code(kernel.short) if kernel else None, "winner_instruction": names_wgmma and is_fa2,
            "also": listed([v.title for v in faster if v is not winner]), **_counted(kernel, beaten)}


def _what_to_pin(facts: RunFacts, winner: VariantFacts, quantity: Quantity) -> dict[str, object]:
    """What an unpinned call gets, whether a pin reaches the winner, and when its plans have paid for themselves."""
    default = facts.probes.default_backend.name if facts.probes.default_backend else None
    pin = PINS.get(winner.id)
    return {"winner": winner.title, "winner_pin": pin, "by_default": winner.id == f"sdpa_{default}", "unpinnable": pin is None,
            "instead_of": BACKENDS.get(default, default) if pin and default and winner.id != f"sdpa_{default}" else None,
            "unprobed": pin is not None and not default, "front_ties": listed([v.title for v in standing(facts, winner.id, SIX, quantity).ties]),
            **_earned_back(facts, winner, quantity)}


FEW_CALLS = 10
"""A new shape that is paid for within so many calls is not worth a sentence."""


def _earned_back(facts: RunFacts, winner: VariantFacts, quantity: Quantity) -> dict[str, object]:
    """Calls at one shape after which the winner's lead over the next has paid for its dearer first call there.

    Process by process: (its first call at a new shape − the next one's) ÷ what it saves per call.
    """
    beaten = standing(facts, winner.id, SIX, quantity).slower
    runner_up = quickest(facts, [variant.id for variant in facts.six if variant is not winner], quantity)
    if runner_up is None or runner_up not in beaten or not winner.first_call_new_shape or not runner_up.first_call_new_shape:
        return {"earned_after": None}
    extra = [a - b for a, b in zip(winner.first_call_new_shape.samples, runner_up.first_call_new_shape.samples)]
    saved = [b - a for a, b in zip(time_of(winner, quantity).samples, time_of(runner_up, quantity).samples)]  # type: ignore[union-attr]
    calls = [more / less for more, less in zip(extra, saved)]
    if min(extra) <= 0 or min(calls) < FEW_CALLS:
        return {"earned_after": None}
    pin = PINS.get(runner_up.id)
    few = "round the lengths up to a few"
    low, high = (significant(number, 2) for number in (min(calls), max(calls)))
    return {"earned_after": low if low == high else f"{low} to {high}", "new_shape": extent(min(extra), max(extra)), "runner_up": runner_up.title,
            "many_shapes": f"pin {runner_up.title} (`{pin}`) or {few}" if pin else few}


def _ratio(slow: Estimate | None, fast: Estimate | None) -> Ratio:
    """Median of the per-process ratios, as the comparison itself uses."""
    return Ratio(compare(slow, fast).ratio.median)  # type: ignore[arg-type]


def _counted(winner: ActivityFacts | None, flash: ActivityFacts | None) -> dict[str, object]:
    counts = [kernel.counters.tensor_core_flop if kernel and kernel.counters else None for kernel in (winner, flash)]
    if None in counts:
        return {"winner_flop": None}
    winner, flash = counts[0] or 0, counts[1] or 0
    same = abs(winner - flash) <= MINIMUM_EFFECT * max(winner, flash)
    return {"winner_flop": Flop(winner), "flash_flop": Flop(flash), "amount": ": the same amount, so that is not what makes the difference" if same else ""}


def _other_winners(facts: RunFacts, quantity: Quantity) -> dict[str, object]:
    """Who leads by another clock, where that is somebody else beyond noise; and who did not run."""
    first = quickest(facts, SIX, quantity)
    out: dict[str, object] = {"absent": listed([v.title for v in facts.six if not v.ok]), "first": first.title if first else None}
    clocks: tuple[tuple[str, Quantity], ...] = (("cold", "gpu_time_cold"), ("wall", "wall_time"))
    for name, other in clocks:
        leader = quickest(facts, SIX, other)
        ahead = other != quantity and leader and first and first in standing(facts, leader.id, [first.id], other).slower
        out[name] = leader.title if ahead and leader else None
        out[f"{name}_times"] = said(order(facts, SIX, other)[:3], other)
    return out


BETWEEN_CASES: dict[str, Case] = {
    **UNAVAILABLE, **NOT_RECORDED,
    "between": Case(
        "holds", "cuDNN's GPU time lies between flash's and efficient's, with {software}: {times}.",
        caveats=(Because("reversed", "The order is the other way round than in the article: there flash is the faster of the two."), OTHER_SHAPE),
        advice=_SHARED),
    "below-both": Case(
        "differs", "cuDNN's GPU time lies below both flash's and efficient's, with {software}: {times}.", caveats=(OTHER_SHAPE,), advice=_SHARED),
    "above-both": Case(
        "differs", "cuDNN's GPU time lies above both flash's and efficient's, with {software}: {times}.", caveats=(OTHER_SHAPE,), advice=_SHARED),
    "tie": Case(
        "within noise", "Whether cuDNN's GPU time lies between flash's and efficient's cannot be told, with {software}: it ties with {ties} ({times}).",
        caveats=(OTHER_SHAPE,), advice=_SHARED),
    "no-gpu-time": not_measurable("Not measurable: this run has no GPU times."),
}


def between_rule(facts: RunFacts) -> Decision:
    names = ("sdpa_cudnn", "sdpa_flash", "sdpa_efficient")
    blocked = missing_variant(facts, *names)
    if blocked:
        return blocked
    if len(measured(facts, names, "gpu_time")) < len(names):
        return decide("no-gpu-time") if facts.device.kind == "cpu" else not_recorded(facts, "GPU time")
    place = standing(facts, "sdpa_cudnn", names, "gpu_time")
    args = {"times": said(order(facts, names, "gpu_time"), "gpu_time"), "ties": listed([variant.title for variant in place.ties]),
            "software": software(facts, "torch", "cudnn"), "other_workload": other_workload(facts),
            "reversed": any(variant.id == "sdpa_flash" for variant in place.slower)}
    if place.ties:
        return decide("tie", **args)
    return decide("between" if place.slower and place.faster else "below-both" if place.slower else "above-both", **args)


FINDING = Finding(
    slug="fastest",
    title="Who is fastest here",
    question="Six ways to the same result: which is fastest on this device, and does that depend on how one measures?",
    claims=(
        Claim("flash-fastest", "Flash is the fastest of the six.", fastest_rule, FASTEST_CASES),
        Claim("cudnn-gpu-between", "cuDNN's GPU time lies between flash's and efficient's.", between_rule, BETWEEN_CASES),
        Claim("sdpa-pin", "SDPA dispatches to four backends, and each can be pinned.", pin_rule, PIN_CASES),
    ),
    evidence=evidence,
)
