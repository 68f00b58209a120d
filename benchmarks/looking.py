"""What is measured of a page in a browser, and of pages as files. `pages.py` makes a table of it; tests ask single questions."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .browser import Browser

DESKTOP, SMALL, PHONE = (1440, 900), (1280, 800), (390, 844)
A4 = (718, 1000)
"""CSS pixels of a sheet of paper between its margins."""
SAMPLES = {"front": "index.html", "finding": "findings/flash-hbm.html", "reading": "hardware/limits.html", "variant": "variants/sdpa_math.html", "compare": "compare.html",
           "run": "runs/*/*/index.html", "run, findings": "runs/*/*/findings.html", "run, hardware": "runs/*/*/hardware.html", "run, traces": "runs/*/*/variants.html",
           "claims": "claims.html", "map": "map.html", "why": "why.html", "bill": "bill.html", "beside": "beside.html", "upgrade": "runs/*/upgrade.html", "history": "runs/*/history.html", "SDPA": "sdpa.html",
           "which limit": "which-limit.html", "profile your model": "profile-your-model.html", "reviewing": "reviewing.html", "beyond": "beyond.html", "method": "method.html", "kernel names": "kernel-names.html", "glossary": "glossary.html",
           "reading a trace": "reading-a-trace.html", "not found": "404.html"}
"""One page of each kind: the first that fits the pattern; a kind that a site does not have is left out."""

FIRST = """(() => {
  const shown = e => e && e.getClientRects().length > 0, screens = e => (e.getBoundingClientRect().bottom + scrollY) / innerHeight;
  const article = document.querySelector('article'), all = s => [...article.querySelectorAll(s)].filter(shown);
  const verdict = all('.verdict')[0] || all('.answer')[0] || all('#what-this-device-shows ~ p')[0];
  const advice = all('h2, h3').find(e => /^What to (?:do|change)/.test(e.textContent));
  const item = advice && advice.nextElementSibling, first = item && (item.querySelector('li') || item);
  return {verdict: verdict ? screens(verdict) : null, advice: first ? (first.getBoundingClientRect().top + scrollY) / innerHeight : null,
          height: document.documentElement.scrollHeight / innerHeight};
})()"""
"""Screens down to the end of the first verdict (or answer), and to the first piece of advice."""

TABLES = """(() => {
  const article = document.querySelector('article');
  if (!article) return [];
  article.querySelectorAll('details').forEach(e => { e.open = true; });
  const said = t => [...t.querySelectorAll('thead th')].map(e => e.innerText.trim());
  return [...article.querySelectorAll('table')].filter(t => !t.closest('.highlight')).map(t => {
    const heads = said(t), edge = article.getBoundingClientRect().right;
    let box = t.parentElement;
    while (box !== article && !/auto|scroll|hidden/.test(getComputedStyle(box).overflowX)) box = box.parentElement;
    const room = Math.min(box === article ? edge : box.getBoundingClientRect().left + box.clientLeft + box.clientWidth, edge + 1);
    return {heads: heads, over: Math.round(t.getBoundingClientRect().right - room), trace: heads.includes('No.') && heads.some(h => h.startsWith('Launched by'))};
  });
})()"""
"""Every table of the article, folds opened: its heads, by how many pixels it is wider than its box, and whether it is a raw trace."""

HITS = "document.querySelectorAll('.md-search-result__item').length"
RULES = "{runOnly: {type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}, resultTypes: ['violations']}"


@dataclass(frozen=True)
class Words:
    """total: words of all pages; repeated: those of lines of at least four words that stood before already."""

    total: int
    repeated: int


def samples(site: Path) -> dict[str, str]:
    """Page kind → a page of that kind, as a path below `site`."""
    found = ((kind, sorted(site.glob(pattern))) for kind, pattern in SAMPLES.items())
    return {kind: files[0].relative_to(site).as_posix() for kind, files in found if files}


def pages(site: Path) -> list[str]:
    """All pages, as paths below `site`."""
    return sorted(file.relative_to(site).as_posix() for file in site.rglob("*.html"))


def cut(browser: Browser, addresses: Iterable[str], size: tuple[int, int]) -> dict[str, list[dict[str, Any]]]:
    """Address → its tables that are wider than their box by more than a pixel."""
    browser.screen(*size)
    seen = {address: browser.open(address, TABLES).document for address in addresses}
    return {address: wide for address, tables in seen.items() if (wide := [one for one in tables if one["over"] > 1])}


def violations(browser: Browser, address: str, axe: str, scheme: str) -> list[dict[str, Any]]:
    """What axe finds on a page, folds opened: rule, impact, elements. axe: the text of axe.min.js."""
    browser.prefer(scheme)
    browser.open(address, "document.querySelectorAll('article details').forEach(e => { e.open = true; })")
    browser.ask(axe + "; 0")
    said = browser.ask(f"axe.run(document, {RULES}).then(found => found.violations.map(v => ({{rule: v.id, impact: v.impact, "
                       "nodes: v.nodes.map(n => n.target.join(' ') + ' ' + n.html.slice(0, 120) + ' ' + n.any.map(one => one.message).join(' '))})))", promised=True)
    browser.prefer()
    return list(said)


def search(browser: Browser, site: Path, word: str) -> tuple[int, list[str], list[str]]:
    """Opens the site from its folder and searches: number of hits, requests that leave the folder, errors."""
    browser.screen(*DESKTOP)
    start = (site / "index.html").as_uri()
    seen = browser.open(f"{start}?q={word}", "({})", wait=f"{HITS} > 0")
    shown = browser.ask("getComputedStyle(document.querySelector('.md-search')).display !== 'none'")
    outside = [one for one in seen.requests if not one.startswith((site.as_uri(), "data:", "blob:", "about:"))]
    return browser.ask(HITS) if shown else 0, outside, seen.errors


def words(docs: Path) -> Words:
    """Words of the Markdown below `docs`, without link targets and markup."""
    lines = [line for file in sorted(docs.rglob("*.md")) for line in map(_plain, file.read_text(encoding="utf-8").splitlines()) if line]
    often = Counter(lines)
    return Words(sum(len(line.split()) for line in lines), sum((times - 1) * len(line.split()) for line, times in often.items() if len(line.split()) >= 4))


def _plain(line: str) -> str:
    line = re.sub(r"\]\([^)]*\)|<[^>]+>|<!--.*?-->", " ", line)
    return " ".join(re.findall(r"\w[\w.,/×%-]*", line))


def weight(browser: Browser, site: Path, address: str, page: str) -> Mapping[str, int]:
    """Bytes that a reader's first page takes, as files and as a server packs them; the search index apart."""
    seen = browser.open(address + page, "({})")
    files = {site / one.removeprefix(address).split("?")[0].split("#")[0] for one in seen.requests if one.startswith(address)}
    sizes = {name: [file.read_bytes() for file in chosen if file.is_file()] for name, chosen in (("page", {file for file in files if "search_index" not in file.name}), ("index", {site / "search" / "search_index.json"}))}
    return {**{f"{name}, raw": sum(map(len, found)) for name, found in sizes.items()}, **{f"{name}, packed": sum(len(gzip.compress(one, 6)) for one in found) for name, found in sizes.items()},
            "site": sum(file.stat().st_size for file in site.rglob("*") if file.is_file())}


def generated(docs: Path) -> int:
    """Pages and charts below `docs`: what a pull request shows."""
    return sum(1 for file in docs.rglob("*") if file.suffix in (".md", ".svg", ".csv"))
