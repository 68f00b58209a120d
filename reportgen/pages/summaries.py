"""The four tables that the front page and each device page lead with. Rows are variants, in their own order."""

from __future__ import annotations

from dataclasses import replace

from ..analysis import RunFacts, State, VariantFacts, published
from ..analysis.kernels import main_kernel
from ..hardware.occupancy import StepKey
from ..numbers import quantities
from ..numbers.statistics import Estimate
from ..questions import needs
from ..questions.evaluate import fill
from ..questions.gates import GATES
from ..questions.needs import refusal
from ..questions.ranked import timers_used, wrong_said
from ..questions.residency import explained, field
from ..questions.shared import MASKED_ROW
from ..saying.tables import Link, Table, columns
from ..saying.units import Count, Percent, extent, listed
from .cells import error, interval, ratio_interval, us

PAIR = ("naive_inplace", "sdpa_math")
SHOWN_OCCUPANCY = ("sdpa_flash", "sdpa_cudnn")


def variant_link(variant: VariantFacts, mark: str = "") -> Link:
    return Link(f"{variant.title}{mark}", f"variants/{variant.id}.md")


def kernel_counts(facts: RunFacts) -> Table:
    """Predicted, article, here; kernels, memcpys and memsets apart."""
    rows = []
    for variant in facts.variants.values():
        article = published.of(variant.id, "activities") if published.same_workload(facts) else None
        rows.append((variant_link(variant), Count(len(variant.prediction)) if variant.prediction else None,
                     None if article is None else Count(article), variant.kernels, variant.memcpys, variant.memsets, variant.observed))
    blind = [v.title for v in facts.variants.values() if v.ok and v.kernels is None and v.trace_loss is None]
    lost = tuple(f"{v.title}: {one.reason}, so nothing is counted." for v in facts.variants.values() for one in v.lost if one.what == "GPU records")
    notes = (*why_nots(facts), *(lost if facts.has_gpu_lane else ()))
    if blind:
        notes = (*notes, f"No GPU activity of {listed(blind)} is known, so there is nothing to count." if facts.has_gpu_lane else
                 "This run's trace has no GPU lane, so there is nothing to count.")
    return without_empty(Table(columns("Variant", "#Predicted", "#Article", "#Kernels", "#Memcpys", "#Memsets", "#All"), tuple(rows),
                 "GPU activities of one forward: what the code lets one expect, what the article's trace showed, and what this device's trace shows.", notes))


def counts_missing(facts: RunFacts) -> str:
    """Why there is no table of kernel counts on this run; empty where there is one."""
    if any(variant.kernels is not None for variant in facts.variants.values()):
        return ""
    return "This run's trace has no GPU lane, so there are no kernels to count."


def slowdown(facts: RunFacts) -> Table:
    """Math against naive in place, process by process, beside the article's ratio."""
    rows: list[tuple[object, ...]] = []
    said = published.load()
    if facts.ok("naive_inplace", "sdpa_math"):
        fast, slow = facts.variants["naive_inplace"], facts.variants["sdpa_math"]
        for name, quantity in (("GPU time", "gpu_time"), ("GPU time, cold cache", "gpu_time_cold"), ("wall time", "wall_time")):
            first, second, found = slow.time(quantity), fast.time(quantity), facts.compare(quantity, slow.id, fast.id)
            if first is not None and second is not None and found is not None:
                rows.append((f"Here, {name}", us(second), us(first), ratio_interval(found.ratio)))
    article = tuple(published.of(name, "gpu_time") for name in ("naive_inplace", "sdpa_math"))
    if all(article) and published.same_workload(facts):
        rows.append((f"Article, {said['device']['name']}, GPU time", us(article[0]), us(article[1]), f"{said['math_slowdown']}"))
    timers = timers_used(facts, PAIR)
    compared = [f"The article's times are averages under the profiler; the GPU times here are medians of {timers} without it."] if timers and all(article) and published.same_workload(facts) else []
    notes = compared if facts.ok("naive_inplace", "sdpa_math") else [why_not(facts.variants.get(n)) for n in ("naive_inplace", "sdpa_math") if not facts.ok(n)]
    if not published.same_workload(facts):
        notes.append(f"The article's values belong to its own workload, so they do not stand here; this one: {facts.workload.describe()}.")
    return Table(columns("Where", "#Naive in place (µs)", "#SDPA math (µs)", "#Ratio (lowest to highest process)"), tuple(rows),
                 "The math backend beside naive attention with in-place masking.", tuple(notes))


def cpu_bill(facts: RunFacts) -> Table:
    """Host time unprofiled, profiled and first call, with GPU time beside it."""
    rows = []
    for variant in facts.variants.values():
        if not variant.ok:
            continue
        rows.append((variant_link(variant), us(variant.host_time), interval(variant.host_time), us(variant.profiled_host_time),
                     us(published.of(variant.id, "cpu_time")) if published.same_workload(facts) else None,
                     spread(variant.first_call), us(variant.gpu_time), us(variant.wall_time)))
    return without_empty(Table(columns("Variant", "#Host time (µs)", "#Lowest to highest (µs)", "#Under the profiler (µs)", "#Article, profiler (µs)", "#First call",
                         "#GPU time (µs)", "#Wall time (µs)"),
                 tuple(rows), "What one call costs the CPU: in steady state without a profiler, under the profiler (the article's quantity), and on the first call.",
                 why_nots(facts)), NOTHING_IN)


def occupancy_steps(facts: RunFacts, names: tuple[str, ...] = SHOWN_OCCUPANCY) -> tuple[Table, ...]:
    """One table per variant: every step of the occupancy arithmetic as numbers, then the profiler's field."""
    out = []
    for name in names:
        variant = facts.variants.get(name)
        kernel = main_kernel(variant)
        if variant is None or kernel is None or kernel.occupancy is None:
            continue
        rows: list[tuple[object, ...]] = [(step.what, step.expression, _result(step.result)) for step in kernel.occupancy.steps
                                          if step.key is not StepKey.THEORETICAL]
        rows.append(("theoretical occupancy", f"{kernel.occupancy.resident_warps} of {kernel.occupancy.max_warps} warps", Percent(kernel.occupancy.theoretical)))
        if kernel.counters and kernel.counters.theoretical_pct is not None:
            rows.append(("theoretical occupancy, a second time", "Nsight Compute, from the launch as well", Percent(kernel.counters.theoretical_pct)))
        if kernel.counters and kernel.counters.achieved_pct is not None:
            rows.append(("achieved occupancy", "on average while it ran, counted by the hardware", Percent(kernel.counters.achieved_pct)))
        rows.append(("the profiler's field", "as written in the trace", field(kernel.profiler_occupancy)))
        if published.same_workload(facts) and published.of(name, "profiler_occupancy") is not None:
            rows.append(("the article's profiler", published.load()["device"]["name"], Percent(published.of(name, "profiler_occupancy"))))
        why = (said,) if (said := explained(kernel)) else ()
        limit = " and ".join(kernel.occupancy.limiters)
        out.append(Table(columns("Step", "Arithmetic", "#Result"), tuple(rows), f"**{variant.title}**: limited by {limit}.", why))
    return tuple(out)


def occupancy_missing(facts: RunFacts) -> str:
    """Why there is no occupancy arithmetic on this run; empty where there is some."""
    if occupancy_steps(facts):
        return ""
    if not facts.has_gpu_lane:
        return "This run's trace has no GPU lane, so no kernel was launched whose occupancy could be worked out."
    return "No kernel of flash or cuDNN in this run has the registers and block size, or the architecture, from which occupancy can be worked out."


def without_empty(table: Table, unsaid: str = "") -> Table:
    """`table` without the numeric columns in which no row has a value.

    Args:
        unsaid: a sentence with `{}` for their titles, added as a note where there are any.
    """
    kept = [index for index, column in enumerate(table.columns) if not column.numeric or any(row[index] is not None for row in table.rows)]
    gone = [column.title.removesuffix(" (µs)").removesuffix(" (MiB)") for index, column in enumerate(table.columns) if index not in kept]
    notes = (*table.notes, unsaid.format(listed(gone))) if gone and unsaid else table.notes
    return replace(table, columns=tuple(table.columns[i] for i in kept), rows=tuple(tuple(row[i] for i in kept) for row in table.rows), notes=notes)


def spread(time: Estimate | None) -> str | None:
    """Smallest to largest, for a quantity whose middle would say nothing: what a first call loads depends on what ran before."""
    return None if time is None else extent(time.low, time.high)


NOTHING_IN = "Without a value on this device: {}."


def numbers(facts: RunFacts) -> Table:
    """Every measured quantity, a row per variant."""
    rows, measured = [], [row for row in quantities.times() if row.recorded]
    once = [v.title for v in facts.variants.values() if (time := v.gpu_time or v.wall_time) and len(time.samples) == 1]
    alone = (f"In one process only: {listed(once)}.",) if once else ()
    for variant in facts.variants.values():
        memory = None if variant.peak_memory_bytes is None else f"{variant.peak_memory_bytes / 2**20:,.1f}"
        rows.append((variant_link(variant), variant.state.value, *(spread(variant.time(row.name)) if row.as_range else us(variant.time(row.name)) for row in measured),
                     memory, error(variant.relative_error), masked_row(variant)))
    return without_empty(Table(columns("Variant", "Status", *(f"#{row.head}" if row.as_range else f"#{row.head} (µs)" for row in measured), "#Peak memory (MiB)", "#Relative error", "Fully masked row"),
                 tuple(rows), "Medians of fresh processes; first calls: the smallest to the largest. GPU time is that of the activities alone; wall time is per forward in an eager loop; host time is until the call returns.",
                 (*why_nots(facts), *alone)), NOTHING_IN)


def _result(value: int | float | None) -> object:
    if value is None:
        return "no limit"
    return Count(value) if isinstance(value, int) else value


def masked_row(variant: VariantFacts) -> str | None:
    """What comes out for a query that may see no key, in words."""
    return MASKED_ROW[variant.masked_row.outcome] if variant.masked_row else None


def not_taken(facts: RunFacts, what: str) -> str:
    """Why the run lacks `what`: it is older than the measurement, or did not take it. The sentence is the gate's."""
    decision = needs.older(facts, what)
    said = fill(GATES[decision.case].headline, decision.args)
    return said[:1].upper() + said[1:]


def why_not(variant: VariantFacts | None) -> str:
    """Why a variant has no results, as a sentence or two."""
    if variant is None:
        return "This run was recorded before one of these variants was added."
    if variant.state is State.RECORDED_BEFORE:
        return f"{variant.title}: {variant.reason}."
    if variant.state is State.WRONG:
        return f"{wrong_said(variant)} ran and gave a wrong result, so none of its numbers counts."
    if not variant.reason:
        return f"{variant.title}: {variant.state.value}."
    return f"{variant.title} ({variant.state.value}): {refusal(variant.reason)}."


def why_nots(facts: RunFacts) -> tuple[str, ...]:
    """Why variants have no results, those that share a reason in one sentence."""
    reasons: dict[tuple[State, str], list[VariantFacts]] = {}
    for variant in facts.variants.values():
        if not variant.ok:
            reasons.setdefault((variant.state, variant.reason or ""), []).append(variant)
    return tuple(why_not(replace(group[0], title=listed([v.title for v in group]))) for group in reasons.values())
