"""Tables as data: typed columns and rows, apart from any table syntax."""

from __future__ import annotations

from dataclasses import dataclass, field

from .markup import address, code, emphasised, inline, label, sentence
from .units import text


@dataclass(frozen=True)
class Code:
    """A name that must appear letter for letter: a kernel, an op, an API."""

    name: str


@dataclass(frozen=True)
class Link:
    """Link text and a target relative to the docs root (`variants/naive.md#trace`)."""

    label: str
    target: str


@dataclass(frozen=True)
class Url:
    """Link text and an address outside the site."""

    label: str
    address: str


@dataclass(frozen=True)
class Column:
    """A column's head (with its unit, where all cells share one), whether it is numeric, and the page below the docs root that the head links to."""

    title: str
    numeric: bool = False
    target: str = ""


@dataclass(frozen=True)
class Table:
    """columns and rows of cells: quantities from `units`, `str`, `Code`, `Link`, or `None`.

    caption: one sentence that says what the table shows; notes: footnotes, each a sentence.
    """

    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"row {row!r} has {len(row)} cells for {len(self.columns)} columns")


def columns(*titles: str) -> tuple[Column, ...]:
    """Columns from titles; a title that starts with `#` is numeric: `columns("Variant", "#GPU time (µs)")`."""
    return tuple(Column(title.lstrip("#"), title.startswith("#")) for title in titles)


def prose(value: str) -> str:
    """Text for a table cell: no line breaks, no bars, no live markup; its `code` stays code."""
    return inline(value).replace("|", "&#124;")


def markdown(table: Table, relative: str = "") -> str:
    """The table in Markdown, at column 0 and without padding.

    Args:
        relative: prefix that leads from the page to the docs root (`../`).
    """
    def cell(value: object) -> str:
        if isinstance(value, Code):
            return code(value.name)
        if isinstance(value, Link):
            return f"[{label(value.label)}]({relative}{value.target})".replace("|", "&#124;")
        if isinstance(value, Url):
            return f"[{label(value.label)}]({address(value.address)})"
        return prose(text(value)) if isinstance(value, str) else text(value)

    heads = (cell(Link(column.title, column.target) if column.target else column.title) for column in table.columns)
    lines = ["| " + " | ".join(heads) + " |",
             "| " + " | ".join("---:" if column.numeric else "---" for column in table.columns) + " |"]
    lines += ["| " + " | ".join(cell(value) for value in row) + " |" for row in table.rows]
    out = "\n".join(lines)
    if table.caption:
        out = f"{emphasised(table.caption)}\n\n{out}"
    if table.notes:
        out += "\n\n" + "\n".join(f"<small>{sentence(note)}</small>  " for note in table.notes)
    return out
