"""What several pages say of a variant: its link, its numbers, why it has none."""

from __future__ import annotations

from dataclasses import replace

from ..analysis import RunFacts, State, VariantFacts
from ..numbers import quantities
from ..numbers.statistics import Estimate
from ..questions import needs
from ..questions.evaluate import fill
from ..questions.gates import GATES
from ..questions.needs import refusal
from ..questions.ranked import wrong_said
from ..questions.shared import MASKED_ROW
from ..saying.tables import Link, Table, columns
from ..saying.units import extent, listed
from .cells import error, us


def variant_link(variant: VariantFacts, mark: str = "") -> Link:
    return Link(f"{variant.title}{mark}", f"variants/{variant.id}.md")


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
