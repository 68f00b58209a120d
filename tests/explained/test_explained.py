"""The page of a ledger: whole in one file, the same in Markdown, and nothing that a trace holds becomes markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import markdown as renderer
import pytest
from ledgers import by_hand, flash, full, ledger, masked, site

from benchmarks import looking
from benchmarks.browser import Browser
from benchmarks.pages import axe
from reportgen.explained import html, markdown
from reportgen.explained.sheet import MOST, sheet
from reportgen.ledger.model import Located, Where

VOID = {"meta", "br", "link", "img", "input", "hr"}


class Tree(HTMLParser):
    """Which elements there are, and whether each is closed in its turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.ids, self.targets, self.faults = [], [], set(), set(), []
        self.feed(text)
        self.faults += self.open

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.seen.append((tag, given))
        self.ids.add(given.get("id"))
        if given.get("href", "").startswith("#"):
            self.targets.add(given["href"][1:])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def test_the_page_is_whole_and_asks_nothing_of_the_network():
    text = html.page(full())
    tree = Tree(text)
    assert tree.faults == []
    assert [tag for tag, _ in tree.seen if tag in ("script", "link", "img", "iframe")] == []
    assert [given for _, given in tree.seen if "src" in given or any(name.startswith("on") for name in given)] == []
    assert re.findall(r"https?://|url\(|@import", text) == []
    assert "default-src 'none'" in text


def test_the_table_comes_before_the_evidence_and_each_row_leads_to_its_own():
    text = html.page(full())
    tree = Tree(text)
    assert text.index("Know before you read") < text.index('<table role="table"') < text.index("Evidence, place by place")
    assert tree.targets == {"place-1", "place-2", "place-3"} <= tree.ids
    assert [given.get("open") for tag, given in tree.seen if tag == "details" and "id" in given] == [None, None, None]


def test_a_row_says_how_why_and_what_to_do():
    row = sheet(full()).rows[0]
    assert (row.place, row.how, row.calls, row.time, row.percent) == ("`eyes.py(41): forward` in `EyeAttention`", "written by hand", "24", "400 ms", "40.0 %")
    assert row.beside == ("Copies that feed it: 20.0 ms in 24 calls, `aten::contiguous > aten::clone > aten::copy_`",)
    assert row.why == ("It is written by hand: scores, softmax and product are kernels of their own, and the scores pass through memory between them (24 calls).",)
    assert row.todo[0].text.startswith("Call `F.scaled_dot_product_attention`; modelled, not measured: saves about 320 ms")
    assert row.todo[0].page == "docs/findings/by-hand.md"
    assert row.kernels.rows == (("`flash_fwd D=64 128x128`", "FlashAttention-2", "forward", "120", "400 ms"),)
    assert row.shapes.rows == (("q [2, 16, 576, 64] bf16, k and v alike, mask [2, 1, 576, 576] bf16", "24", "400 ms"),)


def test_both_pages_say_the_same():
    plain = re.sub(r"<[^>]+>|[`*\\]", "", html.page(full()))
    for sentence in ("at 3 places", "Begin at", "The file is not whole", "rules out flash", "The GPU waits for the host in 1 stretch", "occupancy of 0 for 48 kernel launches", "profile with with_stack=True"):
        assert sentence in plain
        assert sentence in re.sub(r"[`*\\]", "", markdown.page(full()))


def test_the_same_ledger_gives_the_same_bytes():
    assert html.page(full()) == html.page(full()) and markdown.page(full()) == markdown.page(full())


HOSTILE = "<img src=x onerror=alert(1)>`](javascript:alert(1))|</table>"


def test_names_out_of_a_trace_are_text():
    bad = replace(site(), where=Where(Located.SOURCE, f"{HOSTILE}.py(1): forward", HOSTILE, (HOSTILE,), HOSTILE), op=HOSTILE)
    text = html.page(replace(ledger(bad), file=f"{HOSTILE}.json"))
    tree = Tree(text)
    assert tree.faults == [] and not [tag for tag, _ in tree.seen if tag == "img"]
    table = [line for line in markdown.page(ledger(bad)).splitlines() if line.startswith("|")]
    assert len(re.findall(r"(?<!\\)\|", table[2])) == 8
    rendered = Tree(renderer.markdown(markdown.page(ledger(bad)), extensions=["tables"]))
    assert [(tag, given) for tag, given in rendered.seen if tag in ("img", "a", "script") or "onerror" in given] == []


def test_a_trace_without_attention_has_a_page():
    text = html.page(ledger())
    assert "No attention was found in this trace." in text and "<table" not in text
    assert Tree(text).faults == []
    assert markdown.page(ledger()).startswith("# Attention in eyes.json.gz\n")


def test_more_places_than_a_page_shows_are_counted():
    many = ledger(*(site(f"a.py({number}): f", seconds=0.01) for number in range(MOST + 2)))
    assert sheet(many).left_out == "2 more places with 20.0 ms in all; `--json` has every one."
    assert html.page(many).count('<details id="place-') == MOST


def test_backward_is_told_apart():
    both = flash(forward=by_hand().forward, backward=masked().forward)
    assert sheet(ledger(both)).rows[0].passes == "forward 400 ms, backward 50.0 ms"


@pytest.fixture(scope="module")
def browser(chromium, tmp_path_factory):
    with Browser(chromium, tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.mark.parametrize("width", [390, 800, 1440])
@pytest.mark.parametrize("unfolded", [False, True])
def test_no_screen_is_too_narrow(browser, tmp_path, width, unfolded):
    (tmp_path / "page.html").write_text(html.page(full()).replace("<details", "<details open") if unfolded else html.page(full()), encoding="utf-8")
    browser.screen(width, 900)
    seen = browser.open((tmp_path / "page.html").as_uri(), "({wide: document.documentElement.scrollWidth, screen: innerWidth})")
    assert seen.document["wide"] <= seen.document["screen"]
    assert seen.errors == [] and all(request.startswith("file:") for request in seen.requests)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser, tmp_path, scheme):
    source = axe()
    if source is None:
        pytest.skip("axe is not installed here: `make test` renews the environment, or set AXE to an axe.min.js")
    (tmp_path / "page.html").write_text(html.page(full()).replace("<details", "<details open"), encoding="utf-8")
    browser.screen(*looking.DESKTOP)
    assert looking.violations(browser, (tmp_path / "page.html").as_uri(), source, scheme) == []
