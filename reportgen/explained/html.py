"""A ledger as one HTML page that asks nothing of the network and runs no script: table first, evidence behind lines, light and dark, any width."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from ..ledger.model import Ledger
from .sheet import Fold, Grid, Row, Sheet, sheet

_CODE = re.compile(r"(`[^`]+`)")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(ledger: Ledger) -> str:
    """The whole document."""
    of = sheet(ledger)
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8").strip()
    parts = [
        "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">', f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">', '<meta name="color-scheme" content="light dark">', f"<title>{escape(of.title)}</title>",
        f"<style>\n{style}\n</style>", "</head>", "<body>", "<main>",
        f"<h1>{escape(of.title)}</h1>", f'<p class="small">{_text(of.small)}</p>', f'<p class="lead">{_text(of.headline)}</p>',
        f'<p class="lead">{_text(of.verdict)}</p>' if of.verdict else "", _caveats(of.caveats), _table(of), f"<p>{_text(of.rest)}</p>" if of.rest else "",
        _evidence(of.rows), *(_fold(one) for one in of.folds),
        '<footer class="small">Written by <code>reportgen explain</code> from this trace; what is called modelled comes from recorded runs of this project. Source lines and module names are those of the model that was traced.</footer>',
        "</main>", "</body>", "</html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _text(text: str) -> str:
    """A sentence with its names in `backticks` as code."""
    return "".join(f"<code>{escape(part[1:-1])}</code>" if len(part) > 2 and part[0] == part[-1] == "`" else escape(part) for part in _CODE.split(text))


def _caveats(caveats: tuple[str, ...]) -> str:
    if not caveats:
        return ""
    first, others = caveats[0], caveats[1:]
    fold = f"<details><summary>{len(others)} more to know before you trust a number</summary><ul>{_items(others)}</ul></details>" if others else ""
    return f'<aside class="caveats" aria-label="Know before you read"><p><strong>Know before you read.</strong> {_text(first)}</p>{fold}</aside>'


def _items(lines: tuple[str, ...]) -> str:
    return "".join(f"<li>{_text(line)}</li>" for line in lines)


_HEADS = ("Place", "How", "Calls", "Time", "Share", "Beside it", "Why, and what to do")


def _table(of: Sheet) -> str:
    """One row per call site; on a narrow screen each row is a card, and the roles keep it a table for those who hear it."""
    if not of.rows:
        return ""
    heads = "".join(f'<th role="columnheader" scope="col"{_numeric(number in (2, 3))}>{of.clock if head == "Time" else head}</th>' for number, head in enumerate(_HEADS))
    rows = "\n".join(_row(number, row, of.clock) for number, row in enumerate(of.rows, 1))
    left = f"<p>{_text(of.left_out)}</p>" if of.left_out else ""
    return (f'<table role="table" class="sites"><caption>Where attention is computed, the longest first</caption><thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n'
            f'<tbody role="rowgroup">\n{rows}\n</tbody></table>{left}')


def _numeric(yes: bool) -> str:
    return ' class="number"' if yes else ""


def _row(number: int, row: Row, clock: str) -> str:
    passes = f'<span class="small">{_text(row.passes)}</span>' if row.passes else ""
    bar = f'<span class="bar" aria-hidden="true"><span style="width:{min(100.0, 100 * row.share):.2f}%"></span></span>'
    cells = (
        ("Place", "", f'<a href="#place-{number}">{_text(row.place)}</a>'), ("How", "", _text(row.how)), ("Calls", ' class="number"', row.calls),
        (clock, ' class="number"', f"{escape(row.time)}{passes}"), ("Share", "", f"{escape(row.percent)}{bar}"), ("Beside it", "", _list(row.beside)),
        ("Why, and what to do", "", _why(row)),
    )
    empty = '<span class="none">none</span>'
    return '<tr role="row">' + "".join(f'<td role="cell" data-head="{escape(head)}"{extra}>{text or empty}</td>' for head, extra, text in cells) + "</tr>"


def _list(lines: tuple[str, ...]) -> str:
    return f"<ul>{_items(lines)}</ul>" if len(lines) > 1 else _text(lines[0]) if lines else ""


def _why(row: Row) -> str:
    wrong = f'<p class="wrong"><strong>{_text(row.wrong)}</strong></p>' if row.wrong else ""
    why = "".join(f"<p>{_text(one)}</p>" for one in row.why)
    todo = "".join(f'<p class="todo">→ {_text(one.text)}{_see(one.page)}</p>' for one in row.todo)
    return f"{wrong}{why}{todo}"


def _see(page: str | None) -> str:
    return f' <span class="small">({_text(f"`{page}`")})</span>' if page else ""


def _evidence(rows: tuple[Row, ...]) -> str:
    if not rows:
        return ""
    return "<h2>Evidence, place by place</h2>\n" + "\n".join(_one(number, row) for number, row in enumerate(rows, 1))


def _one(number: int, row: Row) -> str:
    details = f"<ul>{_items(row.details)}</ul>" if row.details else ""
    return (f'<details id="place-{number}"><summary>{_text(row.place)}: {_text(row.how)}, {escape(row.time)} ({escape(row.percent)})</summary>'
            f"{details}{_grid('What its calls were given', row.shapes)}{_grid('What ran for it', row.kernels)}</details>")


def _grid(title: str, grid: Grid) -> str:
    if not grid.rows:
        return ""
    heads = "".join(f'<th scope="col"{_numeric(numeric)}>{escape(head)}</th>' for head, numeric in zip(grid.heads, grid.numeric))
    rows = "".join("<tr>" + "".join(f"<td{_numeric(numeric)}>{_text(cell)}</td>" for cell, numeric in zip(row, grid.numeric)) + "</tr>" for row in grid.rows)
    left = f'<p class="small">{_text(grid.left_out)}</p>' if grid.left_out else ""
    return f'<div class="wide" tabindex="0" role="group" aria-label="{escape(title)}"><table><caption>{escape(title)}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{left}'


def _fold(fold: Fold) -> str:
    return f"<details{' open' if fold.open else ''}><summary>{_text(fold.title)}</summary><ul>{_items(fold.lines)}</ul></details>"
