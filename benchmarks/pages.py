"""Measures the site as a reader meets it, in a headless Chromium: where the answer stands, what is cut, what is said twice, what it weighs.

    python -m benchmarks.pages                    this checkout's site (built anew) beside what was recorded of the state before
    python -m benchmarks.pages --before 178cfb3   the same beside a git ref, or a folder with a built site (its pages' text in ../docs)
    python -m benchmarks.pages --record           writes what was measured into pages_before.json

Chromium is looked for on the path. axe is the one of the tests' environment (or AXE=path of axe.min.js); where there is none, its rows say so.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from . import looking
from .browser import Browser, served

ROOT = Path(__file__).resolve().parent.parent
RECORDED = Path(__file__).resolve().parent / "pages_before.json"
WORD = "memcpy"
Numbers = dict[str, float | int | str | None]


def axe() -> str | None:
    """The text of axe.min.js; `None` where it is not installed."""
    found = find_spec("axe_playwright_python")
    named = os.environ.get("AXE") or (found and found.origin and str(Path(found.origin).parent / "axe.min.js"))
    return Path(named).read_text(encoding="utf-8") if named and Path(named).is_file() else None


def measured(site: Path, docs: Path, program: str) -> Numbers:
    """Every row of the table: name → number."""
    with tempfile.TemporaryDirectory() as profile, served(site) as address, Browser(program, Path(profile)) as browser:
        found = {**_positions(browser, site, address), **_tables(browser, site, address), **_words(docs), **_accessible(browser, site, address)}
        browser.screen(*looking.DESKTOP)
        found |= {f"Bytes, {name}": value for name, value in looking.weight(browser, site, address, "index.html").items()}
        hits, outside, errors = looking.search(browser, site, WORD)
        found |= {f"Search for {WORD} from a folder, hits": hits, "… requests that leave the folder": len(outside), "… errors": len(errors)}
    return found


def _positions(browser: Browser, site: Path, address: str) -> Numbers:
    found: Numbers = {}
    for name, size in (("1440×900", looking.DESKTOP), ("390×844", looking.PHONE)):
        browser.screen(*size)
        seen = {page: browser.open(address + page, looking.FIRST).document for page in looking.pages(site) if page != "404.html"}
        for what in ("verdict", "advice"):
            found |= {f"Screens to the first {what}, {page}, {name}": round(one[what], 2) for page, one in seen.items() if one[what] is not None}
        found |= {f"Screens in all, {page}, {name}": round(one["height"], 1) for page, one in seen.items()}
    return found


def _tables(browser: Browser, site: Path, address: str) -> Numbers:
    found: Numbers = {}
    addresses = [address + page for page in looking.pages(site)]
    for name, size, medium in (("1440 px", looking.DESKTOP, ""), ("1280 px", looking.SMALL, ""), ("390 px", looking.PHONE, ""), ("print, A4", looking.A4, "print")):
        browser.prefer(media=medium)
        wide = [one for tables in looking.cut(browser, addresses, size).values() for one in tables]
        found |= {f"Tables cut at {name}, raw traces apart": sum(not one["trace"] for one in wide), f"Raw traces cut at {name}": sum(one["trace"] for one in wide)}
    browser.prefer()
    return found


def _words(docs: Path) -> Numbers:
    words = looking.words(docs)
    return {"Words": words.total, "Repeated words": words.repeated, "Repeated words, %": round(100 * words.repeated / words.total, 1), "Files of pages and charts": looking.generated(docs)}


def _accessible(browser: Browser, site: Path, address: str) -> Numbers:
    source = axe()
    browser.screen(*looking.DESKTOP)
    found: Numbers = {}
    for kind, page in looking.samples(site).items():
        for scheme in ("light", "dark"):
            said = None if source is None else looking.violations(browser, address + page, source, scheme)
            found[f"axe, {kind}, {scheme}"] = "axe is not installed" if said is None else " ".join(f"{one['rule']}×{len(one['nodes'])}" for one in said) or 0
    return found


def built(ref: str, into: Path) -> tuple[Path, Path]:
    """A git ref's site and docs, built with this Python."""
    archive = subprocess.run(["git", "archive", ref], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=into, input=archive, check=True)
    subprocess.run([sys.executable, "-E", "-m", "reportgen", "site"], cwd=into, stdout=sys.stderr, check=True)
    return into / "site", into / "docs"


def table(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """Both as Markdown, a row for each number, in the order of now."""
    names = [*now, *(name for name in before if name not in now)]
    rows = [f"| {name} | {before.get(name, '—')} | {now.get(name, '—')} |" for name in names]
    return "\n".join(["| What | Before | Now |", "| --- | ---: | ---: |", *rows])


def summed(numbers: Mapping[str, object]) -> dict[str, object]:
    """Positions and violations of all pages in a few rows, the worst page named; the rest as it is."""
    out: dict[str, object] = {}
    for what in ("verdict", "advice"):
        for size in ("1440×900", "390×844"):
            start, end = f"Screens to the first {what}, ", f", {size}"
            found = {name[len(start):-len(end)]: float(str(value)) for name, value in numbers.items() if name.startswith(start) and name.endswith(end)}
            for kind, chosen in (("findings/", {k: v for k, v in found.items() if k.startswith("findings/")}), ("other pages", {k: v for k, v in found.items() if not k.startswith("findings/")})):
                if chosen:
                    worst = max(chosen, key=lambda page: chosen[page])
                    out[f"{start}{kind}, {size}: best to worst"] = f"{min(chosen.values()):.2f} to {chosen[worst]:.2f} ({worst})"
    return {**out, **{name: value for name, value in numbers.items() if not name.startswith("Screens ")}}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pages", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", help="a git ref, or a folder with a built site")
    parser.add_argument("--site", type=Path, help="this built site instead of one built anew; its pages' text is in ../docs")
    parser.add_argument("--record", action="store_true", help="write what was measured into pages_before.json")
    parser.add_argument("--all", action="store_true", help="every page's numbers, not only the worst page's")
    chosen = parser.parse_args()
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not program:
        raise SystemExit("error: there is no chromium here\n  what to do: apt-get install chromium")
    now = _of(str(chosen.site) if chosen.site else "HEAD", program, here=not chosen.site)
    if chosen.record:
        RECORDED.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    before = _of(chosen.before, program) if chosen.before else json.loads(RECORDED.read_text(encoding="utf-8"))
    print(table(before, now) if chosen.all else table(summed(before), summed(now)))


def _of(what: str, program: str, here: bool = False) -> Numbers:
    """The numbers of a folder with a site, of this checkout, or of a git ref."""
    if here:
        subprocess.run([sys.executable, "-E", "-m", "reportgen", "site"], cwd=ROOT, stdout=sys.stderr, check=True)
        return measured(ROOT / "site", ROOT / "docs", program)
    if (Path(what) / "index.html").is_file():
        return measured(Path(what).resolve(), Path(what).resolve().parent / "docs", program)
    with tempfile.TemporaryDirectory() as folder:
        return measured(*built(what, Path(folder)), program)


if __name__ == "__main__":
    main()
