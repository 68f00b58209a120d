"""The mask step asks for little more than a product on the same scores. Why does it cost so much more?"""

from __future__ import annotations

from ..analysis import RunFacts
from ..analysis.bounds import cached
from ..analysis.mask_step import PROBED, MaskCost, Op, cost, largest, ops, saving
from ..analysis.traffic import CacheDoubt
from ..numbers.statistics import PROCESSES
from ..questions import needs
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, Source, claim, decide, not_measurable
from ..questions.pipe_words import millions
from ..questions.ranked import over_processes, timer_said
from ..questions.shared import OTHER_SHAPE, other_workload
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, BytesPerSecond, Count, Percent, Ratio, Seconds, plural, significant

CODE = {"broadcast": "scores.masked_fill_(mask, -inf)", "full": "scores.masked_fill_(full_mask, -inf)", "mul": "scores.mul_(number)"}
WORDS = {"broadcast": "broadcast mask", "full": "full-size mask", "mul": "product"}

_WHY = (
    Because("kernels", "The kernel names show the cause: {kernels}."),
    Because("counted", "Counted: {counted}."),
    Because("product", "Multiplying the same scores by a number takes {product}; the mask step takes {beside} as long."),
    Because("share", "In {probed} the step is one kernel: in the trace {traced}, {share} of all GPU time there{rank}."),
)
_NOTE = Because("note", "About these times: {note}.")
_CACHED = Because("cached", "The score matrix may fit in the last-level cache here, so these times say little about memory.")

CASES: dict[str, Case] = {
    "not-timed": not_measurable("the mask step could not be timed alone ({reason})."),
    "broadcast": Case(
        "holds",
        "The mask step is slow because the mask is broadcast: `masked_fill_` takes {broadcast} with the `[S, S]` mask and {full} with a full-size copy, "
        "although the copy adds {more} to read ({ratio}; {processes}).",
        because=_WHY, caveats=(_NOTE, _CACHED, OTHER_SHAPE),
        advice=(Advice("If you must apply a mask by hand, expand it once, `mask.expand_as(scores).contiguous()`, and reuse it in every layer and step (saving measured on the op alone).",
                       "It takes {mask_bytes} of memory.", saves="saves"),),
    ),
    "same": Case(
        "within noise",
        "A full-size mask makes no measurable difference: `masked_fill_` takes {full} with it and {broadcast} with the broadcast mask ({ratio}; {processes}).",
        because=_WHY[2:], caveats=(_NOTE, _CACHED, OTHER_SHAPE)),
    "full-slower": Case(
        "differs",
        "Broadcasting the mask costs nothing here: `masked_fill_` takes {full} with a full-size mask and {broadcast} with the broadcast one ({ratio}; {processes}).",
        because=_WHY[2:], caveats=(_NOTE, _CACHED, OTHER_SHAPE),
        advice=(Advice("Let the `[S, S]` mask broadcast.", "A full-size mask takes {mask_bytes} of memory and more time."),)),
}


def rule(facts: RunFacts) -> Decision:
    probe, found = facts.probes.mask_step, cost(facts)
    if probe is None:
        return needs.older(facts, "the mask step alone")
    if found is None:
        return decide("not-timed", reason=(probe.reason or "no times were recorded").rstrip("."))
    if len(found.found.ratio.samples) < PROCESSES:
        return needs.too_few(len(found.found.ratio.samples))
    args = {**_times(found), **_why(facts, found), "note": (probe.note or "").rstrip("."), "cached": cached(facts) is CacheDoubt.MAY_HOLD, "other_workload": other_workload(facts)}
    return decide({"second": "broadcast", "tie": "same", "first": "full-slower"}[found.found.winner], **args, saves=saving(facts, found))


def _times(found: MaskCost) -> dict[str, object]:
    more = (found.full.bytes or 0) - (found.broadcast.bytes or 0)
    return {"broadcast": Seconds(found.broadcast.time.median), "full": Seconds(found.full.time.median), "more": Bytes(more), "mask_bytes": Bytes(_mask_bytes(found)),
            "ratio": Ratio(found.found.ratio.median), "processes": over_processes(found.found.ratio)}


def _mask_bytes(found: MaskCost) -> int:
    """Of the full-size mask: what its op asks for beyond the product, which reads and writes the scores alone."""
    return (found.full.bytes or 0) - (found.mul.bytes or 0)


def _why(facts: RunFacts, found: MaskCost) -> dict[str, object]:
    """What the names, the counters and the trace show; empty where they show nothing."""
    slow, fast = found.broadcast, found.full
    kernels = f"{_named(slow)} computes an index for each element, {_named(fast)} loads several neighbours at once" if found.by_name else ""
    product = Seconds(found.mul.time.median) if found.beside.winner == "second" else None
    step = found.traced
    whole = sum(activity.duration for activity in facts.variants[PROBED].activities) if PROBED in facts.variants else 0.0
    known = step is not None and whole > 0 and found.same
    return {"kernels": kernels, "counted": _counted(slow, fast) if found.by_count else "", "product": product, "beside": Ratio(found.beside.ratio.median), "probed": facts.variants[PROBED].title if known else "",
            "traced": Seconds(step.duration) if step else None, "share": Percent(float(significant(100 * step.duration / whole, 3))) if known and step else None,
            "rank": ", more than any other" if known and step and largest(facts, step) else ""}


def _named(op: Op) -> str:
    return f"`{op.kernel.parts[0].text}`" if op.kernel else ""


def _counted(slow: Op, fast: Op) -> str:
    first, second = slow.counters, fast.counters
    assert first and second and first.instructions is not None and second.instructions is not None
    said = f"{millions(first.instructions)} million warp instructions with the broadcast mask, {millions(second.instructions)} million with the full-size one"
    if first.issue_pct is None or second.issue_pct is None:
        return said
    return f"{said}; the issue slots were busy {Percent(round(first.issue_pct))} and {Percent(round(second.issue_pct))} of the time"


def evidence(facts: RunFacts) -> Evidence:
    probe, found = facts.probes.mask_step, cost(facts)
    if probe is None or found is None:
        return Evidence()
    rows = tuple(_row(facts, name, op) for name, op in ops(found).items())
    table = Table(columns("Op", "#GPU time", "#Requested", "#Rate", "#Of the copy ceiling", "#Warp instructions", "#Issue slots busy", "#ALU pipe", "Kernel"), rows,
                  caption="The mask step with both masks, and a multiplication of the same scores.",
                  notes=(f"Medians of {plural(len(found.found.ratio.samples), 'process', 'processes')}, each op alone, timed by {timer_said(probe.timer)}. Each operand's bytes count once.",))
    return Evidence(tables=(table,), charts=_chart(found))


def _row(facts: RunFacts, name: str, op: Op) -> tuple[object, ...]:
    rate = op.bytes / op.time.median if op.bytes else None
    copy = facts.ceilings.copy_bytes_per_s if facts.ceilings else None
    counters = op.counters
    return (Code(CODE[name]), Seconds(op.time.median), Bytes(op.bytes) if op.bytes else None, BytesPerSecond(rate) if rate else None, Percent(round(100 * rate / copy, 1)) if rate and copy else None,
            Count(round(counters.instructions)) if counters and counters.instructions is not None else None, _percent(counters.issue_pct if counters else None), _percent(counters.alu_pct if counters else None),
            Code(op.kernel.short) if op.kernel else None)


def _percent(value: float | None) -> Percent | None:
    return None if value is None else Percent(round(value, 1))


def _chart(found: MaskCost) -> tuple[Chart, ...]:
    shown = ops(found)
    data = {"labels": [WORDS[name] for name in shown], "values": [op.time.median * 1e6 for op in shown.values()], "low": [op.time.low * 1e6 for op in shown.values()],
            "high": [op.time.high * 1e6 for op in shown.values()], "unit": "µs", "ids": None, "reference": None, "log": False}
    said = ", ".join(f"{WORDS[name]} {Seconds(op.time.median)}" for name, op in shown.items())
    return (Chart("mask-step", "bars", data, alt=f"GPU time of one op on the whole score matrix: {said}.", caption="One op on the whole score matrix, timed alone."),)


FINDING = Finding(
    slug="mask-step",
    title="What the mask step costs",
    question="Masking in place reads and writes every score once, as scaling does. Does it cost the same? If not, why?",
    questions=(
        claim("mask-broadcast", "The mask step is slow because its mask is broadcast.", rule, CASES, source=Source.TEAM),
    ),
    evidence=evidence,
)
