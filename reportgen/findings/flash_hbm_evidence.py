"""Tables and charts of the flash and HBM page: where the time goes, against which ceiling, and who keeps the scores."""

from __future__ import annotations

from ..analysis import RunFacts, VariantFacts
from ..analysis.bounds import AGREEMENT, ENOUGH, Bound, Limit, bounds, limits_told, requested, shares
from ..analysis.kernels import in_tf32
from ..analysis.traffic import activity_dram_bytes, dram_bytes
from ..questions import drawings
from ..questions.kernel_tables import parts_table
from ..questions.limit_words import WORDS, percent, ratio_cell, ratio_notes
from ..questions.model import Chart, Evidence
from ..run import Ceilings
from ..saying.tables import Table, columns
from ..saying.units import Bytes, BytesPerSecond, FlopPerSecond, Percent, Ratio, Seconds

STEPWISE = ("naive_inplace", "sdpa_math")


def evidence(facts: RunFacts) -> Evidence:
    shown = [facts.variants[name] for name in STEPWISE if name in facts.variants and facts.variants[name].activities]
    tables, charts = [], []
    if facts.ceilings and facts.ceilings.copy_bytes_per_s:
        tables += [_bound_table(variant, facts.ceilings, limits_told(facts, variant), explained=variant is not shown[0]) for variant in shown]
        charts += _limit_chart([variant for variant in shown if limits_told(facts, variant)], facts.ceilings)
    tables += _memory_table(facts)
    flash = facts.variants.get("sdpa_flash")
    return Evidence(tables=(*tables, *(parts_table(flash) if flash else ())), charts=tuple(charts),
                    pictures=(*drawings.memory("flash-hbm-memory", facts), *drawings.tiling("flash-hbm-tiling", facts)))


def _bound_table(variant: VariantFacts, ceilings: Ceilings, told: bool, explained: bool) -> Table:
    """explained: a table above it says already what its columns mean."""
    found = bounds(variant, ceilings)
    total = sum(one.activity.duration for one in found)
    rows = tuple((*_bound_row(one, total)[:-1], "not told") if not told else _bound_row(one, total) for one in found)
    notes = [] if explained else [f"Near copy speed: bytes ÷ time reach {Percent(100 * ENOUGH)} of {BytesPerSecond(ceilings.copy_bytes_per_s or 0)}, the copy of this run. "
             f"Near matmul speed: FLOP ÷ time reach {Percent(100 * ENOUGH)} of the matmul of this run on the same unit{_units(ceilings)}. The line is a convention, and no verdict rests on it.",
             f"Requested bytes are modelled from the shapes: what a step must read and write once. Where hardware counters confirm them within {Percent(100 * AGREEMENT)}, or there "
             "are none, they decide; else the counted bytes do."]
    if not told:
        notes.append("Nothing is told here: the last-level cache may hold the score matrix, so what a step asks for need not reach memory, and nothing was counted.")
    if any(in_tf32(one.activity) for one in found):
        notes.append("No matmul of this run was measured in TF32, so those that use it have no share of a matmul ceiling.")
    return Table(columns("Step", "Kind", "#Time (µs)", "#Share of GPU time", "#Requested bytes", "#Counted DRAM bytes", "#Of the copy ceiling", "#Of the matmul ceiling", "Runs near"),
                 rows, caption=f"Where the GPU time of {variant.title} goes, and how near each activity comes to copy and matmul speed.", notes=tuple(notes))


def _units(ceilings: Ceilings) -> str:
    if not (ceilings.matmul_flop_per_s and ceilings.fp32_flop_per_s):
        return ""
    return f" ({FlopPerSecond(ceilings.matmul_flop_per_s)} in the workload's type, {FlopPerSecond(ceilings.fp32_flop_per_s)} in FP32)"


def _bound_row(one: Bound, total: float) -> tuple[object, ...]:
    activity, moved = one.activity, requested(one.activity)
    counted = activity_dram_bytes(activity) if activity.kind == "kernel" else None
    return (activity.role, activity.kind, Seconds(activity.duration).us(), percent(activity.duration / total) if total else None,
            None if moved is None else Bytes(moved), None if counted is None else Bytes(counted),
            None if one.byte_share is None else percent(one.byte_share), None if one.flop_share is None else percent(one.flop_share),
            _cell(one.limit))


def _cell(limit: Limit) -> str:
    return {Limit.HBM: "copy speed", Limit.ARITHMETIC: "matmul speed", Limit.NEITHER: "neither", Limit.UNKNOWN: "not known"}[limit]


def _memory_table(facts: RunFacts) -> list[Table]:
    scores = facts.workload.score_bytes
    shown = [variant for variant in facts.six if variant.peak_memory_bytes is not None]
    if not shown:
        return []
    rows = []
    for variant in shown:
        counted, peak = dram_bytes(variant), variant.peak_memory_bytes or 0
        rows.append((variant.title, Bytes(peak), Ratio(peak / scores), None if counted is None else Bytes(counted), ratio_cell(facts, variant)))
    note = (f"The score matrix is {Bytes(scores)}; Q, K, V and the output together (the operands) are {Bytes(facts.workload.operand_bytes)}; "
            f"the last-level cache is {Bytes(facts.device.l2_cache_bytes) if facts.device.l2_cache_bytes else 'not recorded'}.")
    return [Table(columns("Variant", "#Peak memory above the inputs", "#÷ score matrix", "#Counted DRAM bytes", "#÷ operands"), tuple(rows),
                  caption="Memory that one forward needs, beside the size of the score matrix.",
                  notes=(note, *ratio_notes(facts, shown)))]


def _limit_chart(shown: list[VariantFacts], ceilings: Ceilings) -> list[Chart]:
    if not shown:
        return []
    found = [bounds(variant, ceilings) for variant in shown]
    times = {limit: [1e6 * sum(one.activity.duration for one in each if one.limit is limit) for each in found] for limit in Limit}
    times = {limit: values for limit, values in times.items() if any(values)}
    series = [(WORDS[limit], values) for limit, values in times.items()]
    said = "; ".join(f"{variant.title} {percent(shares(each)[Limit.HBM])} of {Seconds(sum(one.activity.duration for one in each))}"
                     for variant, each in zip(shown, found))
    data = {"labels": [variant.title for variant in shown], "series": series, "keys": [f"limit:{limit.value}" for limit in times], "unit": "µs"}
    return [Chart("flash-hbm-limits", "stacked", data, alt=f"GPU time by the speed that each activity comes near. Near copy speed: {said}.", caption="GPU time of one forward, by the speed that each activity comes near.")]
