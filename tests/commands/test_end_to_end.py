"""The whole line on a CPU, in a copy of the checkout: profile, render, build, open in a browser."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from reportgen import run as run_room

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "build", "site", "wheelhouse", "__pycache__", ".pytest_cache", ".?*")
CHROMIUM_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
                  "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--virtual-time-budget=8000")


def reportgen(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "reportgen", *arguments], cwd=root, capture_output=True, text=True, timeout=300)


def contents(*places: Path) -> dict[str, bytes]:
    files = [file for place in places for file in ([place] if place.is_file() else place.rglob("*")) if file.is_file()]
    return {str(file): file.read_bytes() for file in files}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the tree; what a test writes there touches nothing else."""
    root = tmp_path_factory.mktemp("checkout") / "copy"
    shutil.copytree(ROOT, root, ignore=LEFT_OUT)
    return root


@pytest.fixture(scope="module")
def reported(checkout, capture_python):
    """`report` on the CPU; its output, and what docs/ and README were before."""
    before = contents(checkout / "docs", checkout / "README.md")
    done = reportgen(checkout, "report", "--capture-python", capture_python, "--device", "cpu")
    assert done.returncode == 0, done.stderr + done.stdout
    return done, before


@pytest.fixture(scope="module")
def live(checkout, reported) -> Path:
    (folder,) = run_room.discover(checkout / "build" / "runs")
    return folder


def test_report_ends_with_a_summary_and_a_site(checkout, reported, live):
    done, _ = reported
    device = run_room.load(live).device.name
    where, headline = done.stdout.strip().split("\n\n")[-2:]
    assert "fastest" in headline and "\x1b" not in done.stdout
    assert re.search(rf"^{re.escape(device)}$", done.stdout, re.M)
    assert re.search(r"^\d+ claims of the article(?: and \d+ of our own)?: ", done.stdout, re.M)
    assert re.search(r"^[\d.]+ s in all: profiling [\d.]+ s, rendering [\d.]+ s, building the site [\d.]+ s$", done.stdout, re.M)
    assert "site/index.html" in where.splitlines()[-1]
    assert (checkout / "site" / "index.html").is_file()


def test_progress_is_shown_while_profiling(reported):
    done, _ = reported
    assert re.search(r"^\[2/5\] timing, process 7 of 7 \(\d+ s gone, about \d+ s left\)$", done.stderr, re.M)


def test_a_run_on_the_cpu_leaves_the_working_tree_as_it_was(checkout, reported):
    _, before = reported
    assert contents(checkout / "docs", checkout / "README.md") == before


def test_every_recorded_run_is_shown_beside_the_live_one(checkout, live):
    slots = [f"{folder.parent.name}/{folder.name}" for folder in (*run_room.discover(checkout / "docs" / "runs"), live)]
    assert [slot for slot in slots if not (checkout / "site" / "runs" / slot / "index.html").is_file()] == []


def test_a_recorded_run_is_small(live):
    assert sum(file.stat().st_size for file in live.iterdir()) < 1_000_000


class Outside(HTMLParser):
    """Collects what a page would fetch from another host; a link that a reader may follow is none."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            fetched = name in ("src", "srcset", "data", "poster") or (name == "href" and tag not in ("a", "base"))
            canonical = ("rel", "canonical") in attributes
            if fetched and value and re.match(r"(?:https?:)?//", value) and not canonical:
                self.found.append(f"<{tag} {name}={value}>")


def test_no_page_and_no_style_fetches_anything_from_outside(checkout, reported):
    found = []
    for page in (checkout / "site").rglob("*.html"):
        parser = Outside()
        parser.feed(page.read_text(encoding="utf-8"))
        found += [f"{page.name}: {what}" for what in parser.found]
    for style in (checkout / "site").rglob("*.css"):
        found += [f"{style.name}: {what}" for what in re.findall(r"(?:url\(|@import\s)\s*['\"]?(?:https?:)?//[^)]*", style.read_text(encoding="utf-8"))]
    assert found == []


def test_the_rule_about_outside_finds_a_script_and_lets_a_link_pass():
    parser = Outside()
    parser.feed('<a href="https://x/">x</a><link rel="stylesheet" href="//x/y.css"><script src="https://x/z.js"></script><img src="a.svg">')
    assert parser.found == ["<link href=//x/y.css>", "<script src=https://x/z.js>"]


def dom(browser: str, page: Path, profile: Path) -> str:
    done = subprocess.run([browser, *CHROMIUM_FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_pages_open_in_a_browser(checkout, reported, live, chromium, tmp_path):
    run = run_room.load(live)
    front = dom(chromium, checkout / "site" / "index.html", tmp_path / "front")
    assert re.search(r"<title>[^<]+</title>", front)
    assert front.count("<table") >= 2
    own = dom(chromium, checkout / "site" / "runs" / run.slot / "index.html", tmp_path / "own")
    assert run.device.name.replace("(R)", "") in own.replace("(R)", "")
    assert "<table" in own


def test_the_same_runs_render_to_the_same_bytes(checkout, reported, live):
    docs = checkout / "build" / "docs"
    first = contents(docs)
    shutil.rmtree(docs)
    again = f"from pathlib import Path; from reportgen.run import layout; from reportgen.pages import publish; publish.render_live(layout.Layout(Path.cwd()), Path({str(live)!r}))"
    subprocess.run([sys.executable, "-c", again], cwd=checkout, check=True)
    assert contents(docs) == first


@pytest.fixture(scope="module")
def committed(checkout, live, tmp_path_factory) -> Path:
    """Another copy in which the live run is a recorded one, and featured."""
    root = tmp_path_factory.mktemp("committed") / "copy"
    shutil.copytree(checkout, root, ignore=shutil.ignore_patterns("build", "site", "__pycache__"))
    run = run_room.load(live)
    shutil.rmtree(root / "docs" / "runs", ignore_errors=True)
    shutil.copytree(live, root / "docs" / "runs" / run.slot)
    (root / "docs" / "runs" / "FEATURED").write_text(run.slot + "\n")
    done = reportgen(root, "render")
    assert done.returncode == 0, done.stderr
    return root


def test_rendered_pages_pass_the_check_and_build_strictly(committed):
    checked = reportgen(committed, "render", "--check")
    assert (checked.returncode, checked.stderr) == (0, "")
    built = reportgen(committed, "site")
    assert (built.returncode, built.stderr) == (0, "")


def test_the_benchmarks_print_their_table(committed):
    done = subprocess.run([sys.executable, "-m", "benchmarks", "--rounds", "1"], cwd=committed, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    rows = [line.split(" | ")[0].removeprefix("| ") for line in done.stdout.splitlines() if line.startswith("| ")]
    assert rows == ["Step", "---", "unpack and parse JSON", "read traces", "build facts", "decide claims", "render pages", "build the site"]


@pytest.mark.parametrize("page", ["docs/index.md", "README.md"])
def test_a_number_edited_by_hand_fails_the_check_with_page_and_line(committed, page):
    file = committed / page
    text = file.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    number = next(place for place, line in enumerate(lines) if line.startswith("|") and re.search(r"\d", line.split("|", 2)[2]))
    lines[number] = re.sub(r"\d(?=[^\d]*$)", lambda digit: str((int(digit.group()) + 1) % 10), lines[number])
    file.write_text("".join(lines), encoding="utf-8")
    try:
        done = reportgen(committed, "render", "--check")
    finally:
        file.write_text(text, encoding="utf-8")
    assert done.returncode == 2
    assert re.search(rf"^{page}:{number + 1}: ", done.stderr, re.M), done.stderr


def test_a_broken_link_fails_the_strict_build(committed):
    file = committed / "docs" / "index.md"
    text = file.read_text(encoding="utf-8")
    file.write_text(text + "\n[gone](no-such-page.md)\n", encoding="utf-8")
    try:
        done = reportgen(committed, "site")
    finally:
        file.write_text(text, encoding="utf-8")
    assert done.returncode == 2
    assert "no-such-page.md" in done.stderr


def test_a_variant_of_ones_own_appears_everywhere_and_older_runs_say_so(committed, live, capture_python):
    """One file and one line; the run that is already there was recorded before it."""
    source = (committed / "variants" / "naive.py").read_text(encoding="utf-8")
    (committed / "variants" / "my_own.py").write_text(re.sub(r"TITLE = .*", 'TITLE = "My own"', source), encoding="utf-8")
    listed = committed / "variants" / "__init__.py"
    listed.write_text(listed.read_text(encoding="utf-8").replace('"naive_compiled"', '"naive_compiled",\n    "my_own"', 1), encoding="utf-8")
    done = reportgen(committed, "report", "--capture-python", capture_python, "--device", "cpu", "--quick", "--label", "mine", "--variants", "naive", "my_own")
    assert done.returncode == 0, done.stderr + done.stdout
    assert re.search(r"^my_own ", done.stdout, re.M)
    docs, older = committed / "build" / "docs", f"runs/{run_room.load(live).slot}/index.md"
    pages = {name: (docs / name).read_text(encoding="utf-8") for name in ("index.md", "nav.yml", "variants/my_own.md", older)}
    assert [name for name, text in pages.items() if "My own" not in text] == []
    assert "def forward" in pages["variants/my_own.md"]
    assert re.search(r"^\| \[My own\]\([^)]*\) \| recorded before ", pages[older], re.M)
