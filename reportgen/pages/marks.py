"""The sign of a variant that is right at the run's shape and not in every call: where a table or a chart shows its time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ..analysis import RunFacts
from ..questions.model import Chart
from ..questions.right_words import mark, marked
from ..saying.tables import Link, Table

TIMED = ("(µs)", "time", "FLOP/s")
"""What stands in the head of a column, or in the words of a chart, that compares speeds."""


def timed(facts: RunFacts, tables: Iterable[Table]) -> tuple[Table, ...]:
    """`tables` with the sign behind each marked variant that opens a row of times, and one note that says what it means."""
    return tuple(one(facts, table) for table in tables)


def one(facts: RunFacts, table: Table) -> Table:
    """A single table, likewise; what a prediction names is a step, whatever its words."""
    if table.columns[0].title == "Predicted" or not any(column.numeric and any(sign in column.title for sign in TIMED) for column in table.columns):
        return table
    signed = {variant.title: name for name, variant in facts.variants.items() if mark(facts, name)}
    met = [signed[_title(row[0])] for row in table.rows if row and _title(row[0]) in signed]
    if not met:
        return table
    rows = tuple((_with_sign(row[0], mark(facts, signed[_title(row[0])])), *row[1:]) if row and _title(row[0]) in signed else row for row in table.rows)
    return replace(table, rows=rows, notes=(*table.notes, marked(facts, tuple(dict.fromkeys(met))).strip()))


def _title(cell: object) -> str:
    return cell.label if isinstance(cell, Link) else cell if isinstance(cell, str) else ""


def _with_sign(cell: object, sign: str) -> object:
    return replace(cell, label=f"{cell.label}{sign}") if isinstance(cell, Link) else f"{cell}{sign}"


def caption(facts: RunFacts, chart: Chart) -> str:
    """The chart's caption, and behind it a sentence about the marked variants whose speeds it compares; the lanes of one forward compare nobody."""
    if chart.form == "lanes" or not any(sign in f"{chart.alt} {chart.caption}" for sign in TIMED):
        return chart.caption
    named = [name for name, variant in facts.variants.items() if f"{variant.title} " in chart.alt and mark(facts, name)]
    return f"{chart.caption}{marked(facts, named)}".strip()
