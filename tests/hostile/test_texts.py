"""Thirty hostile texts in every text field of a run, on every page of the strict site, in a real browser: nothing runs, nothing is fetched
from elsewhere, nothing that evidence brought can be clicked, and no element is there that plain words do not give.

Two texts in every run of the suite where Chromium is; `HOSTILE=all` opens the pages of all, which takes a quarter of an hour.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from difflib import unified_diff
from itertools import cycle
from pathlib import Path

import pytest

from benchmarks.browser import Browser, Seen, served
from hostile import evidence, sites
from hostile.words import OUTSIDE, TEXTS
from reportgen.pages import navigation

FEW = ("script", "lines")
FEATURED = dict(zip(TEXTS, cycle(evidence.SHAPES)))
"""Shared pages show one run in full: which of the three, text after text."""
PLAIN = "w plain words w"
Page = dict[str, list[str]]


@pytest.fixture(scope="session")
def plain(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Page]:
    """The elements of each page where every text is plain words."""
    known: dict[str, Page] = {}

    def of(featured: str) -> Page:
        if featured not in known:
            root = tmp_path_factory.mktemp("plain")
            known[featured] = {page: seen.document["tags"] for page, seen in looked_at(chromium, root, PLAIN, featured).items()}
        return known[featured]

    return of


def looked_at(program: str, root: Path, text: str, featured: str) -> dict[str, Seen]:
    site = sites.built(root, text, featured)
    with served(site) as address, Browser(program, root / "profile") as browser:
        seen = {page: browser.open(address + page, sites.LOOK) for page in sites.opened(site, featured)}
        found = "index.html?q=w"
        seen[found] = browser.open(address + found, sites.LOOK, wait="document.querySelectorAll('.md-search-result__item').length > 0")
        assert browser.ask("document.querySelectorAll('.md-search-result__item').length") > 0
    for one in seen.values():
        one.requests = [each.replace(address, "") for each in one.requests]
        one.document["links"] = [each.replace(address, "") for each in one.document["links"]]
    return seen


def test_there_are_thirty_texts_and_each_comes_into_every_text_field():
    assert len(TEXTS) >= 30
    run = evidence.recorded.now()
    assert evidence.everywhere(run, "HERE") > 300
    for place in ("title", "reason", "timer_note"):
        assert run["variants"]["naive"][place] == "HERE"
    assert (run["device"]["name"], run["device"]["slug"], run["software"]["torch"], run["host"]["cpu"], run["lost"][0]["reason"]) == ("HERE", "nvidia-h200", "HERE", "HERE", "HERE")
    assert run["counters"]["variants"]["naive"][0]["kernel"] == run["probes"]["autograd"]["minimal_refusal"]["code"] == run["clocks"]["samples"][0]["throttle"][0] == "HERE"


def test_a_title_of_any_length_is_a_key_of_the_navigation():
    """YAML takes none above 1,024 letters."""
    shown = navigation._short("&" * 10_000)
    assert shown == "&amp;" * 159 + "…" and len(shown) < 1024
    assert navigation._short("NVIDIA H200, article") == "NVIDIA H200, article"


@pytest.mark.parametrize("name", TEXTS if os.environ.get("HOSTILE") == "all" else FEW)
def test_a_hostile_text_stays_text_in_a_browser(name: str, chromium: str, plain: Callable[[str], Page], tmp_path: Path):
    seen = looked_at(chromium, tmp_path, TEXTS[name], FEATURED[name])
    kinds = {"index.html", "compare.html", "readme.html", "404.html", "variants/naive.html", "kernel-names.html", *(f"runs/nvidia-h200/article+{shape}/{page}.html" for shape in evidence.SHAPES
             for page in (("index",) if shape == FEATURED[name] else ("index", "findings", "hardware", "variants")))}
    assert kinds <= seen.keys() and any(page.endswith(".svg") for page in seen)
    wrong: dict[str, object] = {}
    for page, one in seen.items():
        found = one.document
        if one.dialogs or found["planted"] != "undefined" or found["live"]:
            wrong[page] = (one.dialogs, found["planted"], found["live"][:5])
        elif elsewhere := [each for each in (*one.requests, *found["links"]) if OUTSIDE in each or each.startswith(("javascript:", "data:text"))]:
            wrong[page] = elsewhere[:5]
        elif asked := [each for each in one.requests if each.startswith(("http", "ftp", "ws", "//"))]:
            wrong[page] = asked
    assert wrong == {}
    ours = plain(FEATURED[name])
    for page in sorted(ours.keys() & seen.keys()):
        if page == "kernel-names.html":  # which parts a name has decides what stands here
            assert set(seen[page].document["tags"]) <= {tag for each in ours.values() for tag in each}
        elif not page.endswith(".svg") and "?" not in page:
            assert seen[page].document["tags"] == ours[page], "\n".join([page, *list(unified_diff(ours[page], seen[page].document["tags"], lineterm="", n=1))[:12]])
