"""Tables and charts of the flash and HBM page: where the time goes, against which ceiling, and who keeps the scores."""

from __future__ import annotations

from ..facts import SIX, ActivityFacts, RunFacts, VariantFacts
from ..run import Ceilings
from ..tables import Table, columns
from ..units import Bytes, BytesPerSecond, FlopPerSecond, Percent, Ratio, Seconds, significant
from .base import Chart, Evidence
from .bounds import ENOUGH, WORDS, Bound, bounds, percent, requested, shares
from .one_kernel import parts_table

STEPWISE = ("naive_inplace", "sdpa_math")


def evidence(facts: RunFacts) -> Evidence:
    shown = [facts.variants[name] for name in STEPWISE if name in facts.variants and facts.variants[name].activities]
    tables, charts = [], []
    if facts.ceilings and facts.ceilings.copy_bytes_per_s:
        tables += [_bound_table(variant, facts.ceilings) for variant in shown]
        charts += _limit_chart(shown, facts.ceilings) + _roofline(facts, facts.ceilings)
    tables += _memory_table(facts)
    flash = facts.variants.get("sdpa_flash")
    return Evidence(tables=(*tables, *(parts_table(flash) if flash else ())), charts=tuple(charts))


def dram_bytes(variant: VariantFacts) -> float | None:
    """Counted DRAM traffic of one forward; `None` unless every kernel was counted.

    Counters see kernels only, so copies and memsets add what the trace says that they moved.
    """
    total = 0.0
    for activity in variant.activities:
        moved = _activity_dram(activity)
        if moved is None:
            return None
        total += moved
    return total if any(activity.counters for activity in variant.activities) else None


def _activity_dram(activity: ActivityFacts) -> float | None:
    if activity.kind != "kernel":
        return requested(activity)
    counted = activity.counters
    if counted is None or counted.dram_read_bytes is None or counted.dram_write_bytes is None:
        return None
    return counted.dram_read_bytes + counted.dram_write_bytes


def _bound_table(variant: VariantFacts, ceilings: Ceilings) -> Table:
    found = bounds(variant, ceilings)
    total = sum(one.activity.duration for one in found)
    rows = tuple(_bound_row(one, total) for one in found)
    notes = [f"HBM-bound: requested bytes ÷ time reach {Percent(100 * ENOUGH)} of {BytesPerSecond(ceilings.copy_bytes_per_s or 0)}, the copy of this run. "
             f"Arithmetic-bound: FLOP ÷ time reach {Percent(100 * ENOUGH)} of the matmul of this run on the same unit{_units(ceilings)}.",
             "Requested bytes are modelled from the shapes: what a step must read and write once. Counted bytes come from hardware counters, where there are any."]
    return Table(columns("Step", "Kind", "#Time (µs)", "#Share of GPU time", "#Requested bytes", "#Counted DRAM bytes", "#Of the copy ceiling", "#Of the matmul ceiling", "Limit"),
                 rows, caption=f"Where the GPU time of {variant.title} goes, and what limits each activity.", notes=tuple(notes))


def _units(ceilings: Ceilings) -> str:
    if not (ceilings.matmul_flop_per_s and ceilings.fp32_flop_per_s):
        return ""
    return f" ({FlopPerSecond(ceilings.matmul_flop_per_s)} on Tensor Cores, {FlopPerSecond(ceilings.fp32_flop_per_s)} in FP32 on CUDA cores)"


def _bound_row(one: Bound, total: float) -> tuple[object, ...]:
    activity, moved = one.activity, requested(one.activity)
    counted = _activity_dram(activity) if activity.kind == "kernel" else None
    return (activity.role, activity.kind, Seconds(activity.duration).us(), percent(activity.duration / total) if total else None,
            None if moved is None else Bytes(moved), None if counted is None else Bytes(counted),
            None if one.byte_share is None else percent(one.byte_share), None if one.flop_share is None else percent(one.flop_share),
            "not known" if one.limit == "unknown" else one.limit)


def _memory_table(facts: RunFacts) -> list[Table]:
    scores = facts.workload.score_bytes
    rows = []
    for name in SIX:
        variant = facts.variants.get(name)
        if variant is None or variant.peak_memory_bytes is None:
            continue
        counted = dram_bytes(variant)
        rows.append((variant.title, Bytes(variant.peak_memory_bytes), Ratio(variant.peak_memory_bytes / scores),
                     None if counted is None else Bytes(counted), None if counted is None else Ratio(counted / facts.workload.operand_bytes)))
    if not rows:
        return []
    note = (f"The score matrix is {Bytes(scores)}; Q, K, V and the output together (the operands) are {Bytes(facts.workload.operand_bytes)}; "
            f"the last-level cache is {Bytes(facts.device.l2_cache_bytes) if facts.device.l2_cache_bytes else 'not recorded'}.")
    return [Table(columns("Variant", "#Peak memory above the inputs", "#÷ score matrix", "#Counted DRAM bytes", "#÷ operands"), tuple(rows),
                  caption="Memory that one forward needs, beside the size of the score matrix.", notes=(note,))]


def _limit_chart(shown: list[VariantFacts], ceilings: Ceilings) -> list[Chart]:
    if not shown:
        return []
    found = [bounds(variant, ceilings) for variant in shown]
    series = [("not known" if limit == "unknown" else WORDS[limit],
               [1e6 * sum(one.activity.duration for one in each if one.limit == limit) for each in found]) for limit in WORDS]
    series = [(name, values) for name, values in series if any(values)]
    said = "; ".join(f"{variant.title} {percent(shares(each)['HBM'])} of {Seconds(sum(one.activity.duration for one in each))}"
                     for variant, each in zip(shown, found))
    data = {"labels": [variant.title for variant in shown], "series": series, "unit": "µs"}
    return [Chart("flash-hbm-limits", "stacked", data, alt=f"GPU time by what limits it. HBM-bound: {said}.", caption="GPU time of one forward, by what limits each activity.")]


def _roofline(facts: RunFacts, ceilings: Ceilings) -> list[Chart]:
    """Points are whole variants: FLOP of both matmuls against the bytes that all their activities request."""
    points = []
    for name in SIX:
        variant = facts.variants.get(name)
        moved = [requested(activity) for activity in variant.activities] if variant else []
        flop = sum(activity.flop or 0.0 for activity in variant.activities) if variant else 0.0
        if variant and variant.gpu_time and moved and flop and None not in moved:
            points.append((variant.title, name, flop / sum(moved), flop / variant.gpu_time.median))
    if not points or not (ceilings.matmul_flop_per_s and ceilings.fp32_flop_per_s):
        return []
    data = {"ceiling_bytes": ceilings.copy_bytes_per_s, "points": points,
            "ceilings_flop": [(f"{facts.workload.dtype} matmul", ceilings.matmul_flop_per_s), ("FP32 matmul", ceilings.fp32_flop_per_s)]}
    low, high = min(points, key=lambda point: point[2]), max(points, key=lambda point: point[2])
    alt = (f"Roofline. {low[0]} does {_intensity(low[2])} and reaches {FlopPerSecond(low[3])}; "
           f"{high[0]} does {_intensity(high[2])} and reaches {FlopPerSecond(high[3])}.")
    return [Chart("flash-hbm-roofline", "roofline", data, alt=alt, caption="FLOP per requested byte against FLOP per second, with the ceilings that this run measured.")]


def _intensity(value: float) -> str:
    return f"{significant(value)} FLOP per requested byte"
