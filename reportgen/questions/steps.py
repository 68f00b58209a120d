"""A variant's GPU activities step by step, and several variants' time by role."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import ActivityFacts, VariantFacts
from ..saying.tables import Code, Table, columns
from ..saying.units import Bytes, Count, Percent, Seconds
from .model import Chart


def share(part: float, whole: float) -> Percent:
    """`part ÷ whole` in percent with one decimal; 0 of nothing is 0."""
    return Percent(round(100 * part / whole, 1) if whole else 0.0)


def total(activities: Sequence[ActivityFacts]) -> float:
    """Seconds of all these activities together."""
    return sum(activity.duration for activity in activities)


def steps_table(variant: VariantFacts, caption: str) -> Table:
    """Every activity of one forward: what it does, who asked for it, its time and its share."""
    whole = total(variant.activities)
    rows = tuple((Count(place), a.role, Code(a.op or "—"), a.kind, Code(a.short), Bytes(a.requested_bytes) if a.requested_bytes else None,
                  Seconds(a.duration).us(), share(a.duration, whole)) for place, a in enumerate(variant.activities, start=1))
    return Table(columns("Step", "Role", "Op", "Kind", "Name", "#Requested bytes (modelled)", "#GPU time (µs)", "#Share"), rows, caption=caption)


def stacked_roles(name: str, shown: Sequence[VariantFacts], caption: str) -> tuple[Chart, ...]:
    """GPU time of one forward of each variant by role; nothing without a GPU lane."""
    known = [variant for variant in shown if variant.activities]
    if not known:
        return ()
    spent = {a.role: 0.0 for variant in known for a in variant.activities}
    for variant in known:
        for activity in variant.activities:
            spent[activity.role] += activity.duration
    roles = sorted(spent, key=lambda role: -spent[role])
    series = [(role, [_us(variant, role) for variant in known]) for role in roles]
    said = " ".join(f"{variant.title}: {_largest(variant)}." for variant in known)
    data = {"labels": [variant.title for variant in known], "series": series, "keys": [f"role:{role}" for role in roles], "unit": "µs",
            "totals": [f"{Seconds(total(variant.activities))}" for variant in known]}
    return (Chart(name, "stacked", data, alt=f"Where the GPU time of one forward goes. {said}", caption=caption),)


def _us(variant: VariantFacts, role: str) -> float:
    return total([a for a in variant.activities if a.role == role]) * 1e6


def _largest(variant: VariantFacts, most: int = 3) -> str:
    times: dict[str, float] = {}
    for activity in variant.activities:
        times[activity.role] = times.get(activity.role, 0.0) + activity.duration
    first = sorted(times.items(), key=lambda item: -item[1])[:most]
    return f"{Seconds(total(variant.activities))}, most of it " + ", ".join(f"{role} {share(time, total(variant.activities))}" for role, time in first)
