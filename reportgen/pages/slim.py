"""Markup of the built site without what a browser does not need: a run's pages are mostly tables and pictures, and there may be hundreds of runs.

Nothing that is seen, read aloud or copied changes: places lie within a hundredth of a pixel, and what is left out is what HTML says may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

FONT = "'DejaVu Sans', 'Arial', sans-serif"
"""Of the words in pictures; the site's sheet says so once."""
COLUMNS = 16
"""A table's columns up to this one are set to the right by the sheet, farther ones cell by cell."""
RIGHT = ' style="text-align: right;"'
SHEET = (f".chart text{{font-family:{FONT}}}\n"
         + "".join(f".md-typeset table.r{n} :is(td,th):nth-child({n}){{text-align:right}}" for n in range(1, COLUMNS + 1)) + "\n")
_PARTS = re.compile(r"<[^<>]+>|[^<>]+")
_PLACES = re.compile(r' (d|x|y|x1|x2|y1|y2|cx|cy|width|height|points)="([^"]*)"')
_NUMBER = re.compile(r"-?\d+\.\d+")
_UNTURNED = re.compile(r' transform="rotate\(-?0\s[^"()]*\)"')
_STYLE = re.compile(r' style="([^"]*)"')
_DEFAULTS = ("text-anchor:start", "font-family:" + FONT.replace(", ", ","))
_CELL = re.compile(r"<t[dh]\b[^>]*>")
_OPTIONAL = re.compile(r"</t[dhr]>\s*|</tbody>\s*(?=</table>)|</thead>\s*(?=<tbody>)|(?<=>)\n(?=<t)")


def picture(svg: str) -> str:
    """An `<svg>` element of a page, with the sheet of the page."""
    return "".join(_parts(svg))


def _parts(svg: str) -> Iterator[str]:
    open_groups: list[bool] = []
    found = [part for part in _PARTS.findall(svg) if part.strip() or "\n" not in part]
    for part, following in zip(found, [*found[1:], ""]):
        if part == "<g>":  # one that only holds others together; a title is its group's
            open_groups.append(following.startswith("<title"))
        elif part.startswith("<g"):
            open_groups.append(True)
        elif part == "</g>" and not open_groups.pop():
            continue
        if part == "<g>" and not open_groups[-1]:
            continue
        yield _tag(part) if part.startswith("<") else part


def _tag(tag: str) -> str:
    return _STYLE.sub(_declared, _PLACES.sub(_placed, _UNTURNED.sub("", tag)))


def _placed(found: re.Match[str]) -> str:
    said = _NUMBER.sub(lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), found[2])
    if found[1] == "d":
        said = re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(said.split()))
    return f' {found[1]}="{said}"'


def _declared(found: re.Match[str]) -> str:
    said = [re.sub(r"([:,]) ", r"\1", one.strip()) for one in found[1].split(";")]
    kept = ";".join(one for one in said if one and one not in _DEFAULTS)
    return f' style="{kept}"' if kept else ""


def table(text: str) -> str:
    """A table of ours: which columns are set to the right is said once, and ends that the next begin implies are left out."""
    head, end, body = text.partition(">")
    if 'class="data' not in head:
        return text
    rows = re.split(r"(?=<tr>)", body)
    places = [[RIGHT in cell for cell in _CELL.findall(row)] for row in rows if row.startswith("<tr>")]
    right = [n for n in range(COLUMNS) if any(n < len(row) for row in places) and all(row[n] for row in places if n < len(row))]
    if not any('colspan' in row for row in rows):
        head = head.replace('class="data', 'class="data' + "".join(f" r{n + 1}" for n in right), 1)
        body = "".join(_unaligned(row, right) for row in rows)
    return head + end + _OPTIONAL.sub("", body)


def _unaligned(row: str, right: list[int]) -> str:
    place = -1

    def cell(found: re.Match[str]) -> str:
        nonlocal place
        place += 1
        return found[0].replace(RIGHT, "", 1) if place in right else found[0]

    return _CELL.sub(cell, row) if row.startswith("<tr>") else row
