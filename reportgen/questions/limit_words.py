"""Limits and bytes in words: which ceiling an activity runs near, why the cache leaves it open, which steps are not as modelled."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import ActivityFacts, RunFacts, VariantFacts
from ..analysis.bounds import Limit, cached, requested
from ..analysis.pace import Pace, at_limits
from ..analysis.traffic import OPERANDS_BEYOND_CACHE, CacheDoubt, activity_dram_bytes, forward_traffic, operand_ratio, why_no_ratio
from ..saying.units import Bytes, Percent, Ratio, listed
from .model import Decision, Need, decide

WORDS: dict[Limit, str] = {
    Limit.HBM: "near copy speed",
    Limit.ARITHMETIC: "near matmul speed",
    Limit.NEITHER: "below both speeds",
    Limit.UNKNOWN: "not known",
}
_NO_RATIO = {CacheDoubt.MAY_HOLD: "cache too large", CacheDoubt.SIZE_UNKNOWN: "cache size unknown"}
_NO_RATIO_NOTE = (f"“Cache too large”: the ratio to the operands means something only where these are {OPERANDS_BEYOND_CACHE} times the last-level cache or more; "
                  "else a part may be found there.")


def at_limits_said(found: Sequence[Pace]) -> str:
    """`memory: Naive and SDPA math; instructions or latency: SDPA flash`, the limits that some variant is at; empty where nothing was tested."""
    return "; ".join(f"{limit.value}: {listed([one.variant.title for one in held])}" for limit, held in at_limits(found))


def in_the_cache(facts: RunFacts) -> Decision | None:
    """The decision of a claim on HBM traffic where the cache may hold the score matrix; a shared gate."""
    doubt = cached(facts)
    return doubt and decide(doubt.value, scores=Bytes(facts.workload.score_bytes), cache=Bytes(facts.device.l2_cache_bytes or 0))


def ratio_cell(facts: RunFacts, variant: VariantFacts) -> str | Ratio | None:
    """Counted bytes ÷ operand bytes where the cache allows it, else the words that say why not; `None` where nothing was counted."""
    ratio, doubt = operand_ratio(facts, variant), why_no_ratio(facts)
    if ratio is not None:
        return Ratio(ratio)
    return None if doubt is None or forward_traffic(variant) is None else _NO_RATIO[doubt]


def ratio_notes(facts: RunFacts, shown: Sequence[VariantFacts]) -> tuple[str, ...]:
    """What is to stand under a table with `ratio_cell`s of these variants."""
    return (_NO_RATIO_NOTE,) if why_no_ratio(facts) is CacheDoubt.MAY_HOLD and any(forward_traffic(variant) for variant in shown) else ()


def percent(share: float) -> Percent:
    """A share of 1 as percent with one decimal, as sentences want it."""
    return Percent(round(100 * share, 1))


def by_role(found: Sequence[tuple[str, ActivityFacts]]) -> str | None:
    """`cast of SDPA math (144 MiB requested, 61.3 MiB counted)`, one per variant and role."""
    groups: dict[tuple[str, str], list[ActivityFacts]] = {}
    for title, activity in found:
        groups.setdefault((title, activity.role), []).append(activity)
    return listed([f"{role} of {title} ({Bytes(sum(requested(a) or 0 for a in alike))} requested, {Bytes(sum(activity_dram_bytes(a) or 0 for a in alike))} counted)"
                   for (title, role), alike in groups.items()]) or None


BEYOND_CACHE = Need("a score matrix that the last-level cache cannot hold", in_the_cache)
