"""The bill of a new shape in words."""

from __future__ import annotations

from statistics import median

from variants import backends

from ..analysis import RunFacts
from ..saying.units import Count, Ratio, Seconds, listed, plural, text
from ..shapes import bill
from ..shapes.bill import Bill, Row
from . import right_words
from .model import Leads


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
        said.append(f"With `{bill.SWITCH}=1` a new length costs {text(Seconds(max(0.0, new(switched) or 0.0)))} (the dearest {text(Seconds(max(switched.new)))}), "
                    f"and every later call takes {text(Seconds(median(switched.later)))} instead of {text(Seconds(median(row.later)))}, {Ratio(bill.slower(switched, row))} as long.")
    return said


def earn(row: Row, other: Row) -> str:
    calls = bill.calls_to_earn(row, other)
    if calls is None:
        return f"A later call of {way(row)} saves nothing beside {way(other)}, so a length never earns that back."
    return f"Beside {way(other)} a length has earned that back after {plural(Count(max(1, round(calls))), 'call')}."


GAIN = 0.8
"""Of the predicted seconds as they are: what rounding up must fall below to be worth writing."""
HELPED = 0.2
"""Of the price of a new length: what costs less than this share of it is said to be nearly free beside it."""


def advice(found: Bill, lengths: list[int], limits: str = "") -> list[str]:
    """What to write, from this bill alone. lengths: of the page's example; limits: see `limits`"""
    said = []
    rounded = {way(row) for row in found.rows if row.new and not row.avoid and bill.best_bucket(row, lengths)[1] < GAIN * bill.predict(row, lengths)}
    if rounded:
        said.append(f"Round lengths up to the best multiple above ({listed(sorted(rounded))}), and hide the rest by a mask; under `is_causal=True` keys at the end are hidden from every earlier query anyway.")
    said += [*_pinning(found, limits), *_switch(found)]
    if rounded:
        said.append("Call each length that will come once before it matters.")
    return said


def free(found: Bill) -> list[tuple[Row, list[Row]]]:
    """For each way of calling the row whose new length costs most, and those whose new lengths are nearly free beside it, cheapest first; without the switch."""
    out = []
    for mask, gradients in dict.fromkeys((row.mask, row.gradients) for row in found.rows):
        rows = sorted((row for row in found.rows if (row.mask, row.gradients, row.avoid) == (mask, gradients, False) and row.new), key=bill.price)
        cheap = [row for row in rows if bill.price(row) < HELPED * bill.price(rows[-1])]
        out += [(rows[-1], cheap)] if cheap else []
    return out


def _pins(found: Bill) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row.backend for _, cheap in free(found) for row in cheap))


def limits(found: Bill, run: RunFacts | None) -> str:
    """For which calls the pins of `advice` are not given, because they come out wrong there; empty where nobody looked. run: of the bill's device"""
    return right_words.unless(run, Leads("backends"), {"backends": _pins(found)}) if run is not None else ""


def _pinning(found: Bill, limits: str) -> list[str]:
    """That another backend serves lengths that are called seldom: one whose new lengths are nearly free beside the dearest one's."""
    items = []
    for dear, cheap in free(found):
        items.append(f"in place of {way(dear)} ({what(dear)}), {listed([f'{way(row)} {_often(dear, row)}' for row in cheap], 'or')}")
    if not items:
        return []
    pins = ", ".join(backends.BACKENDS[name].pin for name in _pins(found))
    return [f"Where lengths keep coming that were not called before, pin a backend whose new lengths are nearly free, `with sdpa_kernel([{pins}]):` {'; '.join(items)}. {limits}".rstrip()]


def _often(dear: Row, row: Row) -> str:
    """Up to how many calls of a length `row` is the cheaper one."""
    calls = bill.calls_to_earn(dear, row)
    return "however often a length is called" if calls is None else f"below {plural(max(1, round(calls)), 'call')} of a length"


def _switch(found: Bill) -> list[str]:
    """What torch's switch gives and what it takes: a new length nearly free, and every later call by its measured factor longer."""
    helped, not_helped = [], []
    for row in found.rows:
        plain = found.row(row.backend, row.mask, row.gradients) if row.avoid and row.new and row.layout == bill.HONOURED else None
        if plain is None or not plain.new:
            continue
        if bill.price(row) >= HELPED * bill.price(plain):
            not_helped.append(what(row))
            continue
        calls = bill.calls_to_earn(plain, row)
        until = f", so it pays below {plural(max(1, round(calls)), 'call')} of a length" if calls is not None else ""
        helped.append(f"{what(row)}: every later call takes {Ratio(bill.slower(row, plain))} as long{until}")
    if not helped:
        return []
    other = f". It does not help with {listed(not_helped)}" if not_helped else ""
    return [f"Set `{bill.SWITCH}=1` before the process's first call, which reads it, only where lengths can be neither rounded nor pinned to another backend: "
            f"most new lengths are nearly free then, and it has a price ({'; '.join(helped)}){other}."]
