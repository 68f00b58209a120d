"""The six at a glance: what a reader in a hurry compares, in one small table."""

from __future__ import annotations

from ..analysis import RunFacts, VariantFacts
from ..saying.tables import Table, columns
from ..saying.units import Ratio, listed, plural
from .cells import error, us
from .lead import QUANTITIES, decisive, ranked
from .summaries import variant_link, without_empty


def table(facts: RunFacts) -> Table:
    """The decisive time and its ratio to the fastest, what a call costs the CPU, the kernels, the error; a row per variant.

    A variant without a result shows its status; what nobody measured is no column.
    """
    quantity = decisive(facts)
    order = ranked(facts, quantity)
    least = order[0][1].median if order else None
    name = QUANTITIES[quantity]
    titles = columns("Variant", f"#{name[0].upper()}{name[1:]} (µs)", "#× the fastest", "#Host time of a call (µs)", "#Kernels", "#Relative error")
    single = [v.title for v in facts.variants.values() if v.ok and (time := v.time(quantity)) and len(time.samples) == 1 and order and len(order[0][1].samples) > 1]
    notes = (f"{listed(single)}: one process only, and in no verdict. The others: medians over {plural(len(order[0][1].samples), 'fresh process', 'fresh processes')}.",) if single else ()
    return without_empty(Table(titles, tuple(_row(variant, quantity, least) for variant in facts.variants.values()), notes=notes))


def _row(variant: VariantFacts, quantity: str, least: float | None) -> tuple[object, ...]:
    if not variant.ok:
        return (variant_link(variant), variant.state.value, None, None, None, None)
    time = variant.time(quantity)
    return (variant_link(variant), us(time), Ratio(time.median / least) if time and least else None, us(variant.host_time), variant.kernels,
            error(variant.relative_error))
