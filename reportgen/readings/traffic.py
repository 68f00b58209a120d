"""Where the bytes go: what the steps ask for, what was counted at the door to memory, and what would be the least."""

from __future__ import annotations

from ..analysis import RunFacts
from ..analysis.bounds import AGREEMENT, WORTH_NAMING, apart, asked_for, requested, weighty
from ..analysis.kernels import readable
from ..analysis.traffic import OPERANDS_BEYOND_CACHE, CacheDoubt, activity_traffic, best, forward_traffic, operand_ratio, why_no_ratio
from ..questions import needs
from ..questions.limit_words import by_role
from ..questions.model import Because, Case, Decision, Finding, Question, answer, decide
from ..saying.units import Bytes, BytesPerSecond, Percent, Ratio, Seconds, listed, verb
from .base import percent, time
from .traffic_evidence import evidence

FORWARD_ANSWERS: dict[str, Case] = {
    "counted": answer(
        "DRAM traffic of one forward: {moved}. Q, K, V and the output, once each, are {operands}.",
        because=(Because("factor", "{most} moves {factor} as much as {least}."),
                 Because("from_trace", "Of it, copies and memsets, from the trace because counters do not see them: {from_trace}.")),
        caveats=(Because("uncounted", "Not counted: {uncounted}."),)),
    "modelled": answer(
        "Bytes requested by one forward (modelled): {asked}. Q, K, V and the output, once each, are {operands}.",
        caveats=(Because("unmodelled", "Not modelled: {unmodelled}."),)),
    "not-modelled": answer("Not known: no counters ran, and no variant is modelled in full."),
}


def forward_rule(facts: RunFacts) -> Decision:
    shown = readable(facts)
    if not shown:
        return decide("no-kernels")
    operands, counted = Bytes(facts.workload.operand_bytes), {v.title: t for v in shown if (t := forward_traffic(v))}
    if counted:
        most, least = max(counted, key=lambda name: counted[name].total), min(counted, key=lambda name: counted[name].total)
        traced = [f"{Bytes(t.from_trace)} in {name}" for name, t in counted.items() if t.from_trace >= WORTH_NAMING * t.total]
        return decide("counted", operands=operands, moved=listed([f"{name} {Bytes(t.total)}" for name, t in counted.items()]), most=most, least=least,
                      factor=Ratio(counted[most].total / counted[least].total) if len(counted) > 1 and counted[least].total else None, from_trace=listed(traced),
                      uncounted=listed([v.title for v in shown if v.title not in counted]))
    modelled = {v.title: size for v in shown if (size := asked_for(v)) is not None}
    if not modelled:
        return decide("not-modelled")
    return decide("modelled", operands=operands, asked=listed([f"{name} {Bytes(size)}" for name, size in modelled.items()]),
                  unmodelled=listed([v.title for v in shown if v.title not in modelled]))


RATIO_ANSWERS: dict[str, Case] = {
    "ratio": answer("Counted bytes ÷ operand bytes: {ratios}. At {once} every operand crosses once and nothing else does.",
                    caveats=(Because("below", "Below {once}, as in {below}, a part was still in the cache when counting began or ended."),)),
    CacheDoubt.MAY_HOLD.value: answer(
        "No ratio is given: the operands ({operands}) can stay in the last-level cache ({cache}) between forwards, so a low count "
        "may only mean that the cache served them. The ratio is meaningful from {needed} of operands, {times} times the cache.",
        because=(Because("below", "It shows: {below} {move} operands."),)),
    CacheDoubt.SIZE_UNKNOWN.value: answer("No ratio is given: the size of the last-level cache was not recorded, so the operands may stay in it."),
}


def ratio_rule(facts: RunFacts) -> Decision:
    shown = readable(facts)
    if not shown:
        return decide("no-kernels")
    counted = [(v, t) for v in shown if (t := forward_traffic(v))]
    if not counted:
        return decide("not-counted", what="any variant")
    operands, cache = facts.workload.operand_bytes, facts.device.l2_cache_bytes or 0
    less = [v.title for v, t in counted if t.total < operands]
    below = listed(less)
    why = why_no_ratio(facts)
    if why:
        return decide(why.value, operands=Bytes(operands), cache=Bytes(cache), needed=Bytes(OPERANDS_BEYOND_CACHE * cache), times=OPERANDS_BEYOND_CACHE, below=below, move=verb(less, "moves less than its", "move less than their"))
    return decide("ratio", ratios=listed([f"{v.title} {Ratio(operand_ratio(facts, v) or 0.0)}" for v, _ in counted]), once=Ratio(1.0), below=below)


AGREE_ANSWERS: dict[str, Case] = {
    "agree": answer("Yes: in every kernel with {rules[weighty]} of its variant's time or more, counted and requested bytes agree within {within}."),
    "apart": answer(
        "Not everywhere: of the kernels with {rules[weighty]} of their variant's time or more, some differ by more than {within}. The count confirms the model for the others.",
        because=(Because("below", "Fewer bytes than requested: {below}. Reads may come from the cache, and writes may leave it after the step."),
                 Because("above", "More bytes than requested: {above}. A step may read something more than once, or evict lines that an earlier step wrote."))),
}


def agree_rule(facts: RunFacts) -> Decision:
    shown = readable(facts)
    if not shown:
        return decide("no-kernels")
    kernels = [(v.title, a) for v in shown for a in v.activities
               if a.kind == "kernel" and activity_traffic(a) and requested(a) is not None and weighty(a, v)]
    if not kernels:
        return decide("not-counted", what="any kernel whose bytes are modelled")
    odd = [(title, a) for title, a in kernels if apart(a)]
    below = [(title, a) for title, a in odd if (t := activity_traffic(a)) and t.total < (requested(a) or 0.0)]
    above = [(title, a) for title, a in odd if (title, a) not in below]
    return decide("apart" if odd else "agree", within=Percent(100 * AGREEMENT), below=by_role(below), above=by_role(above))


FLOOR_ANSWERS: dict[str, Case] = {
    "counted": answer("A copy reaches {ceiling} here. At that rate the operands alone take {floor}, and the counted bytes: {parts}."),
    "modelled": answer("A copy reaches {ceiling} here. At that rate the operands alone take {floor}, and the requested bytes (modelled): {parts}."),
}


def floor_rule(facts: RunFacts) -> Decision:
    shown = readable(facts)
    if not shown:
        return decide("no-kernels")
    floor, ceiling = best(facts), facts.ceilings.copy_bytes_per_s if facts.ceilings else None
    if floor is None or not ceiling:
        return needs.no_ceilings(facts)
    counted = any(forward_traffic(v) for v in shown)
    sizes = [(v, traffic.total if (traffic := forward_traffic(v)) else None if counted else asked_for(v)) for v in shown]
    parts = [f"{v.title} {Seconds(size / ceiling)} of its {Seconds(seconds)} ({percent(size / ceiling, seconds)})"
             for v, size in sizes if size is not None and (seconds := time(v))]
    if not parts:
        return decide("no-times")
    return decide("counted" if counted else "modelled", ceiling=BytesPerSecond(ceiling), floor=Seconds(floor.by_bytes), parts=listed(parts))


READING = Finding(
    slug="bytes",
    title="Where the bytes go",
    question="How many bytes cross to memory in one forward, step by step, and how many would have to?",
    questions=(
        Question("bytes-forward", "How much goes through DRAM in one forward?", forward_rule, FORWARD_ANSWERS),
        Question("bytes-ratio", "How much is that per operand byte?", ratio_rule, RATIO_ANSWERS),
        Question("bytes-agree", "Do counted and requested bytes agree?", agree_rule, AGREE_ANSWERS),
        Question("bytes-floor", "How much of the time do the bytes explain?", floor_rule, FLOOR_ANSWERS),
    ),
    evidence=evidence,
    section="readings",
)
