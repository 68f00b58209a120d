"""Markup of the built site without what a browser does not need: a run's pages are mostly tables and pictures, and there may be hundreds of runs.

Nothing that is seen, read aloud or copied changes: places lie within a hundredth of a pixel, and what is left out is what HTML says may be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

FONT = "'DejaVu Sans', 'Arial', sans-serif"
"""Of the words in pictures; the site's sheet says so once."""
LETTERS = {"font-size:14px": "a", "font-size:15px": "b", "font-weight:700": "c", "text-anchor:middle": "m", "text-anchor:end": "e", "fill:none": "n",
           "stroke-linecap:square": "q", "stroke-linejoin:miter": "j", "stroke-width:0.6": "u", "stroke-width:0.7": "w", "stroke-width:1.2": "x", "stroke-width:2": "y", "stroke-width:3": "v",
           "stroke-width:6": "z"}
"""What pictures declare most → the class that declares it on the site."""
COLUMNS = 16
"""A table's columns up to this one are set to the right by the sheet, farther ones cell by cell."""
RIGHT = ' style="text-align: right;"'
SHEET = (f".chart text{{font-family:{FONT}}}\n" + "".join(f".chart .{letter}{{{declared}}}" for declared, letter in LETTERS.items()) + "\n"
         + "".join(f".md-typeset table.r{n} :is(td,th):nth-child({n}){{text-align:right}}" for n in range(1, COLUMNS + 1)) + "\n")
_PARTS = re.compile(r"<[^<>]+>|[^<>]+")
_PLACES = re.compile(r' (d|x|y|x1|x2|y1|y2|cx|cy|width|height|points)="([^"]*)"')
_NUMBER = re.compile(r"-?\d+\.\d+")
_LINES = re.compile(r"M-?[\d.]+ -?[\d.]+(?:L-?[\d.]+ -?[\d.]+)+z?")
_UNTURNED = re.compile(r' transform="rotate\(-?0\s[^"()]*\)"')
_FILE = re.compile(r' (?:xmlns(?::xlink)?="http://www\.w3\.org/[^"]*"|version="1\.1")')
"""What a file of its own must say of itself, and an element of a page need not."""
_STYLE = re.compile(r' style="([^"]*)"')
_CLASS = re.compile(r' class="([^"]*)"')
_DEFAULTS = ("text-anchor:start", "font-family:" + FONT.replace(", ", ","))
_CELL = re.compile(r"<t[dh]\b[^>]*>")
_OPTIONAL = re.compile(r"</t[dhr]>\s*|</tbody>\s*(?=</table>)|</thead>\s*(?=<tbody>)|(?<=>)\n(?=<t)")
_SHORT = (('<td class="short">', "<td class=s>"), ('<td class="again short">', '<td class="again s">'), ('<th scope="col">', "<th scope=col>"))
_AS_IT_IS = re.compile(r"(<(pre|script|textarea|style|svg)\b.*?</\2>)", re.S)
_BLANK = re.compile(r"(?<=>)(?:[ \t]*\n\s*|[ \t]{2,})(?=<)")


def page(text: str) -> str:
    """A page without the white space that a template leaves, which a browser reads as one space."""
    parts = _AS_IT_IS.split(text)  # text, a part as it is, its tag, and so on
    return "".join(_BLANK.sub(lambda found: "\n" if "\n" in found[0] else " ", part) if number % 3 == 0 else part for number, part in enumerate(parts) if number % 3 != 2)


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
    """An element's begin; what its style declares is said by a class where the sheet has one."""
    if tag.startswith("<svg "):
        return _FILE.sub("", tag)
    tag = _PLACES.sub(_placed, _UNTURNED.sub("", tag))
    style = _STYLE.search(tag)
    if style is None:
        return tag
    declared = [re.sub(r"([:,]) ", r"\1", one.strip()) for one in style[1].split(";")]
    rest = ";".join(one for one in declared if one and one not in _DEFAULTS and one not in LETTERS)
    tag = tag.replace(style[0], f' style="{rest}"' if rest else "", 1)
    letters = " ".join(LETTERS[one] for one in declared if one in LETTERS)
    if letters and _CLASS.search(tag):
        return _CLASS.sub(lambda names: f' class="{names[1]} {letters}"', tag, count=1)
    return re.sub(r"^<\w+", lambda name: f'{name[0]} class="{letters}"', tag) if letters else tag


def _placed(found: re.Match[str]) -> str:
    said = _NUMBER.sub(lambda number: _rounded(float(number[0])), found[2])
    if found[1] == "d":
        said = re.sub(r"\s*([A-Za-z])\s*", r"\1", " ".join(said.split()))
        if _LINES.fullmatch(said):
            said = _stepped(said)
    return f' {found[1]}="{said}"'


def _stepped(lines: str) -> str:
    """`M14 62h5v18h-5z`: lines along an axis by how far they go."""
    places = [tuple(map(float, one.split())) for one in lines[1:].removesuffix("z").split("L")]
    out = [f"M{_rounded(places[0][0])} {_rounded(places[0][1])}"]
    for (x, y), (to_x, to_y) in zip(places, places[1:]):
        out.append(f"h{_rounded(to_x - x)}" if to_y == y else f"v{_rounded(to_y - y)}" if to_x == x else f"L{_rounded(to_x)} {_rounded(to_y)}")
    return "".join(out) + ("z" if lines.endswith("z") else "")


def _rounded(number: float) -> str:
    said = f"{number:.2f}".rstrip("0").rstrip(".")
    return "0" if said == "-0" else said


def table(text: str) -> str:
    """A table of ours: which columns are set to the right is said once, and ends that the next begin implies are left out."""
    head, end, body = text.partition(">")
    if 'class="data' not in head:
        return text
    rows = re.split(r"(?=<tr>)", body)
    places = [[RIGHT in cell for cell in _CELL.findall(row)] for row in rows if row.startswith("<tr>")]
    right = [n for n in range(COLUMNS) if any(n < len(row) for row in places) and all(row[n] for row in places if n < len(row))]
    if "colspan" not in body:
        head = head.replace('class="data', 'class="data' + "".join(f" r{n + 1}" for n in right), 1)
        body = "".join(_unaligned(row, right) for row in rows)
    body = _OPTIONAL.sub("", body)
    for said, shorter in _SHORT:
        body = body.replace(said, shorter)
    return head + end + body


def _unaligned(row: str, right: list[int]) -> str:
    place = -1

    def cell(found: re.Match[str]) -> str:
        nonlocal place
        place += 1
        return found[0].replace(RIGHT, "", 1) if place in right else found[0]

    return _CELL.sub(cell, row) if row.startswith("<tr>") else row
