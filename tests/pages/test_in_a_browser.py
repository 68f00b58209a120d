"""The committed pages' site as a reader meets it: in Chromium, from a server and from a folder, on a screen and on paper."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from benchmarks import looking
from benchmarks.browser import Browser, served
from benchmarks.pages import axe
from reportgen.pages import finish, offline, publish
from reportgen.pages.finding import ALIKE
from reportgen.run.layout import Layout

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("front", "finding", "reading", "variant", "compare", "run", "run, findings", "run, hardware", "run, traces", "claims", "map", "why", "bill", "beside", "upgrade", "history",
         "SDPA", "which limit", "profile your model", "reviewing", "beyond", "method", "kernel names", "glossary", "reading a trace", "not found")


@dataclass(frozen=True)
class Opened:
    """A site in a folder, its address, and the browser that looks at it."""

    folder: Path
    address: str
    browser: Browser


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the committed pages, built strictly; a copy of one page lies in a folder that the site does not have."""
    root = tmp_path_factory.mktemp("whole")
    shutil.copy(ROOT / "mkdocs.yml", root)
    layout = Layout(root)
    publish.build_site(layout, ROOT / "docs")
    return layout.site


@pytest.fixture(scope="module")
def opened(site: Path, chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with served(site.parent) as address, Browser(chromium, tmp_path_factory.mktemp("profile")) as browser:
        yield Opened(site, f"{address}site/", browser)


@pytest.mark.parametrize("size, medium", [((1280, 800), ""), ((1440, 900), ""), ((390, 844), ""), ((718, 1000), "print")], ids=["1280 px", "1440 px", "390 px", "paper"])
def test_no_table_but_a_raw_trace_is_cut(opened: Opened, size: tuple[int, int], medium: str):
    opened.browser.prefer(media=medium)
    wide = looking.cut(opened.browser, [opened.address + page for page in looking.pages(opened.folder)], size)
    opened.browser.prefer()
    assert {page: [one["heads"] for one in tables if not one["trace"]] for page, tables in wide.items() if any(not one["trace"] for one in tables)} == {}


def test_a_table_that_is_too_wide_is_seen(opened: Opened, tmp_path: Path):
    """The rule above can fail: 40 columns of names fit no screen."""
    (opened.folder / "wide.html").write_text(f"<article style='width: 900px'><table><thead><tr>{'<th>Processes' * 40}</table></article>", encoding="utf-8")
    try:
        wide = looking.cut(opened.browser, [f"{opened.address}wide.html"], (1280, 800))
    finally:
        (opened.folder / "wide.html").unlink()
    assert len(wide) == 1


def test_every_kind_of_page_is_looked_at(site: Path):
    assert set(KINDS) - set(looking.samples(site)) == set()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_axe_finds_nothing(opened: Opened, kind: str, scheme: str):
    source = axe()
    if source is None:
        pytest.skip("axe is not installed here: `make test` renews the environment, or set AXE to an axe.min.js")
    opened.browser.screen(*looking.DESKTOP)
    assert looking.violations(opened.browser, opened.address + looking.samples(opened.folder)[kind], source, scheme) == []


def test_a_word_is_found_from_a_folder_without_a_server_a_request_outside_or_an_error(opened: Opened):
    hits, outside, errors = looking.search(opened.browser, opened.folder, "memcpy")
    assert hits > 3 and outside == [] and errors == []


def test_every_chart_and_table_has_a_csv_beside_it_with_a_line_per_row(site: Path):
    """Folds, runs' own pages and the devices' maps too; a cell may hold no line of its own."""
    beside = re.compile(r'(<table\b.*?</table>|<svg aria-label=[^>]*class="chart".*?</svg>|<img\b[^>]*>)(?:<a class="csv" href="([^"]+)")?', re.S)
    found = [(page, *one) for page in looking.pages(site) for one in beside.findall((site / page).read_text(encoding="utf-8"))]
    shown = [one for one in found if 'assets/logo.svg"' not in one[1]]
    assert sum(text.startswith("<table") for _, text, _ in shown) > 200 and sum(text.startswith("<svg") for _, text, _ in shown) > 40
    assert [(page, text[:120]) for page, text, link in shown if not link or not (site / page).parent.joinpath(unquote(link)).is_file()] == []
    lines = {(page, link): len((site / page).parent.joinpath(unquote(link)).read_text(encoding="utf-8").splitlines()) for page, _, link in shown}
    assert [(page, link) for page, text, link in shown if text.startswith("<table") and lines[page, link] != text.count("<tr")] == []
    assert [(page, link) for page, text, link in shown if text.startswith("<svg") and lines[page, link] < 2] == []


def test_every_bar_of_the_front_page_has_a_script_of_a_screen_beside_it(site: Path):
    front = (site / "index.html").read_text(encoding="utf-8")
    rows = [row for row in front.split("<tr>")[1:] if '<span class="bar ' in row]
    scripts = [re.search(r'href="(scripts/\w+\.py)"', row) for row in rows]
    assert len(rows) >= 6 and all(scripts)
    assert all(0 < len((site / one[1]).read_text(encoding="utf-8").splitlines()) <= 25 for one in scripts)


def test_titles_tell_pages_apart_and_a_run_is_in_its_pages_titles(site: Path):
    titles = {page: re.search(r"<title>(.*?)</title>", (site / page).read_text(encoding="utf-8"), re.S)[1] for page in looking.pages(site)}
    assert [title for title, times in Counter(titles.values()).items() if times > 1 and title != titles["404.html"]] == []
    assert all("H200" in title for page, title in titles.items() if page.startswith("runs/"))


@pytest.mark.parametrize("at", ["none.html", "findings/none.html", "nowhere/at/all.html"])
def test_the_page_for_what_is_missing_works_at_any_depth_below_a_sub_path(opened: Opened, at: str):
    """The server gives it under the address that was asked for; here a copy lies there."""
    page = opened.folder / at
    page.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(opened.folder / "404.html", page)
    try:
        seen = opened.browser.open(opened.address + at, "({styled: getComputedStyle(document.querySelector('.md-header')).position, home: document.querySelector('article a').href,"
                                                        " head: document.querySelector('h1').innerText})").document
        opened.browser.open(f"{opened.address}{at}?q=memcpy", "({})", wait=f"{looking.HITS} > 0")
        hits = opened.browser.ask(looking.HITS)
    finally:
        page.unlink()
    assert seen == {"styled": "sticky", "home": f"{opened.address}index.html", "head": "This page is not here"}
    assert hits > 0


def test_the_page_for_what_is_missing_works_from_a_folder(opened: Opened):
    seen = opened.browser.open((opened.folder / "404.html").as_uri(), "({styled: getComputedStyle(document.querySelector('.md-header')).position, home: document.querySelector('article a').href})")
    assert seen.document == {"styled": "sticky", "home": (opened.folder / "index.html").as_uri()} and seen.errors == []


TIMES = """(() => { const t = document.querySelector('table.data'), column = [...t.tHead.rows[0].cells].findIndex(e => e.innerText.startsWith('GPU time'));
  return {column, sort: t.tHead.rows[0].cells[column].getAttribute('aria-sort'), said: [...t.tBodies[0].rows].map(row => row.cells[column].innerText)}; })()"""


def test_a_tables_head_sorts_up_and_then_down_and_the_keyboard_reaches_it(opened: Opened):
    opened.browser.screen(*looking.DESKTOP)
    first = opened.browser.open(f"{opened.address}index.html", TIMES).document
    button = f"document.querySelector('table.data').tHead.rows[0].cells[{first['column']}].querySelector('button')"
    opened.browser.ask(f"{button}.focus(), {button}.click(), document.activeElement === {button}")
    up = opened.browser.ask(TIMES)
    opened.browser.ask(f"{button}.click()")
    down = opened.browser.ask(TIMES)
    numbers = [float(one.replace(",", "")) for one in up["said"] if one[0].isdigit()]
    assert len(numbers) >= 6 and numbers == sorted(numbers) and up["sort"] == "ascending" and first["sort"] is None
    assert [float(one.replace(",", "")) for one in down["said"] if one[0].isdigit()] == numbers[::-1] and down["sort"] == "descending"
    assert all(one[0].isdigit() for one in (*up["said"][:len(numbers)], *down["said"][:len(numbers)])), "what is no number stands behind the numbers"


def test_on_a_narrow_screen_the_keyboard_reaches_every_box_that_scrolls_and_no_other(opened: Opened):
    opened.browser.screen(768, 1024)
    seen = opened.browser.open(f"{opened.address}hardware/occupancy.html", "({})", wait="document.querySelectorAll('.data-box').length > 0")
    boxes = opened.browser.ask("[...document.querySelectorAll('.data-box')].filter(e => e.getClientRects().length).map(e => [e.scrollWidth > e.clientWidth + 1, e.getAttribute('tabindex') === '0' && !!e.getAttribute('aria-label')])")
    assert seen.errors == [] and any(scrolls for scrolls, _ in boxes) and all(scrolls == reached for scrolls, reached in boxes)


def test_on_a_phone_each_cell_of_a_wide_table_stands_behind_its_head(opened: Opened):
    opened.browser.screen(*looking.PHONE)
    opened.browser.open(f"{opened.address}compare.html", "({})")
    said = opened.browser.ask("[...document.querySelectorAll('table.stack')].filter(t => !t.closest('.claims')).map(t => [...t.rows].slice(1, 2).map(r => [...r.cells].slice(1).map("
                              "(c, n) => [getComputedStyle(c, '::before').content.slice(1, -1), t.tHead.rows[0].cells[n + 1].textContent.trim()]))[0])")
    assert len(said) > 0 and all(shown == head for row in said for shown, head in row)


THERE = "(e => e && !e.hidden ? e.innerText.replace(/\\s+/g, ' ').trim() : null)(document.querySelector('.there'))"


def test_a_device_chosen_on_one_finding_is_beside_the_next_one_too(opened: Opened):
    """What is said of it is its row of the page's own table: the answer, a verdict per claim, and the way to its evidence."""
    browser, at = opened.browser, f"{opened.address}findings/"
    browser.screen(*looking.DESKTOP)
    before = browser.open(f"{at}flash-hbm.html", THERE)
    browser.ask("(s => { s.selectedIndex = 1; s.dispatchEvent(new Event('change')); })(document.querySelector('.device-choice select'))")
    said = browser.ask(THERE)
    target = browser.ask("[...document.querySelectorAll('.there a')].at(-1).getAttribute('href')")
    after = browser.open(f"{at}cpu-bill.html", THERE)
    browser.ask("(s => { s.value = ''; s.dispatchEvent(new Event('change')); })(document.querySelector('.device-choice select'))")
    gone = browser.open(f"{at}flash-hbm.html", THERE)
    assert before.document is None and gone.document is None and before.errors + after.errors == []
    assert said == f"NVIDIA H200 (tf32), article: {ALIKE} holds flash-one-kernel holds hbm-dominates holds flash-never-writes-scores its evidence"
    assert target == "../runs/nvidia-h200/article%2Btf32/findings.html#flash-hbm"
    assert after.document.startswith("NVIDIA H200 (tf32), article: ")


def test_no_page_scrolls_sideways_on_a_phone(opened: Opened):
    opened.browser.screen(*looking.PHONE)
    wide = {page: over for page in looking.pages(opened.folder) if (over := opened.browser.open(opened.address + page, "document.documentElement.scrollWidth - innerWidth").document) > 0}
    assert wide == {}


def test_the_script_says_nothing_on_the_console(opened: Opened):
    assert [seen.errors for page in looking.samples(opened.folder).values() if (seen := opened.browser.open(opened.address + page, "({})")).errors] == []


def test_another_engine_builds_the_same_pages(tmp_path: Path):
    """zensical reads mkdocs.yml as it is. It is not locked here: this runs where it is on the path, or named by ZENSICAL."""
    program = os.environ.get("ZENSICAL") or shutil.which("zensical")
    if not program:
        pytest.skip("zensical is not installed here: `pip install zensical` into an environment of its own, and ZENSICAL=its program")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    done = subprocess.run([program, "build", "--strict", "-f", "mkdocs.yml"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    offline.complete(tmp_path / "site")
    finish.finish(tmp_path / "site")
    pages = {file.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for file in (ROOT / "docs").rglob("*.md")}
    assert set(looking.pages(tmp_path / "site")) == pages | {"404.html"}
    front = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<table class="data' in front and "assets/report.js" in front and 'property="og:title"' in front
    assert '<svg aria-label=' in (tmp_path / "site" / "findings" / "flash-hbm.html").read_text(encoding="utf-8")


def test_whoever_reads_in_the_dark_scheme_prints_in_the_light_one(opened: Opened):
    browser, address = opened.browser, opened.address
    browser.screen(1440, 900)
    browser.prefer("dark")
    browser.open(address + "index.html", "({})", wait="document.body.getAttribute('data-md-color-scheme') === 'slate'")
    scheme = "document.body.getAttribute('data-md-color-scheme')"
    assert browser.ask(f"(dispatchEvent(new Event('beforeprint')), {scheme})") == "default"
    assert browser.ask(f"(dispatchEvent(new Event('afterprint')), {scheme})") == "slate"
    browser.prefer("light")
