"""Which variant is fastest here, where cuDNN stands, and whether each backend can be pinned."""

from __future__ import annotations

from ..facts import SIX, ActivityFacts, RunFacts, VariantFacts
from ..statistics import Estimate, compare
from ..tables import code
from ..units import Flop, Ratio, Seconds, listed
from .base import NOT_RECORDED, UNAVAILABLE, Because, Case, Claim, Decision, Finding, decide, missing_variant, not_measurable, not_recorded
from .fastest_evidence import evidence
from .one_kernel import OTHER_SHAPE, main_kernel, other_workload, software
from .pinning import PIN_CASES, pin_rule
from .rankings import Quantity, deciding, measured, order, quickest, said, standing, time_of

FLASH = "sdpa_flash"
_CAVEATS = (
    Because("absent", "Not in the race, because they did not run here: {absent}."),
    Because("cold", "With cold caches the order at the front is another: {cold} has the smallest median there."),
    Because("wall", "In an eager loop, launching included, {wall} has the smallest median wall time: {wall_times}."),
    OTHER_SHAPE,
)
_SHARED = "Time your own shapes before you pin one: the order of backends depends on the sequence length, the head dimension and the library versions."

FASTEST_CASES: dict[str, Case] = {
    **UNAVAILABLE,
    "flash-wins": Case(
        "holds",
        "Flash is the fastest by {quantity}, with {software}: {flash_time} per forward; next comes {next} with {next_time} ({ratio}).",
        caveats=_CAVEATS, advice="Leave `scaled_dot_product_attention` unpinned if it picks flash for you, else pin `SDPBackend.FLASH_ATTENTION`. " + _SHARED),
    "other-wins": Case(
        "differs",
        "Flash is not the fastest by {quantity}, with {software}: {winner} takes {winner_time} per forward, flash {flash_time} ({ratio}).",
        because=(Because("winner_instruction", "The kernel names show one difference: {winner_kernel} names `wgmma`, matrix instructions that a group of four warps issues "
                                               "and that read shared memory directly; flash's kernel is FlashAttention-2, written for the older `mma.sync` of a single warp."),
                 Because("also", "Not alone: {also} beats flash too."),
                 Because("winner_flop", "Counted on Tensor Cores: {winner_flop} in the winner's kernel, {flash_flop} in flash's.")),
        caveats=_CAVEATS, advice="Pin the winner for this shape (`sdpa_kernel({winner_pin})`) and check that its accuracy suits you. " + _SHARED),
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
        return decide("other-wins", **args, **_winner(flash, place.faster, quantity))
    if place.ties:
        return decide("tie", **args)
    return decide("flash-wins", **args, **_next(own, place.slower, quantity))


def _next(own: Estimate, slower: tuple[VariantFacts, ...], quantity: Quantity) -> dict[str, object]:
    second = min(slower, key=lambda variant: time_of(variant, quantity).median)  # type: ignore[union-attr]
    time = time_of(second, quantity)
    return {"next": second.title, "next_time": Seconds(time.median), "ratio": _ratio(time, own)}  # type: ignore[union-attr]


def _winner(flash: VariantFacts, faster: tuple[VariantFacts, ...], quantity: Quantity) -> dict[str, object]:
    """The quickest of those that beat flash, and what the two kernels show of why."""
    winner = min(faster, key=lambda variant: time_of(variant, quantity).median)  # type: ignore[union-attr]
    time, own = time_of(winner, quantity), time_of(flash, quantity)
    kernel, beaten = main_kernel(winner), main_kernel(flash)
    names_wgmma = bool(kernel and kernel.decoded and any("wgmma" in part.text for part in kernel.decoded.parts))
    is_fa2 = bool(beaten and beaten.decoded and beaten.decoded.family.startswith("FlashAttention-2"))
    return {"winner": winner.title, "winner_time": Seconds(time.median), "ratio": _ratio(own, time),  # type: ignore[union-attr]
            "winner_kernel": code(kernel.short) if kernel else None, "winner_instruction": names_wgmma and is_fa2,
            "also": listed([v.title for v in faster if v is not winner]), **_counted(kernel, beaten),
            "winner_pin": PINS.get(winner.id, "SDPBackend.MATH")}


def _ratio(slow: Estimate | None, fast: Estimate | None) -> Ratio:
    """Median of the per-process ratios, as the comparison itself uses."""
    return Ratio(compare(slow, fast).ratio.median)  # type: ignore[arg-type]


def _counted(winner: ActivityFacts | None, flash: ActivityFacts | None) -> dict[str, object]:
    counts = [kernel.counters.tensor_core_flop if kernel and kernel.counters else None for kernel in (winner, flash)]
    if None in counts:
        return {"winner_flop": None}
    return {"winner_flop": Flop(counts[0] or 0), "flash_flop": Flop(counts[1] or 0)}


def _other_winners(facts: RunFacts, quantity: Quantity) -> dict[str, object]:
    """Who leads by another clock, where that is somebody else; and who did not run."""
    first = quickest(facts, SIX, quantity)
    out: dict[str, object] = {"absent": listed([v.title for v in facts.six if not v.ok]), "cold": None, "wall": None}
    for name, other in (("cold", "gpu_time_cold"), ("wall", "wall_time")):
        leader = quickest(facts, SIX, other)  # type: ignore[arg-type]
        if other != quantity and leader and first and leader.id != first.id:
            out[name] = leader.title
    if out["wall"]:
        out["wall_times"] = said(order(facts, SIX, "wall_time")[:3], "wall_time")
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
