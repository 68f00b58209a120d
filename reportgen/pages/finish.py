"""The last step of building the site, on its HTML alone, so that any engine may have made it: pictures into the page, CSV beside them.

A picture in the page follows the scheme that the reader chose there, and its marks say their values. Numbers beside a picture are
those that its file carries; those beside a table are the table's own.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from ..saying.elements import styled
from . import slim, workers
from .charts import numbers
from .charts.paint import TAG
from .charts.palettes import of_a_site

STYLE = "assets/charts.css"
_IMAGE = re.compile(r'<img\b[^>]*\bsrc="([^":]+\.svg)"[^>]*>')
_CHART = '<svg class="chart"'
_PICTURE = re.compile(r'\b(?:href|src)="([^"#]+\.svg)')
_TABLE = re.compile(r"<table\b.*?</table>", re.S)
_METADATA = re.compile(r"\s*<metadata>(.*?)</metadata>", re.S)
_THOUSANDS = re.compile(r"[-−]?\d{1,3}(?:,\d{3})+(?:\.\d+)?|−\d[\d.]*")
LAYOUT = """
.md-typeset svg.chart{display:block;width:100%;height:auto;max-width:24rem;margin:1em 0 .3em}
.md-typeset a.csv{display:inline-block;font-size:.6rem;line-height:1.6;text-decoration:underline}
@media print{.md-typeset a.csv{display:none}.md-typeset svg.chart{break-inside:avoid}}
"""


def finish(site: Path) -> None:
    """Rewrites every page below `site`, and writes a CSV beside each chart and each table, and one style sheet. A picture that is in its pages has no file."""
    places: dict[Path, list[Path]] = {}
    for file in sorted(site.rglob("*.html")):
        places.setdefault(file.parent, []).append(file)
    with workers.at_work(len(places)) as start:
        results = [result() for result in [start(_folder, (site, files)) for files in places.values()]]
    linked = {path for _, found in results for path in found}
    for path in {path for found, _ in results for path in found} - linked:  # each stands in the pages that show it
        (site / path).unlink(missing_ok=True)
    (site / STYLE).parent.mkdir(parents=True, exist_ok=True)
    (site / STYLE).write_text(of_a_site() + slim.SHEET + LAYOUT, encoding="utf-8")


def _folder(given: tuple[Path, list[Path]]) -> tuple[list[str], list[str]]:
    """Finishes the pages of one folder of `site`. Returns the paths of the pictures that stand in them now, and of those that they name."""
    site, files = given
    pictures: dict[str, str | None] = {}
    linked: set[str] = set()

    def read(path: str) -> str | None:
        if path not in pictures:
            file = site / path
            pictures[path] = file.read_text(encoding="utf-8") if file.is_file() else None
        return pictures[path]

    for page in files:
        at = page.relative_to(site).as_posix()
        text, tables = finished(page.read_text(encoding="utf-8"), at, read)
        page.write_text(text, encoding="utf-8")
        linked.update(_beside(at, target) for target in _PICTURE.findall(text))
        for name, table in tables.items():
            (site / name).write_text(table, encoding="utf-8")
    for path, picture in pictures.items():
        table = carried(picture or "")
        if table:
            (site / path).with_suffix(".csv").write_text(table, encoding="utf-8")
    return sorted(path for path, picture in pictures.items() if picture is not None), sorted(linked)


def finished(text: str, at: str, read: Callable[[str], str | None]) -> tuple[str, dict[str, str]]:
    """A page with its pictures in it, and its tables as CSV: path → text.

    Args:
        at: the page's path below the site.
        read: the file at a path below the site, or `None`.
    """
    count = 0
    tables: dict[str, str] = {}

    def picture(found: re.Match[str]) -> str:
        nonlocal count
        source = html.unescape(found[1])
        drawn = read(_beside(at, found[1]))
        if drawn is None or _CHART not in drawn:
            return found[0]
        count += 1
        return inlined(drawn, f"c{count}-") + (_link(source.removesuffix(".svg") + ".csv", "chart") if carried(drawn) else "")

    def table(found: re.Match[str]) -> str:
        name = f"{at.removesuffix('.html')}-table-{len(tables) + 1}.csv"
        tables[name] = as_csv(found[0])
        return slim.table(labelled(found[0])) + _link(posixpath.basename(name), "table")

    text = _TABLE.sub(table, _IMAGE.sub(picture, text))
    if count or tables:
        text = text.replace("</head>", f'<link rel="stylesheet" href="{"../" * at.count("/")}{STYLE}">\n</head>', 1)
    return slim.page(text), tables


def labelled(table: str) -> str:
    """The matrix of claims with its heads as a style's values, as `saying/elements.py` does it for Markdown's tables; other tables as they are."""
    if not table.startswith('<table class="matrix">'):
        return table
    heads = [html.unescape(re.sub(r"<[^>]+>", "", one)) for one in re.findall(r"<th\b[^>]*>(.*?)</th>", table.partition("</thead>")[0], re.S)]
    return table.replace('class="matrix"', f'class="matrix" style="{html.escape(styled(heads))}"', 1)


def _beside(at: str, target: str) -> str:
    """The path below the site of what an attribute of the page `at` names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(at), unquote(html.unescape(target))))


def _link(target: str, what: str) -> str:
    return f'<a class="csv" href="{html.escape(target)}" download aria-label="This {what} as CSV">CSV</a>'


def inlined(drawn: str, prefix: str) -> str:
    """The `<svg>` element for a page: without the sheet and the table of its file, with ids of its own, its title as its label."""
    body = _METADATA.sub("", drawn[drawn.index("<svg ") :], count=1)
    body = re.sub(r"\s*<style>.*?</style>", "", body, count=1, flags=re.S)
    label = re.match(r"<svg [^>]*>\s*<title>(.*?)</title>", body, re.S)
    if label:  # as a title of the whole it would cover the marks' own
        body = body.replace(f"<title>{label[1]}</title>", "", 1).replace("<svg ", f'<svg aria-label="{html.escape(html.unescape(label[1]))}" ', 1)
    return slim.picture(TAG.sub(lambda found: _of(prefix, found[0]), body).strip())


def _of(prefix: str, tag: str) -> str:
    """An element's begin whose ids, and what refers to them, have a prefix."""
    return re.sub(r'(url\(|href=")#', rf"\1#{prefix}", re.sub(r' id="([^"]+)"', rf' id="{prefix}\1"', tag))


def carried(drawn: str) -> str:
    """The CSV that a picture's file carries, or nothing."""
    found = _METADATA.search(drawn)
    return html.unescape(found[1]) if found else ""


def as_csv(table: str) -> str:
    """An HTML table as CSV: the words of each cell; numbers without signs between thousands, a dash for nothing as nothing."""
    reader = _Cells()
    reader.feed(table)
    return numbers.written([[_cell(cell) for cell in row] for row in reader.rows])


def _cell(text: str) -> str:
    text = " ".join(text.split())
    if _THOUSANDS.fullmatch(text):
        return text.replace(",", "").replace("−", "-")
    return "" if text == "—" else text


class _Cells(HTMLParser):
    """The words of each cell, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self.inside = True
        elif tag == "br" and self.inside:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data
