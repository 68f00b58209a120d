"""The page of the bill: what a new length costs, when it is earned back, and which lengths to round up to."""

from __future__ import annotations

import json
import random
from functools import partial
from statistics import median

from ..questions import bill_words as words
from ..questions import map_words
from ..saying.markup import label
from ..saying.tables import Table, columns
from ..saying.units import Count, Seconds, text
from ..shapes import bill
from ..shapes.bill import Bill, Row
from ..shapes.folder import Folder
from . import per_device
from .environment import page
from .site import Site

PATH = "bill.md"
STEPS = 380
SEED = 1
BUCKETS = (1, 16, 64, 128, 256)
"""Columns of the example; a multiple that is best for some row gets one as well."""


def device_path(slug: str) -> str:
    return per_device.device_path(slug, PATH)


def files(site: Site) -> dict[str, str | bytes]:
    """The shared page, of the featured run's device if it has a bill, and one per further device."""
    known = [one for one in site.folders if one.bill is not None]
    return per_device.files(site, known, PATH, partial(_render, site)) or {PATH: page("bill_none.md.j2", PATH, device=label(site.featured.device.name))}


def _render(site: Site, folder: Folder, path: str, others: per_device.Others) -> str:
    found = folder.bill
    assert found is not None
    header, call = found.header, found.call
    run = per_device.run_of(site, folder.slug, header)
    limits = words.limits(found, run)
    return page("bill.md.j2", path, device=label(header.device.name), stands=per_device.stands(header, *([_layout(found)] if _layout(found) else [])), answer=words.sentences(found), costs=costs(found), loop=loop(found), steps=Count(STEPS),
                low=Count(min(_lengths(found), default=0)), high=Count(max(_lengths(found), default=0)), advice=words.advice(found, drawn(found), limits), unsafe_at=per_device.right_at(site, run) if limits else "", refused=[(words.way(row), words.what(row), row.reason) for row in found.rows if row.reason],
                data=data(found), series=[(f"{words.way(row)}: {words.what(row)}", one_row(row)) for row in found.rows if row.first], call=f"batch {call.batch}, {map_words.heads(call)}, head dim {map_words.dim(call)}",
                several=_several(found), processes=max((len(row.split) for row in found.rows), default=1), others=others)


def _layout(found: Bill) -> str:
    """How q, k and v are stored, where all rows have the same."""
    kinds = {row.layout for row in found.rows}
    return "stored BSHD" if kinds == {"bshd"} else ""


def costs(found: Bill) -> Table:
    """Rows are ways of calling; what a new length costs once, and when that is earned back beside the backend that costs least."""
    rows, several = [], _several(found)
    for row in found.rows:
        if not row.new:
            continue
        other = words.cheapest(found, row)
        dearer = other is not None and (words.new(row) or 0.0) > (words.new(other) or 0.0)
        calls = bill.calls_to_earn(row, other) if other is not None and dearer else None
        rows.append((words.way(row), words.what(row), Seconds(words.new(row) or 0.0), *_range(bill.spread(row), several), Seconds(max(row.new)), Seconds(median(row.later)),
                     words.way(other) if other is not None and dearer else None, Count(max(1, round(calls))) if calls is not None else "never" if dearer else None))
    return Table(columns("Backend", "Call", "#A new length, once", *(("#by process",) if several else ()), "#the dearest", "#A later call", "Beside", "#Calls to earn it back"), tuple(rows))


def _range(found: tuple[float, float] | None, several: bool) -> tuple[str | None, ...]:
    """A cell of the column that bills of several processes have."""
    return ((f"{text(Seconds(found[0]))} to {text(Seconds(found[1]))}" if found else None),) if several else ()


def _several(found: Bill) -> bool:
    return any(len(row.split) > 1 for row in found.rows)


def _lengths(found: Bill) -> tuple[int, ...]:
    return next((row.lengths for row in found.rows if row.lengths), ())


def drawn(found: Bill) -> list[int]:
    """The lengths of the page's example: evenly between the shortest and the longest, the same on every device with these."""
    known, draw = _lengths(found), random.Random(SEED)
    return [draw.randint(min(known), max(known)) for _ in range(STEPS)] if known else []


def loop(found: Bill) -> Table:
    """Predicted seconds of the example, by what lengths are rounded up to; the last column says which is best."""
    lengths = drawn(found)
    rows, several = [], _several(found)
    best = {row.id: bill.best_bucket(row, lengths)[0] for row in found.rows if row.new}
    shown = sorted({*BUCKETS, *best.values()})
    for row in found.rows:
        if row.new:
            bucket = best[row.id]
            as_they_are, *rounded = (Seconds(bill.predict(row, bill.bucketed(lengths, one))) for one in shown)
            rows.append((words.way(row), words.what(row), as_they_are, *_range(bill.between(row, lengths), several), *rounded, Count(bucket)))
    heads = (f"#to {Count(one)}" for one in shown[1:])
    return Table(columns("Backend", "Call", "#as they are", *(("#by process",) if several else ()), *heads, "#Best"), tuple(rows))


def one_row(row: Row) -> Table:
    """Length by length, in the order of the calls."""
    rows: list[tuple[object, ...]] = [(Count(length), Seconds(first), Seconds(later)) for length, first, later in zip(row.lengths, row.first, row.later)]
    if row.passes:
        rows = [(Count(number + 1), *cells) for number, cells in zip(row.passes, rows)]
    return Table(columns(*(("#Process",) if row.passes else ()), "#Length", "#First call", "#A later call"), tuple(rows))


def data(found: Bill) -> str:
    """What the calculator needs, as JSON that is safe inside an HTML attribute in single quotes."""
    rows = [{"name": f"{words.way(row)}: {words.what(row)}", "lengths": row.lengths, "later": row.later, "new": [bill.new_length(row)(number) for number in range(len(row.split[0].new) + 1)]}
            for row in found.rows if row.new]
    found_ = json.dumps({"buckets": bill.BUCKETS, "aligned": bill.ALIGNED, "rows": rows}, separators=(",", ":"))
    return found_.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")
