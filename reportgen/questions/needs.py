"""What questions need of a run. Each need names a gate of `gates.GATES` where it is not met.

    claim("math-slower", …, needs=(ran("naive_inplace", "sdpa_math"), timed("gpu_time", "naive_inplace", "sdpa_math")))

`unmet` asks several needs at once, for rules that need more only in some of their cases.
"""

from __future__ import annotations

import re

from ..analysis import RunFacts, State, VariantFacts, published
from ..analysis.disturbed import HOST_QUANTITIES
from ..numbers.quantities import QUANTITIES
from ..numbers.statistics import PROCESSES
from ..saying.units import Count, Percent, listed, plural
from .model import Decision, Need, decide

OPS_LIST = "the list of CPU ops"
"""What a run lacks that recorded no ops."""


def unmet(facts: RunFacts, *needs: Need) -> Decision | None:
    """The gate's decision for the first of `needs` that is not met, or `None`."""
    return next((found for need in needs if (found := need.unmet(facts)) is not None), None)


def ran(*names: str) -> Need:
    """Every named variant ran and its result is right."""
    return Need(f"a right result of {', '.join(names)}", lambda facts: _first(facts, names, _not_right))


def lane(*names: str) -> Need:
    """Every named variant ran, and its GPU activities can be counted."""
    return Need(f"the GPU activities of {', '.join(names)}", lambda facts: unmet(facts, ran(*names)) or _no_lane(facts, names))


def ops(*names: str) -> Need:
    """Every named variant ran, and its CPU ops are known."""
    return Need(f"the CPU ops of {', '.join(names)}", lambda facts: unmet(facts, ran(*names)) or _first(facts, names, no_ops))


def timed(quantity: str, *names: str) -> Need:
    """Every named variant ran and has the quantity."""
    return Need(f"{QUANTITIES[quantity].label} of {', '.join(names)}",
                lambda facts: unmet(facts, ran(*names)) or _first(facts, names, lambda f, name: _not_timed(f, f.variants[name], quantity)))


def compared(quantity: str, *names: str) -> Need:
    """Every named variant has the quantity, from enough processes to tell two of them apart."""
    return Need(f"{QUANTITIES[quantity].label} of {', '.join(names)} in {PROCESSES} processes",
                lambda facts: unmet(facts, timed(quantity, *names)) or _few(facts, quantity, names))


def one_timer(*names: str) -> Need:
    """One timer took the GPU times of all of them, so that their ratios mean something."""
    return Need(f"one timer for {', '.join(names)}", lambda facts: _other_timers(facts, names))


def article_workload() -> Need:
    """The run computes what the article computed, so published magnitudes may be held against it."""
    return Need("the article's workload", lambda facts: None if published.same_workload(facts) else decide("other-workload", workload=facts.workload.describe()))


def kernels() -> Need:
    """Some variant's GPU activities are known."""
    return Need("GPU activities", lambda facts: None if any(v.ok and v.activities for v in facts.variants.values()) else decide("no-kernels"))


def bfloat16() -> Need:
    return Need("bfloat16", lambda facts: None if facts.workload.dtype == "bfloat16" else decide("other-dtype", dtype=facts.workload.dtype))


def ceilings() -> Need:
    """Copies and matmuls of this run, so that times can be held against them."""
    return Need("measured ceilings", lambda facts: None if facts.ceilings and facts.ceilings.copy_bytes_per_s and facts.ceilings.matmul_flop_per_s else no_ceilings(facts))


def host() -> Need:
    """Host time is what a call costs: no launch waited for the GPU, and nothing watched the run."""
    return Need("undisturbed host time", lambda facts: _disturbed(facts, "host_time"))


def no_ceilings(facts: RunFacts) -> Decision:
    """The gate of a run without ceilings, with the reason where one was recorded."""
    return lost_part(facts, "ceilings") or decide("no-ceilings")


def lost_part(facts: RunFacts, part: str, *names: str) -> Decision | None:
    """The gate for a part of the evidence that could not be taken. part: a key of `run.PARTS`; names: whose it is."""
    lost = next((one for one in facts.lost if one.what == part and (one.variant is None or one.variant in names)), None)
    if lost is None:
        return None
    owner = facts.variants.get(lost.variant or "")
    of = f" of {owner.title}" if owner else ""
    return decide("lost-part", part=f"{'the ' if not lost.words.startswith('a ') else ''}{lost.words}{of}", reason=lost.reason.rstrip("."))


RIGHTNESS = "the rightness of gradients and of publicly reported cases"
"""What a run lacks that tried no probe and compared no gradient."""


def probed() -> Need:
    """Some probe of a publicly reported wrong result was tried."""
    return Need("probes of publicly reported wrong results", _not_probed)


def _not_probed(facts: RunFacts) -> Decision | None:
    if facts.watch.taken:
        return None
    return decide("no-probes", reason=facts.watch.reason.rstrip(".")) if facts.watch.reason else older(facts, RIGHTNESS)


def older(facts: RunFacts, what: str, *names: str, part: str | None = None) -> Decision:
    """The gate for evidence that the run lacks: it lost it for one of `names`, is older than the measurement, or did not take it. part: a key of `run.PARTS`."""
    lost = lost_part(facts, part, *names) if part else _first(facts, names, _lost_trace)
    if lost:
        return lost
    if facts.older:
        return decide("recorded-before", what=what)
    return decide("not-taken", what=what, why=" (a quick run leaves it out)" if facts.quick else "")


def _first(facts: RunFacts, names: tuple[str, ...], check) -> Decision | None:  # type: ignore[no-untyped-def]
    return next((found for name in names if (found := check(facts, name)) is not None), None)


def _not_right(facts: RunFacts, name: str) -> Decision | None:
    variant = facts.variants.get(name)
    if variant is None or variant.state is State.RECORDED_BEFORE:
        return decide("before-variant", missing=variant.title if variant else f"`{name}`")
    reason = refusal(variant.reason or variant.state.value)
    if variant.state is State.WRONG:
        if variant.relative_error is None or variant.allowed_error is None:
            return decide("wrong-result-unsized", missing=variant.title, reason=reason)
        return decide("wrong-result", missing=variant.title, error=share(variant.relative_error), allowed=share(variant.allowed_error))
    gate = {State.REFUSED: "unavailable", State.FAILED: "failed", State.NOT_TRIED: "not-tried"}.get(variant.state)
    return decide(gate, missing=variant.title, reason=reason) if gate else None


def _no_lane(facts: RunFacts, names: tuple[str, ...]) -> Decision | None:
    lost = _first(facts, names, _lost_trace)
    if lost:
        return lost
    if not facts.has_gpu_lane:
        return decide("no-gpu-lane")
    blind = any(facts.variants[name].kernels is None for name in names)
    return older(facts, "the GPU side of this variant's trace") if blind else None


def _lost_trace(facts: RunFacts, name: str) -> Decision | None:
    variant = facts.variants[name]
    for what, gate in (("trace", "lost-trace"), ("GPU records", "lost-records")):
        reason = next((lost.reason for lost in variant.lost if lost.what == what), None)
        if reason is not None:
            return decide(gate, missing=variant.title, reason=reason)
    return None


def no_ops(facts: RunFacts, name: str) -> Decision | None:
    """The gate where nobody knows which CPU ops a forward dispatches."""
    variant = facts.variants[name]
    if variant.ops:
        return None
    if variant.other_ops:
        return decide("ops-differ", missing=variant.title, forwards=plural(variant.other_ops, "recorded forward"))
    return _lost_trace(facts, name) or older(facts, OPS_LIST)


def _disturbed(facts: RunFacts, quantity: str) -> Decision | None:
    if facts.launches_wait:
        return decide("launches-wait", names=listed(facts.launches_wait), quantity=QUANTITIES[quantity].label)
    if facts.watched_by is not None:
        return decide("watched", names=f" ({listed(facts.watched_by)})" if facts.watched_by else "", quantity=QUANTITIES[quantity].label)
    return None


def _not_timed(facts: RunFacts, variant: VariantFacts, quantity: str) -> Decision | None:
    if quantity in HOST_QUANTITIES and (found := _disturbed(facts, quantity)):
        return found
    if variant.time(quantity):
        return None
    if quantity in ("gpu_time", "gpu_time_cold"):
        if facts.device.kind == "cpu":
            return decide("no-gpu-time")
        reason = next((lost.reason for lost in variant.lost if lost.what == "GPU time"), None)
        if reason:
            return decide("untimed", quantity=QUANTITIES[quantity].label, missing=variant.title, reason=reason)
    return older(facts, QUANTITIES[quantity].label)


def _few(facts: RunFacts, quantity: str, names: tuple[str, ...]) -> Decision | None:
    processes = min(len(facts.variants[name].times[quantity].samples) for name in names)
    return None if processes >= PROCESSES else too_few(processes)


def too_few(processes: int) -> Decision:
    """The gate of a run in which nothing can be told apart."""
    return decide("few", processes=plural(processes, "process", "processes"), needed=Count(PROCESSES))


def _other_timers(facts: RunFacts, names: tuple[str, ...]) -> Decision | None:
    if len({facts.variants[name].timer for name in names}) < 2:
        return None
    return decide("other-timers", mixed=listed([facts.variants[name].title for name in names]))


def share(value: float) -> Percent | str:
    """A relative error in percent; what is not finite in words."""
    return Percent(100 * value) if value == value and abs(value) != float("inf") else "not a number" if value != value else "infinite"


_ECHO = re.compile(r"^(?:.* has been runtime disabled|This is likely due to turning off both the math kernel and the fused kernels)$", re.I)
_OPENS = re.compile(r"^(.+?) (?:kernel )?not used because:$", re.I)


def refusal(reason: str) -> str:
    """torch's words for a refusal without what only echoes that one backend was pinned; no full stop at the end.

    `No available kernel. … Flash attention kernel not used because:. <why>. cuDNN attention kernel not used
    because:. cuDNN attention has been runtime disabled.` says no more than `<why>`.
    """
    parts = [part.rstrip(".") for part in re.split(r"(?<=[.])\s+", reason.strip())]
    kept = [part for part in parts if not _ECHO.match(part) and not _OPENS.match(part)]
    telling = [part for part in kept if part not in ("No available kernel", "Aborting execution")]
    return ". ".join(telling or kept) or reason.rstrip(".")
