"""The bill of a new shape in words."""

from __future__ import annotations

from statistics import median

from variants import backends

from ..saying.units import Count, Seconds, listed, plural, text
from ..shapes import bill
from ..shapes.bill import Bill, Row


def way(row: Row) -> str:
    """`cuDNN`, `cuDNN, avoiding`"""
    return backends.title(row.backend) + (", with the switch" if row.avoid else "")


def what(row: Row) -> str:
    return f"{'bool mask' if row.mask else 'causal'}, {'forward and backward' if row.gradients else 'forward'}"


def new(row: Row) -> float | None:
    """Seconds that a new length costs more."""
    return bill.price(row) if row.new else None


def spread(row: Row) -> str:
    """`; 43.1 ms to 61.0 ms in 3 processes`, or nothing where there was one."""
    found = bill.spread(row)
    return f"; {text(Seconds(found[0]))} to {text(Seconds(found[1]))} in {len(row.split)} processes" if found else ""


def cheapest(found: Bill, row: Row) -> Row | None:
    """The other backend whose new lengths cost least, in the same way of calling."""
    others = [one for one in found.rows if (one.mask, one.gradients, one.avoid) == (row.mask, row.gradients, False) and one.backend != row.backend and one.new]
    return min(others, key=lambda one: new(one) or 0.0, default=None)


def dearest(found: Bill) -> Row | None:
    """The row, without the switch, whose new length costs most in the forward without a mask; of any way where none is."""
    rows = [row for row in found.rows if row.new and not row.avoid]
    plain = [row for row in rows if not row.mask and not row.gradients] or rows
    return max(plain, key=lambda row: new(row) or 0.0, default=None)


def sentences(found: Bill) -> list[str]:
    """The page's first sentences."""
    row = dearest(found)
    if row is None:
        return ["**No new length has a price here**: no backend ran."]
    others = [one for one in found.rows if (one.mask, one.gradients, one.avoid) == (row.mask, row.gradients, False) and one is not row and one.new]
    beside = f"; {listed([f'{way(one)} {text(Seconds(new(one) or 0.0))}' for one in others])}" if others else ""
    said = [f"**A length that was not called before costs {way(row)} {text(Seconds(new(row) or 0.0))} once** ({what(row)}{spread(row)}){beside}."]
    if (other := cheapest(found, row)) is not None:
        said.append(earn(row, other))
    if (switched := found.row(row.backend, row.mask, row.gradients, True)) is not None and switched.new and switched.layout != bill.HONOURED:
        said.append(f"What `{bill.SWITCH}=1` saves is not shown: torch heeds it only for q, k and v stored as `[batch, length, heads, dim]` and transposed, and here they were stored the other way.")
    elif switched is not None and switched.new:
        said.append(f"With `{bill.SWITCH}=1` the last of {plural(len(switched.split[0].lengths), 'new length')} cost {text(Seconds(max(0.0, bill.settled(switched))))} each, "
                    f"and a later call {text(Seconds(median(switched.later)))} instead of {text(Seconds(median(row.later)))}.")
    return said


def earn(row: Row, other: Row) -> str:
    calls = bill.calls_to_earn(row, other)
    if calls is None:
        return f"A later call of {way(row)} saves nothing beside {way(other)}, so a length never earns that back."
    return f"Beside {way(other)} a length has earned that back after {plural(Count(max(1, round(calls))), 'call')}."


GAIN = 0.8
"""Of the predicted seconds as they are: what rounding up must fall below to be worth writing."""
HELPED = 0.2
"""Of the price without the switch: below it, the later new lengths are said to be nearly free."""


def advice(found: Bill, lengths: list[int]) -> list[str]:
    """What to write, from this bill alone. lengths: of the page's example"""
    said = []
    rounded = {way(row) for row in found.rows if row.new and not row.avoid and bill.best_bucket(row, lengths)[1] < GAIN * bill.predict(row, lengths)}
    if rounded:
        said.append(f"Round lengths up to the best multiple above ({listed(sorted(rounded))}), and hide the rest by a mask; under `is_causal=True` keys at the end are hidden from every earlier query anyway.")
    helped: list[str] = []
    not_helped: list[str] = []
    for row in found.rows:
        plain = found.row(row.backend, row.mask, row.gradients) if row.avoid and row.new and row.layout == bill.HONOURED else None
        if plain is not None and plain.new:
            (helped if bill.settled(row) < HELPED * bill.price(plain) else not_helped).append(what(row))
    if helped:
        other = f"; it does not help with {listed(not_helped)}" if not_helped else ""
        said.append(f"Set `{bill.SWITCH}=1` before the process's first call where lengths cannot be rounded: most new lengths are nearly free then ({listed(helped)}{other}). torch reads it once.")
    if rounded:
        said.append("Call each length that will come once before it matters.")
    return said
