"""Flash's occupancy: does it follow from its registers, and is it the article's value?"""

from __future__ import annotations

from ..analysis import FUSED, ActivityFacts, RunFacts, published
from ..analysis.kernels import main_kernel
from ..analysis.ranking import rank
from ..analysis.residency import check, opted_in
from ..hardware.arch_limits import SmLimits
from ..hardware.occupancy import agree
from ..questions import drawings, needs
from ..questions.bar_charts import number_bars
from ..questions.model import Advice, Because, Case, Chart, Decision, Evidence, Finding, claim, decide, not_measurable
from ..questions.residency import SOURCES, achieved, field, kernels_table, residency_args, steps_table
from ..questions.shared import other_workload, software
from ..questions.thresholds import rules
from ..saying.units import Percent, Seconds

_BECAUSE = (
    Because("limiters", "Limited by {limiters}: {registers} registers × {threads} threads and {shared} of shared memory leave room for {blocks} of {warps} per SM."),
    Because("achieved", "Measured: {achieved} of the warp slots were occupied on average; the theoretical value is the upper bound."),
    Because("at_most", "{registers} registers are the maximum per thread, so the compiler may have spilled values to memory; this run does not count that."),
    Because("faster_than", "Low occupancy does not make it slow: flash takes {flash_time} of GPU time, {faster_than} at {other_occupancy} takes {other_time}."),
)
_CAVEATS = (Because("other_limiter", "Here {other_limiter} limits it, not registers as on the article's GPU."),)
_ADVICE = (Advice("Do not tune a kernel for occupancy.",
                  "Find out first what limits its time: a few large blocks that keep their tiles in registers can be the design.", needs="faster_than"),)
"""Where this run has a slower kernel of higher occupancy."""

OCCUPANCY_CASES: dict[str, Case] = {
    "follows": Case(
        "holds",
        "Flash's occupancy is {value}: {blocks} of {warps} fit on an SM that holds {slots}. {source} shows {reading}{and_achieved}.",
        because=_BECAUSE, caveats=_CAVEATS, advice=_ADVICE),
    "other-value": Case(
        "differs",
        "Flash's occupancy is {value} here, not about {claimed}: {blocks} of {warps} fit on an SM that holds {slots}.",
        because=(*_BECAUSE, Because("source", "{source} shows {reading}.")), caveats=_CAVEATS, advice=_ADVICE),
    "disagrees": Case(
        "differs",
        "{source} shows {reading} for flash's kernel, but the arithmetic gives {value}.",
        because=(_BECAUSE[0],), caveats=_CAVEATS,
        advice=(Advice("Trust the tool over this page's arithmetic: a limit that the trace does not record must be at "
                "work."),)),
    "unchecked": not_measurable(
        "the arithmetic gives {value} for flash, and this run has nothing to check it against ({unchecked}).", partly=True),
}


def flash_occupancy_rule(facts: RunFacts) -> Decision:
    kernel, claimed = main_kernel(facts.variants["sdpa_flash"]), published.of("sdpa_flash", "occupancy")
    if kernel is None or kernel.occupancy is None:
        return decide("no-arithmetic", what="SDPA flash", device=facts.device.name)
    second = check(kernel, facts)
    args = {**residency_args(kernel), **_neighbour(facts, kernel), "software": software(facts, "torch"), "claimed": Percent(claimed),
            "source": second and SOURCES[second.source], "reading": second and Percent(second.reading), "achieved": achieved(kernel), "at_most": kernel.registers == SmLimits.registers_per_thread,
            "and_achieved": f"; measured: {achieved(kernel)} on average" if achieved(kernel) is not None else ""}
    if second and not second.agrees:
        return decide("disagrees", **args)
    if other_workload(facts):
        return decide("other-workload", workload=facts.workload.describe())
    if not agree(kernel.occupancy.theoretical, claimed):
        return decide("other-value", **args)
    if second is None:
        return decide("unchecked", **args, unchecked=_nothing_to_check(kernel, facts))
    return decide("follows", **args)


def _neighbour(facts: RunFacts, kernel: ActivityFacts) -> dict[str, object]:
    """A slower fused backend with a higher occupancy, where this run has one."""
    flash, ranking = facts.variants["sdpa_flash"], rank(facts, "gpu_time", FUSED)
    slower = ranking.place(flash.id).slower if flash.id in ranking.order else ()
    for name in FUSED:
        other = facts.variants.get(name)
        beside = main_kernel(other)
        if (other and beside and beside.occupancy and kernel.occupancy and flash.gpu_time and other.gpu_time
                and beside.occupancy.theoretical > kernel.occupancy.theoretical and name in slower):
            return {"faster_than": other.title, "other_occupancy": Percent(beside.occupancy.theoretical),
                    "flash_time": Seconds(flash.gpu_time.median), "other_time": Seconds(other.gpu_time.median)}
    return {"faster_than": None}


def _nothing_to_check(kernel: ActivityFacts, facts: RunFacts) -> str:
    counters = facts.variants["sdpa_flash"].counters_reason or facts.counters_reason or "not taken"
    if kernel.profiler_occupancy is None:
        return f"no counters: {counters}; no field in the trace"
    if opted_in(kernel):
        return f"no counters: {counters}; and the profiler's {Percent(kernel.profiler_occupancy)} is a false zero, because the kernel uses more than {rules()['default_shared']} of shared memory"
    return f"no counters: {counters}; and the profiler's {Percent(kernel.profiler_occupancy)} does not describe full SMs"


def evidence(facts: RunFacts) -> Evidence:
    flash = facts.variants.get("sdpa_flash")
    kernel = main_kernel(flash)
    steps = steps_table(flash, kernel) if flash and kernel else ()
    return Evidence(tables=(*steps, *kernels_table(facts)), charts=_chart(facts), pictures=drawings.slots("flash-occupancy-slots", facts))


def _chart(facts: RunFacts) -> tuple[Chart, ...]:
    shown = [(facts.variants[name], main_kernel(facts.variants[name])) for name in FUSED if name in facts.variants]
    known = [(variant, kernel, kernel.occupancy.theoretical) for variant, kernel in shown if kernel and kernel.occupancy]
    said = "; ".join(f"{variant.title} {Percent(value)} by arithmetic, {_field(kernel)} by the profiler" for variant, kernel, value in known)
    marks = [kernel.profiler_occupancy if (kernel.profiler_occupancy or 0) >= 0 else None for _, kernel, _ in known]
    marked = any(mark is not None for mark in marks)
    return number_bars(
        "flash-occupancy", [(variant, value) for variant, _, value in known], "%",
        alt=f"Theoretical occupancy of the fused kernels: {said}.",
        caption="Occupancy from the launch" + (" (bars) and the profiler's field (marks)." if marked else "."),
        reference=marks if marked else None, reference_label="the profiler's field" if marked else None) if known else ()


def _field(kernel: ActivityFacts) -> str:
    found = field(kernel.profiler_occupancy)
    return "nothing" if found is None else str(found)


FINDING = Finding(
    slug="flash-occupancy",
    title="Flash: an odd occupancy, worked out",
    question="Why is flash's occupancy so low, and does that make it slow?",
    questions=(
        claim("flash-occupancy", "Flash's occupancy follows from its registers: 2 blocks of 4 warps, about 12.5 %.", flash_occupancy_rule, OCCUPANCY_CASES, needs=(needs.lane("sdpa_flash"),)),
    ),
    evidence=evidence,
)
