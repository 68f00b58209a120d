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
        "Through DRAM go, in one forward: {moved}. Q, K, V and the output, each once, are {operands}.",
        because=(Because("factor", "{most} moves {factor} as much as {least}."),
                 Because("from_trace", "No counter sees copies and memsets. By the trace they are {from_trace}.")),
        caveats=(Because("uncounted", "Not counted: {uncounted}."),)),
    "modelled": answer(
        "By the model, one forward asks for: {asked}. Q, K, V and the output, each once, are {operands}.",
        caveats=(Because("unmodelled", "Not modelled: {unmodelled}."),)),
    "not-modelled": answer("Not known: nothing was counted, and no variant's steps are all modelled."),
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
        "No ratio to the operands is given here: they are {operands}, and the last-level cache holds {cache}. They can stay in it from one forward to the next, so a low count "
        "proves no thrift. From {needed} of operands on, {times} times the cache, the ratio would mean something.",
        because=(Because("below", "It shows: {below} {move} operands, because a part of them was in the cache before or had not left it after."),)),
    CacheDoubt.SIZE_UNKNOWN.value: answer("No ratio to the operands is given here: the size of the last-level cache was not recorded, so nobody can say whether the operands stay in it."),
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
    "agree": answer("Yes: in every kernel that takes {rules[weighty]} of its variant's time or more, what was counted lies within {within} of what the step asks for."),
    "apart": answer(
        "Not everywhere: of the kernels that take {rules[weighty]} of their variant's time or more, a part differs by more than {within}. In the others of these the count confirms the model.",
        because=(Because("below", "Fewer bytes than asked for: {below}. What a step reads may still be in the cache, and what it writes may leave the cache after its end."),
                 Because("above", "More bytes than asked for: {above}. A step may read something more than once, or push lines out that an earlier one had left in the cache."))),
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
    "counted": answer("A copy reaches {ceiling} here. At that rate the operands alone take {floor}, and the counted bytes take: {parts}."),
    "modelled": answer("A copy reaches {ceiling} here. At that rate the operands alone take {floor}, and by the model the bytes that the steps ask for take: {parts}."),
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
        Question("bytes-ratio", "How much is that for each byte of the operands?", ratio_rule, RATIO_ANSWERS),
        Question("bytes-agree", "Do counted and requested bytes agree?", agree_rule, AGREE_ANSWERS),
        Question("bytes-floor", "How much of the time do the bytes explain?", floor_rule, FLOOR_ANSWERS),
    ),
    evidence=evidence,
    section="readings",
)
