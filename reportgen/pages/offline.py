"""What makes the built site whole by itself: search from a folder, a page for what is not there, a head that says what a page is.

All of it works on the files that an engine wrote, so another engine's site gets what applies to it and nothing else.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

INDEX = "search/search_index.json"
NOT_FOUND = "404.html"
LONGEST = 200
"""Letters of a page's description."""
_RUN = re.compile(r"runs/[^/]+/[^/]+/")
_NUMBERS = re.compile(r"<td[^>]*>[\s\d.,×÷%+−—:µnmsKMGTiBF/LOPto-]*</td>")
_TAGS = re.compile(r"<[^>]+>")
_DRAWN = re.compile(r"[\u2500-\u259f\u25a0-\u25ff]+")
_SENTENCES = re.compile(r"(?<=[.;:?]) ")
SHORT = 40
"""Letters of a sentence that may stand twice in the search index."""
_SOURCE_MAP = re.compile(r"\n?(?://#|/\*#) sourceMappingURL=\S+(?: \*/)?\s*$")
_FIRST = """<script>(function () {{
  // Whatever is missing may lie at any depth, so this page looks for the site's top before anything is loaded.
  var top = {known}, at = location.pathname.split("/").slice(0, -1), asked;
  for (; !top && location.protocol !== "file:" && at.length; at.pop()) {{
    asked = new XMLHttpRequest();
    asked.open("HEAD", at.join("/") + "/assets/report.css", false);
    try {{ asked.send(); }} catch (error) {{ break; }}
    if (asked.status === 200) top = at.join("/") + "/";
  }}
  if (top && location.protocol !== "file:") document.write('<base href="' + encodeURI(top) + '">');
}})();</script>
"""
_THEN = """<script>(function (config) {
  // The theme takes its top from the address that was asked for, not from the base.
  var given = JSON.parse(config.textContent);
  given.base = new URL(".", document.baseURI).href;
  given.search = new URL(given.search, document.baseURI).href;
  config.textContent = JSON.stringify(given);
})(document.getElementById("__config"));</script>
"""
_SAYS = ("<h1>This page is not here</h1>\n<p>A run may have been recorded anew under another name, or removed, or the address has a slip in it.</p>\n"
         '<p>Go to <a href="index.html">the front page</a>, or look for a word in the search above.</p>')


def complete(site: Path, address: str = "") -> None:
    """Rewrites the built site in place.

    Args:
        address: where it will be published, if known; its path is the top that the page for what is missing starts from.
    """
    for file in site.rglob("*.map"):
        file.unlink()
    for file in (*site.rglob("*.js"), *site.rglob("*.css")):
        text = file.read_text(encoding="utf-8")
        if _SOURCE_MAP.search(text):
            file.write_text(_SOURCE_MAP.sub("\n", text), encoding="utf-8")
    for file in (site / "assets" / "javascripts" / "lunr").rglob("*.js"):  # stemmers of languages that no page is in
        file.unlink()
    index = site / INDEX
    if index.is_file():
        small = smaller(index.read_text(encoding="utf-8"))
        index.write_text(small, encoding="utf-8")
        index.with_suffix(".js").write_text(f"var __index = {small}", encoding="utf-8")
    for page in site.rglob("*.html"):
        page.write_text(headed(page.read_text(encoding="utf-8")), encoding="utf-8")
    missing = site / NOT_FOUND
    if missing.is_file():
        missing.write_text(not_found(missing.read_text(encoding="utf-8"), urlsplit(address).path), encoding="utf-8")


def smaller(index: str) -> str:
    """The search index without what another entry says: of a device's own pages the first words, of a run its title, no long sentence twice; of tables no cells
    of numbers alone; and neither markup nor the lines of drawings, which nobody looks for."""
    read = json.loads(index)
    said: set[str] = set()
    wanted = _wanted([entry["location"] for entry in read["docs"]])
    read["docs"] = [{**entry, "text": _words(entry["text"], said)} for entry in read["docs"] if entry["location"] in wanted]
    return json.dumps(read, ensure_ascii=False, separators=(",", ":"))


def _words(text: str, said: set[str]) -> str:
    """The text as words, without the sentences in `said`, which takes up the new ones."""
    plain = " ".join(_DRAWN.sub(" ", _TAGS.sub(" ", _NUMBERS.sub("", text))).split())
    sentences = [one for one in _SENTENCES.split(plain) if len(one) <= SHORT or one not in said]
    said.update(sentences)
    return " ".join(sentences)


def _wanted(locations: list[str]) -> set[str]:
    """All parts of shared pages; of a device's own pages the first one, and of a run its first page's title, so that recorded devices and runs add little."""
    wanted: set[str] = set()
    parts: Counter[str] = Counter()
    for location in locations:
        page, _, part = location.partition("#")
        parts[page] += bool(part)
        if _RUN.match(page):
            kept = not part and _RUN.sub("", page) in ("index.html", "")
        else:
            kept = not page.startswith("runs/") or parts[page] <= 1
        if kept:
            wanted.add(location)
    return wanted


def headed(page: str) -> str:
    """A page whose head says what it is about, in its own words, and whose search box and breadcrumbs have names of their own."""
    said = description(page)
    title = re.search(r"<title>(.*?)</title>", page, re.S)
    if said and title:
        about = html.escape(said)
        tags = (f'<meta name="description" content="{about}">\n<meta property="og:type" content="article">\n'
                f'<meta property="og:title" content="{_attribute(title[1])}">\n<meta property="og:description" content="{about}">')
        page = re.sub(r'<meta name="description" content="[^"]*">', lambda _: tags, page, count=1)
    page = page.replace('<nav class="md-path" aria-label="Navigation"', '<nav class="md-path" aria-label="Breadcrumbs"', 1)
    return page.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)


def _attribute(text: str) -> str:
    return html.escape(html.unescape(text.strip()))


def description(page: str) -> str:
    """The first paragraph of the article that is not small print, cut at a word; empty where there is none."""
    article = page.partition("<article")[2].partition("</article>")[0]
    for found in re.finditer(r"<p>(.*?)</p>", article, re.S):
        if not found[1].lstrip().startswith(("<small", "<img", "<svg")):
            words = " ".join(html.unescape(re.sub(r"<[^>]+>", "", found[1])).split())
            return words if len(words) <= LONGEST else words[:LONGEST].rpartition(" ")[0] + " …"
    return ""


def not_found(page: str, top: str = "") -> str:
    """The theme's page for what is missing: addresses below the top, wherever that lies, and words that help.

    Args:
        top: the path under which the site is published, `/` or `/sub/`; empty where nobody knows.
    """
    prefix = top.rstrip("/") + "/"
    page = re.sub(rf'\b(href|src|action)="{re.escape(prefix)}', r'\1="', page)
    page = re.sub(r'\b(href|src)=""', r'\1="index.html"', page)
    page = page.replace(f'"base": "{prefix}"', '"base": "."').replace(f'"search": "{prefix}', '"search": "')
    page = re.sub(r"<h1>.*?</h1>", lambda _: _SAYS, page, count=1, flags=re.S)
    page = re.sub(r'(<script id="__config".*?</script>)', lambda found: f"{found[1]}\n{_THEN}", page, count=1, flags=re.S)
    return page.replace("<head>", "<head>\n" + _FIRST.format(known=json.dumps(top if top.strip("/") else "")), 1)
