"""The site's last step: pictures stand in the page and follow its scheme, and every chart and table has its numbers beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from reportgen.pages import charts, finish
from reportgen.pages.charts import numbers

PICTURE = charts.svg("bars", {"labels": ["flash <fast>"], "values": [92.4], "unit": "µs", "keys": ["role:mask"]}, 'flash & "co"').decode()
PAGE = ('<html><head><title>x</title></head><body data-md-color-scheme="slate"><p><img alt="a" src="../runs/d/w/charts/times.svg" /></p>'
        "<table><thead><tr><th>What</th><th>Time (µs)</th></tr></thead><tbody><tr><td>naive &amp; co</td><td>1,056.5</td></tr><tr><td><code>=1+1</code></td><td>—</td></tr></tbody></table></body></html>")


def finished() -> tuple[str, dict[str, str]]:
    return finish.finished(PAGE, "findings/fastest.html", {"runs/d/w/charts/times.svg": PICTURE}.get)


def test_a_picture_stands_in_the_page_with_its_words_as_its_label() -> None:
    text, _ = finished()
    assert "<img" not in text and '<svg aria-label="flash &amp; &quot;co&quot;" class="chart" role="img" ' in text
    assert "<title>flash &lt;fast&gt;: 92.4 µs</title>" in text, "a mark says its value"


def test_a_picture_in_the_page_brings_neither_its_sheet_nor_its_table() -> None:
    """The page's sheet decides, so that a reader's choice of scheme reaches the picture."""
    text, _ = finished()
    svg = text[text.index("<svg ") : text.index("</svg>")]
    assert "<style" not in svg and "<metadata" not in svg and "<?xml" not in text and "DOCTYPE svg" not in text
    assert text.count('<link rel="stylesheet" href="../assets/charts.css">') == 1


def test_two_pictures_in_a_page_share_no_id() -> None:
    """Hatches are found by id; equal pictures would find each other's."""
    twice = PAGE.replace("<p><img", '<p><img alt="b" src="../runs/d/w/charts/times.svg" /></p><p><img')
    text, _ = finish.finished(twice, "findings/fastest.html", {"runs/d/w/charts/times.svg": PICTURE}.get)
    ids = re.findall(r' id="([^"]+)"', text)
    assert ids and len(ids) == len(set(ids))
    assert sorted(set(re.findall(r"url\(#([^)]+)\)", text))) == sorted(ids)


def test_words_in_a_picture_keep_what_looks_like_an_id() -> None:
    drawn = charts.svg("bars", {"labels": ['href="#a" id="b"'], "values": [1.0], "unit": "µs"}).decode()
    assert 'href="#a" id="b": 1.00 µs' in finish.inlined(drawn, "c1-")


def test_a_picture_that_is_not_there_stays_an_image() -> None:
    text, _ = finish.finished(PAGE, "findings/fastest.html", lambda path: None)
    assert '<img alt="a" src="../runs/d/w/charts/times.svg" />' in text


@pytest.mark.parametrize("source", ["charts/times.svg", "../map.svg", "times%2Btf32.svg"])
def test_a_chart_is_told_by_what_it_is_and_not_by_its_folder(source: str) -> None:
    """A run's own page has its charts below it, a device's map beside it."""
    there = {"runs/d/w/charts/times.svg", "runs/d/map.svg", "runs/d/w/times+tf32.svg"}
    text, _ = finish.finished(PAGE.replace("../runs/d/w/charts/times.svg", source), "runs/d/w/index.html", lambda path: PICTURE if path in there else None)
    assert "<img" not in text and f'<a class="csv" href="{source.removesuffix(".svg")}.csv"' in text


def test_an_image_that_is_no_chart_stays_an_image() -> None:
    text, _ = finish.finished('<img src="assets/logo.svg" alt="logo">', "index.html", {"assets/logo.svg": '<svg viewBox="0 0 1 1"><path d="M0 0"/></svg>'}.get)
    assert text == '<img src="assets/logo.svg" alt="logo">'


def test_a_table_has_its_cells_beside_it_as_csv() -> None:
    """Thousands have no signs, nothing is nothing, and what a spreadsheet would run is text."""
    text, tables = finished()
    assert tables == {"findings/fastest-table-1.csv": "What,Time (µs)\nnaive & co,1056.5\n'=1+1,\n"}
    assert '</table><a class="csv" href="fastest-table-1.csv" download aria-label="This table as CSV">CSV</a>' in text


def test_a_chart_has_the_numbers_of_its_file_beside_it(tmp_path: Path) -> None:
    """In full, as they were measured."""
    for name, content in {"findings/fastest.html": PAGE, "runs/d/w/charts/times.svg": PICTURE}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    finish.finish(tmp_path)
    assert (tmp_path / "runs/d/w/charts/times.csv").read_text(encoding="utf-8") == ",value (µs)\nflash <fast>,92.4\n"
    assert (tmp_path / "findings/fastest-table-1.csv").is_file()
    assert '</svg><a class="csv" href="../runs/d/w/charts/times.csv" download aria-label="This chart as CSV">CSV</a>' in (tmp_path / "findings/fastest.html").read_text(encoding="utf-8")
    sheet = (tmp_path / "assets/charts.css").read_text(encoding="utf-8")
    assert '[data-md-color-scheme="slate"] .chart{' in sheet and "--c-paper:var(--md-default-bg-color)" in sheet


@pytest.mark.parametrize("cell, written", [("-1.5", "-1.5\n"), ("-x", "'-x\n"), ("@a", "'@a\n"), (None, '""\n'), (1.25, "1.25\n"), ("a,b", '"a,b"\n')])
def test_a_cell_is_a_number_or_harmless_words(cell: object, written: str) -> None:
    assert numbers.written([[cell]]) == written


def test_a_picture_in_its_pages_has_no_file_of_its_own_and_one_that_is_linked_has(tmp_path: Path) -> None:
    """A run's page lies beside its pictures' folder; what no page names any more would double each run."""
    own = PAGE.replace("../runs/d/w/charts", "charts")
    for name, content in {"runs/d/w/index.html": own, "runs/d/w/charts/times.svg": PICTURE, "runs/d/w/charts/other.svg": PICTURE, "runs/d/w/charts/linked.svg": PICTURE,
                          "a.html": PAGE.replace("times", "linked").replace("<table>", '<a href="runs/d/w/charts/linked.svg">x</a><table>').replace("../runs", "runs")}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    finish.finish(tmp_path)
    text = (tmp_path / "runs/d/w/index.html").read_text(encoding="utf-8")
    assert "<img" not in text and '</svg><a class="csv" href="charts/times.csv"' in text
    assert sorted(file.name for file in (tmp_path / "runs/d/w/charts").iterdir()) == ["linked.csv", "linked.svg", "other.svg", "times.csv"]
