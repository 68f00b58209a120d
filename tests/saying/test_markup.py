"""Words of others stand on a page letter for letter: no link, picture, emphasis, list, box or attribute comes of them."""

from __future__ import annotations

import doctest
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reportgen.saying import markup
from reportgen.saying.tables import Link, Table, columns, markdown

EXTENSIONS = re.findall(r"^  - ([\w.]+):?$", (Path(__file__).resolve().parents[2] / "mkdocs.yml").read_text(encoding="utf-8").split("markdown_extensions:")[1].split("\n\n")[0], re.M)
HOSTILE = (
    "see [x](y.md) | <b>bold</b> *star* {ratio} _under_ ![z](w.png) # head.",
    "NVIDIA [X](y) | <b>H200</b> *7* {name} \\_z_ & co",
    "# head", "- item", "1. first", "1) first", "+ plus", "!!! note", "??? note \"x\"", "=== tab", "~~~", ": definition", "> quote", "[x]: http://a.b", "[^1]: note", "*[HTML]: abbreviation",
    "[x][y] and [^1]", "a ](y) b [c", "**bold** __bold__ ***x***", "{: #id .class }", "x {: #id }", "{#id}", "<script>alert(1)</script>", "<!-- -->", "&lt; &amp; &#42;", "\\", "\\*not\\*", "a\\", "~~gone~~",
    "masked_fill_ and _safe_softmax", "2 * 3 * 4", "[[a]](b)", "![a][b]", "<http://a.b>", "**", "_", "a  \nb", "tab\tand   blanks", "-1 %", "1.5 ms", "cost $a$",
)


class Read(HTMLParser):
    """The text and the tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "img":
            self.text += dict(attrs)["alt"] or ""

    def handle_data(self, data: str) -> None:
        self.text += data


def read(page: str) -> Read:
    markdown_of = pytest.importorskip("markdown")
    reader = Read()
    reader.feed(markdown_of.markdown(page, extensions=[name for name in EXTENSIONS if name not in ("toc", "reportgen.saying.elements")]))
    reader.close()
    return reader


PLACES = {
    "a paragraph": (lambda text: markup.sentence(text), ["p"]),
    "an item": (lambda text: f"- {markup.sentence(text)}", ["ul", "li"]),
    "a quotation": (lambda text: f"> {markup.sentence(text)}", ["blockquote", "p"]),
    "a heading": (lambda text: f"# {markup.label(text)}", ["h1"]),
    "a link": (lambda text: f"[{markup.label(text)}](t.md)", ["p", "a"]),
    "a sentence within a link": (lambda text: f"[{markup.label(text)}](t.md)", ["p", "a"]),
    "emphasis": (lambda text: f"**{markup.label(text)}**", ["p", "strong"]),
    "a picture": (lambda text: f"![{markup.alt(text)}](t.svg)", ["p", "img"]),
    "a cell": (lambda text: markdown(Table(columns("A"), ((text,),))), ["table", "thead", "tr", "th", "tbody", "tr", "td"]),
    "a cell's link": (lambda text: markdown(Table(columns("A"), ((Link(text, "t.md"),),))), ["table", "thead", "tr", "th", "tbody", "tr", "td", "a"]),
    "a note": (lambda text: markdown(Table(columns("A"), (("x",),), notes=(text,))), ["table", "thead", "tr", "th", "tbody", "tr", "td", "p", "small"]),
}


def shown(text: str, place: str) -> str:
    """What stands on the page: one line; a picture's brackets are round."""
    text = " ".join(text.split())
    return text.replace("[", "(").replace("]", ")") if place == "a picture" else text


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("text", HOSTILE)
def test_what_others_wrote_stands_letter_for_letter(text, place):
    write, tags = PLACES[place]
    page = read(write(text))
    said = " ".join(page.text.split())
    said = said.removeprefix("A x " if place == "a note" else "A " if "cell" in place else "")
    assert (said, [tag for tag in page.tags if tag != "br"]) == (shown(text, place), tags)
    assert [name for name, _ in page.attributes if name not in ("href", "src", "alt")] == []


@pytest.mark.parametrize("place", [place for place in PLACES if place != "a picture"])
def test_so_do_2_000_random_lines(place):
    draw = random.Random(20)
    write, tags = PLACES[place]
    for _ in range(2000 // len(PLACES)):
        text = "w" + "".join(draw.choice("[]()!*_{}<>#+-.:=~\\|&a1 :") for _ in range(draw.randint(1, 14)))
        page = read(write(text))
        assert [tag for tag in page.tags if tag != "br"] == tags, text
        assert " ".join(page.text.split()).endswith(shown(text, place)), (text, write(text), page.text)


@pytest.mark.parametrize("text, then", [
    ("`masked_fill_` stays code, masked_fill_ does not", r"`masked_fill_` stays code, masked_fill\_ does not"),
    ("one ` alone", r"one \` alone"),
    ("CUDA out of memory..", "CUDA out of memory."),
    ("so it broke off (CUDA out of memory..).", "so it broke off (CUDA out of memory.)."),
    ("and so on ...", "and so on ..."),
    ("not used because:. It takes no mask.", "not used because: It takes no mask."),
    ("two\n lines", "two lines"),
])
def test_a_sentence_keeps_its_code_and_ends_once(text, then):
    assert markup.sentence(text) == then


def test_words_of_ours_may_stand_out():
    assert markup.emphasised("**SDPA cuDNN is first**: 1 of `x_`, *not* 2.") == r"**SDPA cuDNN is first**: 1 of `x_`, \*not\* 2."


@pytest.mark.parametrize("text, then", [("# head of 2", "&#35; head of 2"), ("- item **now**", "&#45; item **now**"), ("1. first", "1\\. first"), ("!!! note", "&#33;!! note"), ("**First**: 1.", "**First**: 1.")])
def test_words_of_others_at_the_begin_of_a_caption_open_nothing(text, then):
    """A caption names a variant first, and its title is somebody else's."""
    assert markup.emphasised(text) == then


def test_the_navigation_is_html():
    assert markup.title("NVIDIA [X] <b>& &lt;") == "NVIDIA (X) ‹b›&amp; &amp;lt;"


@pytest.mark.parametrize("source", ["x = 1", "a\n```\n<script>1</script>\n```\nb", "```", "````\n```", "~~~\n<b>\n~~~", "```python\nx\n```"])
def test_code_stays_in_its_block(source):
    """Whatever fences stand in it."""
    markdown_of = pytest.importorskip("markdown")
    page = Read()
    page.feed(markdown_of.markdown(f"before\n\n{markup.fenced(source)}\n\nafter", extensions=EXTENSIONS))
    assert not {"script", "b"} & set(page.tags)
    assert page.tags.count("p") == 2 and source in page.text


def test_examples():
    assert doctest.testmod(markup).failed == 0
