"""A Markdown extension for the built site: what Markdown's tables cannot say.

`mkdocs.yml` names it, and any engine that reads Python-Markdown's extensions takes it. A forge shows the same pages
without it. Each table gets a box that scrolls where the window is narrow, the paragraph before it as its caption or the summary
of its fold as its name, heads with a scope, and cells that say again what the cell above them says are marked, so that a style may
mute them. A table too wide for a phone carries its heads as a style's values, so that its rows can be paragraphs there, each cell
behind its head. Words stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

MANY = 8
"""Columns from which on a table may be wider than a screen's column, so that the keyboard must reach its box."""
SHORT = 14
"""Letters of a cell that stays in one line: a number with its unit."""
PHONE = 38
"""Letters beside each other, columns' gaps included, that a phone's column has room for; a wider table's rows become paragraphs there."""
AFTER_ATTRIBUTES = 4
"""Order among the tree's processors: after inline text, attribute lists and the table of contents."""


class TablesProcessor(Treeprocessor):  # type: ignore[misc]  # the checkers' environment has no Markdown
    """Boxes, captions and names of a page's tables."""

    def run(self, root: Element) -> None:
        names: dict[str, int] = {}
        for parent, table, about in list(_tables(root)):
            _box(parent, table, _unique(names, _caption(parent, table) or about))


class HeadingFirst(Treeprocessor):  # type: ignore[misc]
    """The page's heading before the comment that says where the page comes from: an engine takes a page's title from what stands first."""

    def run(self, root: Element) -> None:
        if len(root) > 1 and root[1].tag == "h1" and self._is_comment(root[0]):
            heading = root[1]
            root.remove(heading)
            root.insert(0, heading)

    def _is_comment(self, element: Element) -> bool:
        stash = self.md.htmlStash
        found = [block for number, block in enumerate(stash.rawHtmlBlocks) if element.text == stash.get_placeholder(number)]
        return len(element) == 0 and bool(found) and isinstance(found[0], str) and found[0].startswith("<!--")


class TablesExtension(Extension):  # type: ignore[misc]
    """Registers the processors."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - Markdown's name
        md.treeprocessors.register(TablesProcessor(md), "reportgen-tables", AFTER_ATTRIBUTES)
        md.treeprocessors.register(HeadingFirst(md), "reportgen-heading", AFTER_ATTRIBUTES)


def makeExtension(**given: object) -> TablesExtension:  # noqa: N802 - Markdown looks for this name
    """What Markdown calls to get the extension."""
    return TablesExtension(**given)


def _tables(root: Element, about: str = "") -> Iterator[tuple[Element, Element, str]]:
    """Every table with its parent, and the last heading before it or the summary of its fold."""
    for child in root:
        if child.tag in ("h1", "h2", "h3", "h4", "summary"):
            about = _words(child)
        elif child.tag == "table":
            yield root, child, about
        yield from _tables(child, about)


def _caption(parent: Element, table: Element) -> str:
    """Makes the table's caption of the paragraph before it, and returns its words; empty where that paragraph is none."""
    place = list(parent).index(table)
    before, earlier = parent[place - 1] if place else None, parent[place - 2] if place > 1 else None
    if before is None or not _only(before, "em") or (earlier is not None and _only(earlier, "img")):  # a sentence under a chart is the chart's
        return ""
    caption = Element("caption")
    sentence = before[0]
    caption.text, caption[:] = sentence.text, list(sentence)
    parent.remove(before)
    table.insert(0, caption)
    return _words(caption)


def _only(paragraph: Element, tag: str) -> bool:
    return paragraph.tag == "p" and len(paragraph) == 1 and paragraph[0].tag == tag and not (paragraph.text or "").strip() and not (paragraph[0].tail or "").strip()


def _box(parent: Element, table: Element, name: str) -> None:
    """Puts the table into its box, and marks its cells: `again` repeats the one above, `short` must not break."""
    heads = list(table.iter("th"))
    table.set("class", "data dense" if len(heads) >= MANY else "data")
    for head in heads:
        head.set("scope", "col")
    if heads and _wide(table):
        table.set("class", table.get("class", "") + " stack")
        table.set("style", styled([_words(head) for head in heads]))
    box = Element("div", {"class": "data-box", **({"role": "region", "tabindex": "0", "aria-label": name} if len(heads) >= MANY else {"data-name": name})})
    box.tail, table.tail = table.tail, None
    parent[list(parent).index(table)] = box
    box.append(table)
    above = ""
    for row in table.iter("tr"):
        cells = [cell for cell in row if cell.tag == "td"]
        said = [_words(cell) for cell in cells]
        for number, (cell, words) in enumerate(zip(cells, said)):
            marks = ["again"] * (number == 0 and words == above != "") + ["short"] * (len(words) <= SHORT)
            if marks:
                cell.set("class", " ".join(marks))
        above = said[0] if said else ""


def _wide(table: Element) -> bool:
    """Whether the narrowest that a table can be is more than a phone has room for: words do not break, nor does a short cell."""
    least: dict[int, int] = {}
    for row in table.iter("tr"):
        for column, cell in enumerate(row):
            words = _words(cell)
            letters = max(map(len, words.split()), default=0) if cell.tag == "th" or len(words) > SHORT else len(words)
            least[column] = max(least.get(column, 0), min(letters, 2 * SHORT), SHORT if len(words) > SHORT and cell.tag == "td" else 0)
    return sum(least.values()) + 2 * len(least) > PHONE


def styled(heads: list[str]) -> str:
    """Heads as values of a style, `--h1:'Variant';--h2:…`: what a row's paragraph says before each cell."""
    return ";".join(f"--h{number}:'{_quoted(head)}'" for number, head in enumerate(heads, 1))


def _quoted(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'")


def _unique(names: dict[str, int], name: str) -> str:
    """`name`, with a number where the page has it already."""
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name} ({names[name]})"


def _words(element: Element) -> str:
    """The text of an element, one line; what Markdown put aside (code with entities) is left out."""
    text = "".join(element.itertext())
    return " ".join("".join(part for part in text.split("\x02")[:1] + [one.partition("\x03")[2] for one in text.split("\x02")[1:]]).split())
