"""Occupancy three ways: worked out from the launch here, by the profiler and by Nsight Compute; and what hardware counted."""

from __future__ import annotations

from math import prod

from ..analysis import ActivityFacts, RunFacts
from ..analysis.bounds import WORTH_NAMING
from ..analysis.kernels import kernels, main_kernel, readable
from ..analysis.residency import false_zero, field_disagrees, occupancy_disagrees
from ..hardware.occupancy import AGREEMENT
from ..questions import needs
from ..questions.bar_charts import number_bars
from ..questions.model import Because, Case, Chart, Decision, Evidence, Finding, Question, answer, decide
from ..questions.residency import kernels_table
from ..saying.markup import code
from ..saying.units import Count, Percent, listed, plural, significant, verb

NAMED = 3
GAP = 0.1
"""Achieved occupancy this far below the theoretical one needs a reason."""
FIRST = ("kernel", "arithmetic", "profiler", "second", "achieved", "limited", "why", "variants")
"""The sources of occupancy stand first, so that a narrow screen shows them beside the kernel."""


def distinct(facts: RunFacts) -> list[ActivityFacts]:
    """Each kernel with its launch once, in the order of the variants."""
    seen: dict[tuple[object, ...], ActivityFacts] = {}
    for variant in readable(facts):
        for kernel in kernels(variant):
            seen.setdefault((kernel.name, kernel.grid, kernel.block, kernel.registers, kernel.shared_memory), kernel)
    return list(seen.values())


COUNTED_ANSWERS: dict[str, Case] = {
    "agree": answer("Yes: for {all} both, Nsight Compute's theoretical occupancy equals ours within {points} points. Neither is measured.",
                    caveats=(Because("single", "{single} could not be compared."),)),
    "disagree": answer("⚠ Not for {odd}: Nsight Compute calculates another theoretical occupancy. For the other {rest} both agree.",
                       because=(Because("details", "{details}. Trust Nsight Compute: a limit that the trace does not record must be at work."),),
                       caveats=(Because("single", "{single} could not be compared."),)),
    "no-arithmetic": answer("Not known: this device's limits are missing here, or the trace lacks the launches' registers."),
}


def counted_rule(facts: RunFacts) -> Decision:
    found = distinct(facts)
    if not found:
        return decide("no-kernels")
    if not any(kernel.occupancy for kernel in found):
        return decide("no-arithmetic")
    both = [k for k in found if k.occupancy and k.counters and k.counters.theoretical_pct is not None]
    if not both:
        return decide("not-counted", what="any kernel")
    odd = [k for k in both if occupancy_disagrees(k)]
    details = [f"{code(k.short)} works out at {Percent(k.occupancy.theoretical)} here and at {Percent(k.counters.theoretical_pct or 0.0)} there"
               for k in odd[:NAMED] if k.occupancy and k.counters]
    args = {"points": f"{AGREEMENT:g}", "all": "the one kernel that has" if len(both) == 1 else f"all {plural(len(both), 'kernel')} that have", "odd": plural(len(odd), "kernel"), "rest": Count(len(both) - len(odd)), "details": "; ".join(details),
            "single": plural(len(found) - len(both), "kernel") if len(found) > len(both) else None}
    return decide("disagree" if odd else "agree", **args)


FIELD_ANSWERS: dict[str, Case] = {
    "all-agree": answer("The profiler's field matches the arithmetic, up to rounding, for {same}."),
    "some-differ": answer("The profiler's field matches the arithmetic, up to rounding, for {same}, and is wrong for {differ}.",
                          because=(Because("false_zeros", "{false_zeros} {use} more than {rules[default_shared]} of shared memory and read 0: the profiler assumes the default limit."),
                                   Because("small_grids", "{small_grids} {have} a grid too small to fill the device: the profiler counts the blocks launched, not those that would fit."))),
    "no-field": answer("Not known: the traces have no occupancy field, or no kernel's occupancy can be calculated."),
}


def field_rule(facts: RunFacts) -> Decision:
    found = distinct(facts)
    if not found:
        return decide("no-kernels")
    both = [k for k in found if k.occupancy and k.profiler_occupancy is not None]
    if not both:
        return decide("no-field")
    differ = [k for k in both if field_disagrees(k)]
    zeros = [k for k in differ if false_zero(k)]
    small = [k for k in differ if k not in zeros and k.occupancy_cause and k.occupancy_cause.cause.small_grid]
    return decide("some-differ" if differ else "all-agree", same=plural(len(both) - len(differ), "kernel"), differ=Count(len(differ)),
                  false_zeros=_of_these(zeros), use=verb(len(zeros), "uses", "use"), small_grids=_of_these(small), have=verb(len(small), "has", "have"))


def _of_these(found: list[ActivityFacts]) -> str | None:
    return f"{Count(len(found))} of these" if found else None


_ONE_WAVE = (Because("one_wave", "{one_wave}. All blocks fit at once and every SM is full, so neither a small grid nor a last wave explains the gap. "
                     "A warp-specialised kernel whose loading warps exit early would look like this, but this run does not show which warps ended."),)

ACHIEVED_ANSWERS: dict[str, Case] = {
    "below": answer("Among kernels with {rules[weighty]} of their variant's time or more, {nearest} comes closest to its theoretical value ({nearest_values}), {farthest} stays "
                    "farthest below ({farthest_values}).",
                    because=_ONE_WAVE),
    "one": answer("{nearest} reaches {nearest_values}.", because=_ONE_WAVE),
}


def achieved_rule(facts: RunFacts) -> Decision:
    weighty = [k for v in readable(facts) for k in kernels(v) if k.duration >= WORTH_NAMING * sum(a.duration for a in v.activities)]
    known = [(k, k.counters.achieved_pct, k.counters.theoretical_pct) for k in weighty if k.counters and k.counters.achieved_pct is not None and k.counters.theoretical_pct]
    if not known:
        return decide("not-counted", what="any kernel")
    order = sorted(known, key=lambda item: -item[1] / item[2])
    near, far = order[0], order[-1]
    args = {"one_wave": "; ".join({k.short: _warps(k, value) for k, value, most in known if _one_wave(facts, k) and value < (1 - GAP) * most}.values()),
            "nearest": code(near[0].short), "nearest_values": _of(near), "farthest": code(far[0].short), "farthest_values": _of(far)}
    return decide("below" if near[0].name != far[0].name else "one", **args)


def _one_wave(facts: RunFacts, kernel: ActivityFacts) -> bool:
    """Whether the grid is exactly what all SMs hold at once."""
    sms, resident = facts.device.sm_count, kernel.occupancy.resident_blocks if kernel.occupancy else 0
    return bool(sms and resident and kernel.grid) and prod(kernel.grid or ()) == (sms or 0) * resident


def _warps(kernel: ActivityFacts, achieved_pct: float) -> str:
    """`` `cudnn sdpa` had 9.00 of its 12 resident warps on average ``."""
    assert kernel.occupancy is not None
    return f"{code(kernel.short)} had {significant(achieved_pct / 100 * kernel.occupancy.max_warps)} of its {Count(kernel.occupancy.resident_warps)} resident warps on average"


def _of(item: tuple[ActivityFacts, float, float]) -> str:
    return f"{Percent(item[1])} of {Percent(item[2])}"


def evidence(facts: RunFacts) -> Evidence:
    return Evidence(tables=kernels_table(facts, FIRST), charts=_chart(facts))


def _chart(facts: RunFacts) -> tuple[Chart, ...]:
    """The longest kernel of each variant: theoretical as bars, achieved as marks."""
    shown = [(v, k) for v in readable(facts) if (k := main_kernel(v)) and k.occupancy]
    if not shown:
        return ()
    marks = [k.counters.achieved_pct if k.counters else None for _, k in shown]
    said = listed([f"{v.title} {Percent(k.occupancy.theoretical)}" + (f" (achieved {Percent(mark)})" if mark is not None else "") for (v, k), mark in zip(shown, marks) if k.occupancy])
    counted = any(mark is not None for mark in marks)
    return number_bars("occupancy-achieved", [(v, k.occupancy.theoretical if k.occupancy else None) for v, k in shown], "%",
                       alt=f"Theoretical occupancy of each variant's longest kernel: {said}.",
                       caption="Theoretical occupancy of each variant's longest kernel" + (". The mark is what was achieved on average, counted." if counted else ", calculated from its launch."),
                       reference=marks if counted else None, reference_label="achieved, counted" if counted else None)


READING = Finding(
    slug="occupancy",
    title="Occupancy three ways",
    question="This page, the profiler and Nsight Compute each work out from the launch how full an SM can be, and hardware counts how full it was. Do they agree?",
    questions=(
        Question("occupancy-counted", "Does Nsight Compute agree?", counted_rule, COUNTED_ANSWERS),
        Question("occupancy-field", "Does the profiler agree?", field_rule, FIELD_ANSWERS),
        Question("occupancy-achieved", "How much is achieved?", achieved_rule, ACHIEVED_ANSWERS, needs=(needs.kernels(),)),
    ),
    evidence=evidence,
    section="readings",
)
