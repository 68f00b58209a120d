"""What the built site gets from its last step: a small search index, heads that differ, a page for what is missing, no source maps."""

from __future__ import annotations

import json
from pathlib import Path

from reportgen.pages import offline

PAGE = ('<html><head>\n<title>A page - Site</title>\n<meta name="description" content="the same everywhere"></head><body><div class="md-search" role="dialog"></div>'
        '<nav class="md-path" aria-label="Navigation"></nav><article><h1>A page</h1><p><small>NVIDIA H200</small></p><p>It takes <code>a &lt; b</code> &amp; <strong>58.6 µs</strong>.</p></article></body></html>')


def index(*entries: tuple[str, str]) -> str:
    return json.dumps({"config": {"lang": ["en"]}, "docs": [{"location": at, "title": at, "text": text} for at, text in entries]})


def test_of_a_devices_own_pages_the_search_index_holds_the_first_words():
    given = index(*((f"runs/gpu/{one}", "words") for one in ("upgrade.html", "upgrade.html#top", "upgrade.html#every-call", "history.html")))
    assert [one["location"] for one in json.loads(offline.smaller(given))["docs"]] == ["runs/gpu/upgrade.html", "runs/gpu/upgrade.html#top", "runs/gpu/history.html"]


def test_of_a_run_the_search_index_holds_the_first_words_of_its_first_page_alone():
    given = index(("index.html", "front"), ("findings/a.html#x", "a part"), ("runs/gpu/article/index.html", "the run"), ("runs/gpu/article/index.html#clocks", "clocks"),
                  ("runs/gpu/article%2Btf32/findings.html", "again"), ("runs/gpu/article%2Btf32/variants.html#naive", "again"))
    assert [one["location"] for one in json.loads(offline.smaller(given))["docs"]] == ["index.html", "findings/a.html#x", "runs/gpu/article/index.html"]


def test_cells_of_numbers_alone_are_not_searched_for_and_names_are():
    given = index(("a.html", "<table><tr><td>SDPA flash</td><td>92.4 µs</td><td>1.58×</td><td>—</td><td><code>flash_fwd</code></td><td>512 MiB</td></tr></table>"))
    assert json.loads(offline.smaller(given))["docs"][0]["text"] == "SDPA flash flash_fwd"


def test_a_long_sentence_is_found_once_and_a_short_one_wherever_it_stands():
    twice = "<p>Softmax subtracts the row's largest score before it takes the exponential. It is exact.</p>"
    first, second = json.loads(offline.smaller(index(("a.html", twice), ("b.html", twice))))["docs"]
    assert (first["text"], second["text"]) == ("Softmax subtracts the row's largest score before it takes the exponential. It is exact.", "It is exact.")


def test_drawings_are_left_out_of_the_index_and_what_was_escaped_stays_so():
    given = index(("a.html", "<pre><code>┌────┐\n│ SM │ ▓▓ &lt;script&gt;</code></pre>"))
    assert json.loads(offline.smaller(given))["docs"][0]["text"] == "SM &lt;script&gt;"


def test_a_head_says_what_the_page_is_about_in_its_own_words():
    page = offline.headed(PAGE)
    assert '<meta name="description" content="It takes a &lt; b &amp; 58.6 µs.">' in page and "the same everywhere" not in page
    assert '<meta property="og:title" content="A page - Site">' in page
    assert 'role="dialog" aria-label="Search"' in page and 'class="md-path" aria-label="Breadcrumbs"' in page


def test_a_long_description_ends_at_a_word():
    said = offline.description(f"<article><p>{'word ' * 60}</p></article>")
    assert said == " ".join(["word"] * 40)[:199] + " …" and len(said) <= 201


def test_a_page_without_a_paragraph_keeps_the_sites_description():
    assert 'content="the same everywhere"' in offline.headed(PAGE.partition("<article>")[0])


def test_the_page_for_what_is_missing_names_addresses_below_the_sites_top():
    page = offline.not_found('<head><link href="/sub/assets/a.css"></head><a href="/sub/">top</a><h1>404 - Not found</h1><script>{"base": "/sub/", "search": "/sub/s.js"}</script>', "/sub/")
    assert '<link href="assets/a.css">' in page and '<a href="index.html">top</a>' in page and '{"base": ".", "search": "s.js"}' in page
    assert "This page is not here" in page and "404 - Not found" not in page and page.index("<base") < page.index("<link") and 'top = "/sub/"' in page


def test_a_whole_site_loses_maps_and_gains_an_index_that_needs_no_server(tmp_path: Path):
    for name, text in {"assets/javascripts/b.js": "x();\n//# sourceMappingURL=b.js.map\n", "assets/javascripts/b.js.map": "{}", "assets/s.css": "p{}\n/*# sourceMappingURL=s.css.map */",
                       "assets/javascripts/lunr/min/lunr.da.min.js": "da()", "search/search_index.json": index(("index.html", "front")), "index.html": PAGE}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    offline.complete(tmp_path)
    assert sorted(file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()) == [
        "assets/javascripts/b.js", "assets/s.css", "index.html", "search/search_index.js", "search/search_index.json"]
    assert (tmp_path / "assets/javascripts/b.js").read_text() == "x();\n" and (tmp_path / "assets/s.css").read_text() == "p{}\n"
    assert (tmp_path / "search/search_index.js").read_text() == "var __index = " + (tmp_path / "search/search_index.json").read_text()
