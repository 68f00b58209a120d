"""Tables and charts of "Where the bytes go"."""

from __future__ import annotations

from ..analysis import ActivityFacts, RunFacts, VariantFacts
from ..analysis.bounds import apart, asked_for, requested
from ..analysis.kernels import readable
from ..analysis.traffic import Traffic, activity_traffic, dram_bytes, forward_traffic
from ..hardware import peaks as device
from ..questions.bar_charts import number_bars
from ..questions.limit_words import ratio_cell, ratio_notes
from ..questions.model import Chart, Evidence
from ..saying.tables import Table, columns
from ..saying.units import Bytes, Count, Ratio, listed
from .base import per_second, percent, rate, time, us

MIB = 2**20
MOST_ROLES = 7
TOO_SMALL = 64 * 2**10
"""Bytes below which counted ÷ requested is not told: a launch has traffic of its own."""


def evidence(facts: RunFacts) -> Evidence:
    shown = readable(facts)
    if not shown:
        return Evidence()
    stepwise = [variant for variant in shown if len(variant.activities) > 2]
    return Evidence(tables=(_forwards(facts, shown), *(_steps(variant) for variant in stepwise)), charts=(*_bars(facts, shown), *_roles(shown)))


def _parts(traffic: Traffic | None) -> tuple[Bytes | None, ...]:
    """All, read, written, and from the trace where that is anything."""
    if traffic is None:
        return None, None, None, None
    return Bytes(traffic.total), Bytes(traffic.read), Bytes(traffic.written), _size(traffic.from_trace or None)


def _size(value: float | None) -> Bytes | None:
    return None if value is None else Bytes(value)


def _forwards(facts: RunFacts, shown: list[VariantFacts]) -> Table:
    peaks, copy = device.peaks(facts.device), facts.ceilings.copy_bytes_per_s if facts.ceilings else None
    rows = []
    for variant in shown:
        traffic = forward_traffic(variant)
        speed = rate(traffic.total, variant) if traffic else None
        rows.append((variant.title, _size(asked_for(variant)), *_parts(traffic), ratio_cell(facts, variant), us(time(variant)), per_second(speed),
                     percent(speed, copy), percent(speed, peaks.memory_bytes_per_s if peaks else None)))
    notes = ("Requested: modelled from the shapes, each tensor once per step. Counted: at the door to memory. Of it, copies and memsets are from the trace.",
             *ratio_notes(facts, shown),
             *((f"Datasheet: {peaks.source}.",) if peaks else ("The datasheet's peak of this device is not known here.",)))
    return Table(columns("Variant", "#Requested", "#Counted", "#Read", "#Written", "#From the trace", "#Counted ÷ operands", "#GPU time (µs)", "#Counted ÷ time",
                         "#Of the copy ceiling", "#Of the datasheet's peak"), tuple(rows), "Bytes of one forward, and how fast they went.", notes)


def _steps(variant: VariantFacts) -> Table:
    rows = tuple((Count(place), a.role, a.kind, _size(requested(a)), *_counted(a), us(a.duration), _source(a)) for place, a in enumerate(variant.activities, start=1))
    small = any(a.kind == "kernel" and (requested(a) or TOO_SMALL) < TOO_SMALL for a in variant.activities)
    notes = (f"Counted ÷ requested is left out for steps that ask for less than {Bytes(TOO_SMALL)}.",) if small else ()
    return Table(columns("#Step", "Role", "Kind", "#Requested", "#Read", "#Written", "#Counted ÷ requested", "#GPU time (µs)", "Bytes are"), rows,
                 f"{variant.title}, step by step.", notes if forward_traffic(variant) else ())


def _counted(activity: ActivityFacts) -> tuple[object, object, object]:
    traffic, asked = activity_traffic(activity), requested(activity)
    if traffic is None:
        return None, None, None
    ratio = Ratio(traffic.total / asked) if asked and asked >= TOO_SMALL and activity.kind == "kernel" else None
    return Bytes(traffic.read), Bytes(traffic.written), ratio


def _source(activity: ActivityFacts) -> str:
    traffic = activity_traffic(activity)
    if traffic is None:
        return "not known" if requested(activity) is None else "modelled only"
    if activity.kind != "kernel":
        return "from the trace"
    return "counted, not as modelled" if apart(activity) and (requested(activity) or 0) >= TOO_SMALL else "counted"


def _bars(facts: RunFacts, shown: list[VariantFacts]) -> tuple[Chart, ...]:
    """Bytes of one forward, the operands as a mark: the picture of the ratio."""
    counted = any(forward_traffic(variant) for variant in shown)
    values = [(variant, value) for variant in shown if (value := dram_bytes(variant) if counted else asked_for(variant)) is not None]
    word = "Counted DRAM traffic" if counted else "Requested bytes (modelled)"
    said = listed([f"{variant.title} {Bytes(value)}" for variant, value in values])
    operands = facts.workload.operand_bytes
    return number_bars("bytes-forward", [(variant, value / MIB) for variant, value in values], "MiB",
                       alt=f"{word} of one forward: {said}; the operands are {Bytes(operands)}.",
                       caption=f"{word} of one forward. The mark is Q, K, V and the output, once each.",
                       reference=[operands / MIB] * len(values), reference_label=f"the operands once, {Bytes(operands)}")


def _roles(shown: list[VariantFacts]) -> tuple[Chart, ...]:
    """The same bytes by what the steps do, for variants of several steps."""
    stepwise = [variant for variant in shown if len(variant.activities) > 2]
    counted = [variant for variant in stepwise if forward_traffic(variant)]
    known = counted or [variant for variant in stepwise if asked_for(variant) is not None]
    if not known:
        return ()
    sizes = {variant.id: _by_role(variant, bool(counted)) for variant in known}
    order = sorted({role for of in sizes.values() for role in of}, key=lambda role: -sum(of.get(role, 0.0) for of in sizes.values()))
    series = [(role, [sizes[variant.id].get(role, 0.0) / MIB for variant in known]) for role in order[:MOST_ROLES]]
    if order[MOST_ROLES:]:
        series.append(("the rest", [sum(sizes[v.id].get(role, 0.0) for role in order[MOST_ROLES:]) / MIB for v in known]))
    keys = [f"role:{role}" for role, _ in series]
    word = "Counted DRAM traffic" if counted else "Requested bytes (modelled)"
    said = "; ".join(f"{v.title}: " + listed([f"{role} {Bytes(sizes[v.id][role])}" for role in sorted(sizes[v.id], key=lambda r: -sizes[v.id][r])[:3]]) for v in known)
    return (Chart("bytes-roles", "stacked", {"labels": [v.title for v in known], "series": series, "keys": keys, "unit": "MiB"},
                  alt=f"{word} by step. {said}.", caption=f"{word} of one forward, by what the steps do."),)


def _by_role(variant: VariantFacts, counted: bool) -> dict[str, float]:
    out: dict[str, float] = {}
    for activity in variant.activities:
        traffic = activity_traffic(activity)
        size = (traffic.total if traffic else 0.0) if counted else requested(activity) or 0.0
        out[activity.role] = out.get(activity.role, 0.0) + size
    return {role: size for role, size in out.items() if size}
