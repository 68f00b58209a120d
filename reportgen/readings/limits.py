"""How far from the limit: what the best could be here, and how much of each ceiling every variant reaches."""

from __future__ import annotations

from ..analysis import RunFacts, VariantFacts
from ..analysis.bounds import bounds, limits_told
from ..analysis.kernels import main_kernel, readable, tensor_cores, uses_tf32
from ..analysis.pipes import kept_busy
from ..analysis.ranking import Standing, rank
from ..analysis.reach import Reach, reach
from ..analysis.roofline import arithmetic_share
from ..analysis.round_trips import Lead, RoundTrips, Slack, round_trips
from ..analysis.traffic import Best, CacheDoubt, best, forward_traffic, forward_work, needed_flop, why_no_ratio
from ..hardware import peaks as device
from ..numbers.quantities import heading
from ..numbers.statistics import MINIMUM_EFFECT
from ..questions import needs, pipe_words
from ..questions.limit_words import percent as share_text
from ..questions.model import Because, Case, Chart, Decision, Evidence, Finding, Question, answer, decide
from ..questions.residency import achieved
from ..questions.shared import multipliers
from ..saying.tables import Table, columns
from ..saying.units import Bytes, BytesPerSecond, Count, Flop, FlopPerSecond, Ratio, Seconds, listed, verb
from .base import percent, time

US = 1e6


BEST_ANSWERS: dict[str, Case] = {
    "arithmetic": answer(
        "The ceilings of this run allow {best} at best: {needed} of unmasked work at {flop_ceiling}. Memory alone would "
        "allow {by_bytes} ({operands} at {copy_ceiling}). {against}: {factor} as long.",
        caveats=(Because("cached", "The operands are smaller than {rules[beyond_cache]} the last-level cache, so part of them may be cached and memory's bound can be undercut."),)),
    "memory": answer(
        "The ceilings of this run allow {best} at best: {operands} (Q, K, V and the output, once each) at {copy_ceiling}. Arithmetic alone would "
        "allow {by_flop} ({needed} at {flop_ceiling}). {against}: {factor} as long.",
        caveats=(Because("cached", "The operands are smaller than {rules[beyond_cache]} the last-level cache, so part of them may be cached and this bound can be undercut."),)),
    "undercut": answer(
        "The ceilings of this run allow {best} at best, yet {fastest} takes {taken}. {causes}."),
}


def best_rule(facts: RunFacts) -> Decision:
    floor, ceilings = best(facts), facts.ceilings
    if floor is None or ceilings is None:
        return needs.no_ceilings(facts)
    timed = [(v, seconds) for v in readable(facts) if (seconds := time(v))]
    if not timed:
        return decide("no-times")
    (quickest, taken), cached = min(timed, key=lambda pair: pair[1]), why_no_ratio(facts) is CacheDoubt.MAY_HOLD
    by_memory = floor.by_bytes > floor.by_flop
    args = {"best": Seconds(floor.time), "by_bytes": Seconds(floor.by_bytes), "by_flop": Seconds(floor.by_flop),
            "needed": Flop(needed_flop(facts)), "operands": Bytes(facts.workload.operand_bytes), "flop_ceiling": FlopPerSecond(ceilings.matmul_flop_per_s or 0),
            "copy_ceiling": BytesPerSecond(ceilings.copy_bytes_per_s or 0), "fastest": quickest.title, "taken": Seconds(taken), "factor": Ratio(taken / floor.time),
            "against": _against(facts, quickest, taken), "cached": cached}
    if taken < floor.time:
        found_there = ", or a part of the operands was found in the cache" if by_memory and cached else ""
        return decide("undercut", **args, causes=f"A ceiling was measured too low, or that time is wrong{found_there}")
    return decide("memory" if by_memory else "arithmetic", **args)


def _against(facts: RunFacts, quickest: VariantFacts, taken: float) -> str:
    """Who is held against the best time: the fastest where one variant is, else whoever has the smallest time."""
    ranking = rank(facts, "gpu_time")
    if ranking.standing is Standing.ONE and ranking.winner == quickest.id:
        return f"{quickest.title}, the fastest here, takes {Seconds(taken)}"
    return f"The smallest GPU time here is that of {quickest.title}, {Seconds(taken)}"


_BESIDE = (
    Because("occupied", "Warp slots occupied on average, counted: {occupied}."),
    Because("pipes", "What each keeps busy, counted: {pipes}. In Nsight Compute: {metrics}."),
    Because("busiest", "The busiest pipe of each: {busiest}."),
    Because("why", "What sets them apart: {why}."),
    Because("pace", "Tiles on the diagonal are computed whole. Counting all work done on Tensor Cores: {pace} of the matmul ceiling."),
)
_BEYOND = Because("beyond", "{beyond} {go} beyond a ceiling, which is impossible: the ceiling was measured too low, or a time is wrong.")
_UNSAID = (
    Because("unsaid", "This run counts no stalls, so it does not show what the warps wait for. Exponentials, for example, count for neither ceiling."),
)

FUSED_ANSWERS: dict[str, Case] = {
    "no-fused": answer("No fused kernel on Tensor Cores was timed here."),
    "neither": answer("No fused kernel reaches {rules[half]} of a ceiling: {shares}.", because=_BESIDE, caveats=(_BEYOND, *_UNSAID)),
    "some": answer("At a threshold of {rules[half]}, {reaching}; {others}.", because=_BESIDE, caveats=(_BEYOND, *_UNSAID)),
    "all": answer("Every fused kernel reaches {rules[half]} of a ceiling: {shares}.", because=_BESIDE, caveats=(_BEYOND,)),
    "uncounted": answer("The bytes of {uncounted} were not counted. What is known: {shares}.", because=_BESIDE, caveats=(_BEYOND, *_UNSAID)),
}


def fused_rule(facts: RunFacts) -> Decision:
    if best(facts) is None:
        return needs.no_ceilings(facts)
    found = reach(facts)
    if not found:
        return decide("no-fused")
    reaching = [one for one in found if one.reaches]
    occupied = [(one.variant.title, value) for one in found if (value := achieved(main_kernel(one.variant)))]
    pace = [(one.variant.title, one.done) for one in found if one.done is not None]
    args = {"shares": _shares(found), "reaching": listed([f"{one.variant.title} reaches a ceiling ({_share(one)})" for one in reaching]),
            "others": f"{verb(len(found) - len(reaching), 'the other reaches', 'the others reach')} none: {_shares([one for one in found if not one.reaches])}", **_beyond(found),
            "occupied": listed([f"{title} {value}" for title, value in occupied]), "pace": listed([f"{title} {share_text(done)}" for title, done in pace]),
            "uncounted": listed([one.variant.title for one in found if one.of_copy is None and not one.reaches]), "pipes": pipe_words.shares(facts), "metrics": pipe_words.metrics_said(), "busiest": pipe_words.busiest_said(facts), "why": pipe_words.why(facts),
            "unsaid": not pipe_words.shares(facts)}
    if args["uncounted"]:
        return decide("uncounted", **args)
    return decide("neither" if not reaching else "all" if len(reaching) == len(found) else "some", **args)


def _beyond(found: list[Reach]) -> dict[str, object]:
    """Those that go beyond a ceiling by more than two measurements of one thing may differ: no evidence, but a fault of it."""
    names = [one.variant.title for one in found if any(share is not None and share > 1 + MINIMUM_EFFECT for share in (one.of_copy, one.of_matmul, one.done))]
    return {"beyond": listed(names), "go": verb(names, "goes", "go")}


def _shares(found: list[Reach]) -> str:
    return "; ".join(f"{one.variant.title} {_share(one)}" for one in found)


def _share(one: Reach) -> str:
    copy = "" if one.of_copy is None else f"{share_text(one.of_copy)} of the copy ceiling and "
    return f"{copy}{share_text(one.of_matmul)} of the matmul ceiling"


_STEPS_BECAUSE = (
    Because("left", "Time beyond the bytes: {left}."),
    Because("busy", "Counted in those that run near neither ceiling, busy instead at {rules[enough]} or more: {busy}."),
)
_STEPS_CAVEATS = (
    Because("modelled", "No counters ran, so bytes are modelled from shapes."),
    Because("unmodelled", "Not known for {unmodelled}: the bytes of some kernels are missing."),
)

STEP_ANSWERS: dict[str, Case] = {
    "one": answer("{said}.", because=_STEPS_BECAUSE, caveats=_STEPS_CAVEATS),
    "several": answer("Of their GPU time, the {count} step-by-step variants spend {passes} in passes over the score matrix and {matmuls} in matmuls. {more}. "
                      "At copy speed, bytes alone would take {bytes} of it{arithmetic}.", because=_STEPS_BECAUSE, caveats=_STEPS_CAVEATS),
    "no-steps": answer("No step-by-step variant ran here."),
    "not-modelled": answer("Not known: the bytes of some steps of {unmodelled} were neither counted nor modelled."),
    "cached": answer("Not known: the score matrix is {scores} and the last-level cache {cache}, so requested bytes need not reach memory, and no counters ran."),
}


def _stepwise(facts: RunFacts) -> list[VariantFacts]:
    return [variant for variant in readable(facts) if sum(a.kind == "kernel" for a in variant.activities) > 1]


def step_rule(facts: RunFacts) -> Decision:
    """Passes and matmuls by the trace, then what bytes and arithmetic alone account for: the figures of `hbm-dominates`."""
    if best(facts) is None:
        return needs.no_ceilings(facts)
    shown = _stepwise(facts)
    if not shown:
        return decide("no-steps")
    if not any(limits_told(facts, variant) for variant in shown):
        return decide("cached", scores=Bytes(facts.workload.score_bytes), cache=Bytes(facts.device.l2_cache_bytes) if facts.device.l2_cache_bytes else "of a size that was not recorded")
    split = [(variant, trips) for variant in shown if limits_told(facts, variant) and (trips := round_trips(facts, variant))]
    known = [(variant, trips) for variant, trips in split if not trips.unknown]
    unmodelled = listed([variant.title for variant, trips in split if trips.unknown])
    if not known:
        return decide("not-modelled", unmodelled=unmodelled)
    return decide("one" if len(known) == 1 else "several", **_shares_of(facts, known), said="; ".join(_said(facts, variant, trips) for variant, trips in known), unmodelled=unmodelled, modelled=not all(trips.counted for _, trips in known),
                  busy="; ".join(f"{variant.title} {said}" for variant, _ in known if (said := _busy(facts, variant))),
                  left="; ".join(f"{variant.title} {listed([_slack(one) for one in trips.slack])}" for variant, trips in known if trips.slack))


def _shares_of(facts: RunFacts, known: list[tuple[VariantFacts, RoundTrips]]) -> dict[str, object]:
    """The smallest to the largest share of each kind, and whose passes take more than its matmuls."""
    flop = [share for variant, _ in known if (share := arithmetic_share(facts, variant)) is not None]
    ahead, behind = ([variant.title for variant, trips in known if trips.lead is lead] for lead in (Lead.PASSES, Lead.MATMULS))
    more = f"Passes take more than matmuls in {'all of them' if len(ahead) == len(known) else listed(ahead) or 'none'}"
    return {"count": Count(len(known)), "passes": _from_to([trips.passes / trips.total for _, trips in known]), "matmuls": _from_to([trips.matmuls / trips.total for _, trips in known]),
            "bytes": _from_to([trips.share for _, trips in known]), "arithmetic": f", and arithmetic alone {_from_to(flop)}" if flop else "",
            "more": f"{more}, less in {listed(behind)}" if behind else more}


def _from_to(found: list[float]) -> str:
    """`58.2 % to 84.1 %`"""
    low, high = str(share_text(min(found))), str(share_text(max(found)))
    return low if low == high else f"{low} to {high}"


def _steps_table(facts: RunFacts) -> tuple[Table, ...]:
    """A row per step-by-step variant whose bytes are known: the figures behind the answer."""
    found = [(variant, trips) for variant in _stepwise(facts) if limits_told(facts, variant) and (trips := round_trips(facts, variant)) and not trips.unknown]
    rows = tuple((variant.title, share_text(trips.passes / trips.total), share_text(trips.matmuls / trips.total), share_text(trips.share),
                  None if (flop := arithmetic_share(facts, variant)) is None else share_text(flop)) for variant, trips in found)
    if len(rows) < 2:
        return ()
    return (Table(columns("Variant", "#Passes over the score matrix", "#Matmuls", "#Bytes at copy speed", "#FLOP at matmul speed"), rows, "Shares of GPU time of each step-by-step variant."),)


def _busy(facts: RunFacts, variant: VariantFacts) -> str:
    assert facts.ceilings is not None
    return pipe_words.busy_said(kept_busy(bounds(variant, facts.ceilings)))


def _said(facts: RunFacts, variant: VariantFacts, trips: RoundTrips) -> str:
    flop = arithmetic_share(facts, variant)
    arithmetic = f", arithmetic alone for {share_text(flop)}" if flop is not None else ""
    return (f"{variant.title} spends {share_text(trips.passes / trips.total)} of its GPU time in passes over the score matrix and {share_text(trips.matmuls / trips.total)} in matmuls; "
            f"at copy speed its bytes account for {share_text(trips.share)}{arithmetic}")


def _slack(one: Slack) -> str:
    return f"{one.role} ({Seconds(one.taken)}, at copy speed {Seconds(one.by_bytes)})"


def evidence(facts: RunFacts) -> Evidence:
    floor = best(facts)
    shown = [variant for variant in readable(facts) if time(variant)]
    if floor is None or not shown:
        return Evidence()
    return Evidence(tables=(_table(facts, shown, floor), *_steps_table(facts), *_peaks(facts, shown)), charts=_chart(shown, floor))


def _table(facts: RunFacts, shown: list[VariantFacts], floor: Best) -> Table:
    ceilings = facts.ceilings
    assert ceilings is not None
    rows = []
    for variant in shown:
        seconds, traffic, kernel = time(variant) or 0.0, forward_traffic(variant), main_kernel(variant)
        on_cores = kernel is not None and any(a.role == "matmul" and tensor_cores(a) == "no" for a in variant.activities)
        matmul = ceilings.fp32_flop_per_s if on_cores else None if uses_tf32(variant) or _other_type(variant) else ceilings.matmul_flop_per_s
        work = forward_work(variant)
        rows.append((variant.title, Seconds(seconds).us(), Ratio(seconds / floor.time), percent(traffic.total / seconds if traffic else None, ceilings.copy_bytes_per_s),
                     percent(needed_flop(facts) / seconds, matmul), percent(work.flop / seconds if work else None, matmul), achieved(kernel)))
    notes = (f"Best here: {Seconds(floor.time)}, the larger of {Seconds(floor.by_bytes)} for the operands at the copy ceiling and {Seconds(floor.by_flop)} for the pairs that count at the matmul ceiling.",
             f"The matmul ceiling is that of the unit that does the products: {_units(facts)}.",
             "Occupancy is the longest kernel's, on average while it ran.",
             *(("No matmul of this run was measured in TF32, so a variant that uses it has no share of a matmul ceiling.",) if any(map(uses_tf32, shown)) else ()))
    return Table(columns("Variant", "#GPU time (µs)", "#÷ the best here", "#Of the copy ceiling (counted bytes)", "#Of the matmul ceiling (pairs that count)", "#Of the matmul ceiling (work done)",
                         "#Occupancy achieved"), tuple(rows), "How much of each limit every variant uses.", notes)


def _units(facts: RunFacts) -> str:
    matrix, other = multipliers(facts)
    return f"{matrix} in the workload's type, or FP32 on {other}" if facts.workload.element_bytes < 4 else "the one that multiplies in the workload's type"


def _other_type(variant: VariantFacts) -> bool:
    """Whether matmuls come after casts, and nobody knows on which unit they run: then neither ceiling is theirs for sure."""
    roles = [a.role for a in variant.activities]
    return "matmul" in roles and "cast" in roles[:roles.index("matmul")] and any(a.role == "matmul" and tensor_cores(a) == "unknown" for a in variant.activities)


def _peaks(facts: RunFacts, shown: list[VariantFacts]) -> tuple[Table, ...]:
    """The same against what the vendor promises, where the datasheet is known."""
    peaks, ceilings = device.peaks(facts.device), facts.ceilings
    if peaks is None or ceilings is None:
        return ()
    matrix, other = multipliers(facts)
    rows: list[tuple[object, ...]] = [("The ceilings of this run", percent(ceilings.copy_bytes_per_s, peaks.memory_bytes_per_s), percent(ceilings.matmul_flop_per_s, peaks.matmul_flop_per_s),
                                       percent(ceilings.fp32_flop_per_s, peaks.fp32_flop_per_s))]
    for variant in shown:
        seconds, traffic, work = time(variant) or 0.0, forward_traffic(variant), forward_work(variant)
        on_cores = any(a.role == "matmul" and tensor_cores(a) == "no" for a in variant.activities)
        done = work.flop / seconds if work else None
        rows.append((variant.title, percent(traffic.total / seconds if traffic else None, peaks.memory_bytes_per_s), None if on_cores or uses_tf32(variant) else percent(done, peaks.matmul_flop_per_s),
                     percent(done, peaks.fp32_flop_per_s) if on_cores else None))
    notes = (f"{peaks.source}: {BytesPerSecond(peaks.memory_bytes_per_s)}, {FlopPerSecond(peaks.matmul_flop_per_s)} on {matrix} in 16 bits, {FlopPerSecond(peaks.fp32_flop_per_s)} in FP32.",)
    return (Table(columns("What", "#Memory", f"#{heading(matrix)}", f"#FP32 on {other}"), tuple(rows), "Shares of the datasheet's peaks.", notes),)


def _chart(shown: list[VariantFacts], floor: Best) -> tuple[Chart, ...]:
    shown = sorted(shown, key=lambda v: time(v) or 0.0)
    said = listed([f"{v.title} {Ratio((time(v) or 0.0) / floor.time)}" for v in shown])
    data = {"labels": [v.title for v in shown], "values": [(time(v) or 0.0) * US for v in shown], "low": None, "high": None, "unit": "µs", "ids": [v.id for v in shown],
            "reference": [floor.time * US] * len(shown), "reference_label": f"the best that the ceilings allow, {Seconds(floor.time)}", "reference_as": "mark"}
    return (Chart("limits-best", "bars", data, alt=f"GPU time over the best possible here, {Seconds(floor.time)}: {said}.",
                  caption="GPU time of one forward. The mark is the best that the measured ceilings allow."),)


READING = Finding(
    slug="limits",
    title="How far from the limit",
    question="How fast could this be at best, and what holds each variant back?",
    questions=(
        Question("limits-best", "What would be the best time here?", best_rule, BEST_ANSWERS, needs=(needs.kernels(),)),
        Question("limits-fused", "Do the fused kernels reach a ceiling?", fused_rule, FUSED_ANSWERS, needs=(needs.kernels(),)),
        Question("limits-steps", "And the step-by-step variants?", step_rule, STEP_ANSWERS, needs=(needs.kernels(),)),
    ),
    evidence=evidence,
    section="readings",
)
