"""A ledger as Markdown, with the same content as the HTML page."""

from __future__ import annotations

from ..ledger.model import Ledger
from ..saying.markup import escaped, inline
from .sheet import Fold, Grid, Row, Sheet, Todo, sheet


def page(ledger: Ledger) -> str:
    """The whole document."""
    of = sheet(ledger)
    parts = [f"# {escaped(of.title)}", inline(of.small), inline(of.headline), inline(of.verdict), _caveats(of.caveats), _table(of), inline(of.left_out), inline(of.rest),
             *(_one(row) for row in of.rows), *(_fold(one) for one in of.folds)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _caveats(caveats: tuple[str, ...]) -> str:
    return "**Know before you read.**\n\n" + _items(caveats) if caveats else ""


def _items(lines: tuple[str, ...]) -> str:
    return "\n".join(f"- {inline(line)}" for line in lines)


def _cell(text: str) -> str:
    return inline(text).replace("|", "\\|")


def _table(of: Sheet) -> str:
    if not of.rows:
        return ""
    rows = tuple((row.place, row.how, row.calls, " ".join(part for part in (row.time, f"({row.passes})" if row.passes else "") if part), row.percent, "; ".join(row.beside) or "none", _why(row))
                 for row in of.rows)
    return _grid("", Grid(("Place", "How", "Calls", of.clock, "Share", "Beside it", "Why, and what to do"), rows, (False, False, True, True, True, False, False)))


def _why(row: Row) -> str:
    return " ".join(part for part in (row.wrong, *row.why, *(f"→ {_todo(one)}" for one in row.todo)) if part) or "none"


def _todo(of: Todo) -> str:
    return f"{of.text} (`{of.page}`)" if of.page else of.text


def _grid(title: str, grid: Grid) -> str:
    if not grid.rows:
        return ""
    lines = ["| " + " | ".join(grid.heads) + " |", "| " + " | ".join("---:" if numeric else "---" for numeric in grid.numeric) + " |",
             *("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in grid.rows)]
    return "\n".join([*([f"{title}:", ""] if title else []), *lines, *(["", inline(grid.left_out)] if grid.left_out else [])])


def _one(row: Row) -> str:
    return "\n\n".join(part for part in (f"## {inline(row.place)}", _items(row.details), _grid("What its calls were given", row.shapes), _grid("What ran for it", row.kernels)) if part)


def _fold(fold: Fold) -> str:
    return f"## {inline(fold.title).rstrip('.')}\n\n{_items(fold.lines)}"
