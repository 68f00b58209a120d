"""Many devices: what every page carries does not grow with them, and shared pages stay readable. Runs are made up: rows of one under other names."""

from __future__ import annotations

import html
import json
import re
import shutil
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pytest
from builders import facts

from benchmarks import looking
from benchmarks.browser import Browser
from reportgen import pages
from reportgen.findings import FINDINGS
from reportgen.pages import crowd, navigation, publish, rows, site, slim, tree
from reportgen.readings import READINGS
from reportgen.run.layout import Layout

ROOT = Path(__file__).resolve().parents[2]
FEATURED = facts("h200").slot


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site.charts, "svg", lambda form, data, alt="": b'<?xml?>\n<svg xmlns="x"></svg>')


@cache
def _one(name: str) -> rows.Row:
    run = facts(name)
    return rows.row(run, site.asked(run, FINDINGS), FINDINGS)


def crowded(count: int) -> site.Site:
    """The H200's run, which is featured, and `count` − 1 others, every third like an A100's and the rest like a T4's."""
    others = [replace(_one("a100" if number % 3 == 0 else "t4"), slot=f"nvidia-made-up-{number:03}/article", slug=f"nvidia-made-up-{number:03}",
                      device=f"NVIDIA made-up {number:03}", label=None) for number in range(count - 1)]
    made = sorted([_one("h200"), *others], key=lambda row: row.slot)
    return site.of_rows(made, FEATURED, FINDINGS, {FEATURED: facts("h200")}, rows.known(made))


def shared(count: int) -> dict[str, str]:
    return {name: content for name, content in pages.shared(crowded(count), {}).items() if isinstance(content, str)}


# What every page carries -------------------------------------------------------------------------------


def test_few_runs_have_their_places_in_the_navigation():
    said = navigation.render(crowded(crowd.FEW))
    assert "runs/nvidia-made-up-010/article/findings.md" in said and "not_in_nav" not in said


def test_navigation_of_many_runs_does_not_grow_with_them():
    """The featured run and the page of devices are in it, and MkDocs is told that the others are left out on purpose."""
    thirteen, hundred = navigation.render(crowded(13)), navigation.render(crowded(100))
    assert thirteen == hundred
    assert re.findall(r"runs/\S+\.md", hundred) == [f"runs/{FEATURED}/index.md"] and '"Side by side": compare.md' in hundred
    assert hundred.endswith("not_in_nav: |\n  /runs/\n")


# Markup of the built site ------------------------------------------------------------------------------

TABLE = ('<table class="data dense">\n<thead>\n<tr>\n<th scope="col">Name</th>\n<th scope="col" style="text-align: right;">Time</th>\n</tr>\n</thead>\n<tbody>\n'
         '<tr>\n<td>a &lt;b&gt;</td>\n<td class="short" style="text-align: right;">1.5</td>\n</tr>\n<tr>\n<td>two <code>x</code></td>\n<td class="short" style="text-align: right;">—</td>\n</tr>\n</tbody>\n</table>')


def test_a_table_says_once_which_columns_stand_to_the_right():
    said = slim.table(TABLE)
    assert said.startswith('<table class="data r2 dense">') and "style" not in said and "</td>" not in said and "<td class=s>1.5" in said
    assert "table.r2 :is(td,th):nth-child(2){text-align:right}" in slim.SHEET


def test_a_slim_table_has_the_same_cells():
    """As the HTML rules read it: a cell ends where the next one, a row or the table does."""
    cells = [html.unescape(re.sub(r"<[^>]+>", "", one)).strip() for one in re.split(r"<t[dh]\b[^>]*>", re.sub(r"</?(?:tr|thead|tbody|table)\b[^>]*>", "", slim.table(TABLE)))]
    assert cells == ["", "Name", "Time", "a <b>", "1.5", "two x", "—"]


def test_a_column_of_both_kinds_and_a_table_of_others_stay():
    both = TABLE.replace(' style="text-align: right;">—', ">—")
    assert slim.table(both).count('style="text-align: right;"') == 2 and " r2" not in slim.table(both)
    assert slim.table("<table><tr><td>x</td></tr></table>") == "<table><tr><td>x</td></tr></table>"


def test_a_slim_picture_keeps_words_titles_and_places_to_a_hundredth():
    given = ('<svg class="chart" xmlns:xlink="http://www.w3.org/1999/xlink" width="440" xmlns="http://www.w3.org/2000/svg" version="1.1">\n <g>\n  <g>\n<title>flash: 1.00456 µs</title>\n   <path d="M 14.123456 82\nL 19.898266 82\nL 19.898266 100\nL 15 99.5\nz\n" class="f-a" style="fill: none; stroke-width: 0.7; opacity: 0.9"/>\n  </g>\n'
             f'  <g id="c1-x">\n   <text style="font-size: 14px; font-family: {slim.FONT}; text-anchor: start" x="14.006" transform="rotate(-0 14 23.9)">a  1.23456</text>\n  </g>\n'
             '  <g>\n   <use transform="translate(1.23456 2) scale(0.0156 -0.0156)"/>\n  </g>\n </g>\n</svg>')
    assert slim.picture(given) == (
        '<svg class="chart" width="440"><g><title>flash: 1.00456 µs</title><path d="M14.12 82h5.78v18L15 99.5z" class="f-a n w" style="opacity:0.9"/></g>'
        '<g id="c1-x"><text class="a" x="14.01">a  1.23456</text></g><use transform="translate(1.23456 2) scale(0.0156 -0.0156)"/></svg>')
    assert ".chart .a{font-size:14px}" in slim.SHEET and ".chart .n{fill:none}" in slim.SHEET


def test_a_page_loses_the_white_space_between_elements_and_no_other():
    given = '<nav>\n\n      \n   <a title="two  spaces">x  y</a>  <b>z</b>\n</nav>\n<pre><i>a</i>\n\n  <i>b</i></pre>'
    assert slim.page(given) == '<nav>\n<a title="two  spaces">x  y</a> <b>z</b>\n</nav>\n<pre><i>a</i>\n\n  <i>b</i></pre>'


# What is kept of a run ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["h200", "t4", "mi300x", "cpu"])
def test_a_row_that_was_kept_is_the_row(name: str):
    assert rows.again(json.loads(json.dumps(asdict(_one(name))))) == _one(name)


# Shared pages of many runs -----------------------------------------------------------------------------


def test_the_matrix_of_many_runs_tells_every_verdict_of_every_run():
    """The most frequent one where a run is not named with another: both tables together are the matrix."""
    given = crowded(40)
    usual = {claim.id: crowd.usual(given.rows, claim) for finding in given.findings for claim in finding.claims}
    said = {line.partition("](")[2].partition(")")[0]: line for line in shared(40)["claims.md"].splitlines() if line.startswith("| [") and "/index.md)" in line}
    assert len(said) == 40
    for row in given.rows:
        named = {claim: verdict for verdict, claims in re.findall(r'<span class="verdict [\w-]+">([\w ]+)</span> ((?:`[\w.×-]+`(?:, )?)+)', said[row.page]) for claim in re.findall(r"`([^`]+)`", claims)}
        assert {claim: named.get(claim, verdict) for claim, verdict in usual.items()} == {claim: judged.verdict for claim, judged in row.claims.items()}


def test_verdicts_of_many_runs_are_counted():
    """Of 40 runs 13 are like the A100's (numbers 0, 3, … 36) and 26 like the T4's; cuDNN runs on the H200 alone of the two kinds, as the rows say."""
    given = crowded(40)
    kinds = {"h200": 1, "a100": 13, "t4": 26}
    lines = {re.search(r'<a id="([^"]+)">', line)[1]: line for line in shared(40)["claims.md"].splitlines() if '<a id="' in line}
    assert len(lines) == sum(len(finding.claims) for finding in given.findings)
    for claim, line in lines.items():
        counts = [int(cell) for cell in line.strip("| ").split(" | ")[-4:]]
        assert counts == [sum(number for name, number in kinds.items() if _one(name).claims[claim].verdict == verdict) for verdict in ("holds", "differs", "within noise", "not measurable")]
        assert sum(counts) == 40


def test_few_runs_have_a_column_each_and_no_filter():
    files = shared(crowd.FEW)
    assert files["claims.md"].count("<th>NVIDIA made-up") == crowd.FEW - 1
    assert not [name for name, content in files.items() if 'class="fleet"' in content]


def test_the_front_page_names_each_device_once_behind_a_fold():
    front = shared(40)["index.md"]
    assert "40 runs of 40 devices are recorded." in front and front.count("| NVIDIA made-up 007 | [article-fp16](runs/nvidia-made-up-007/article/index.md) |") == 1
    assert front.index("<summary>Choose a device</summary>") < front.index("made-up 007")


@pytest.mark.parametrize("page", ["compare.md", "findings/fastest.md", "hardware/limits.md", "variants/naive.md"])
def test_rows_of_many_runs_stand_in_a_box_that_search_leaves_out(page: str):
    """Before it stand few words of them: the page's own text does not grow."""
    def outside(count: int) -> str:
        return re.sub(r'<div class="fleet".*?</div>', "", shared(count)[page], flags=re.S)

    assert shared(40)[page].count('<div class="fleet" data-search-exclude="" markdown="1">\n\n|') == shared(40)[page].count('class="fleet"') > 0
    assert "made-up 0" not in outside(40) and len(outside(40)) <= len(outside(20)) + 40


def test_a_sign_is_explained_once_for_all_runs_that_have_it():
    """The H200's note is its own; those of the made-up ones are the A100's and the T4's, once each."""
    notes = crowd.shared_notes([replace(row, notes=("† wrong in a call.",) if "made-up" in row.slot else ("† other.",)) for row in crowded(40).rows])
    assert notes == ("NVIDIA H200, article: † other.", "On 39 runs: † wrong in a call.")


# The built site ----------------------------------------------------------------------------------------


def _stubs(given: site.Site) -> dict[str, str]:
    """Pages of the runs that the shared ones link to: their titles and anchors alone."""
    anchors = {"findings": [name for finding in FINDINGS for name in (finding.slug, *(claim.id for claim in finding.claims))], "hardware": [one.slug for one in READINGS],
               "variants": list(given.featured.variants), "index": ["all-numbers"]}
    return {f"runs/{row.slot}/{name}.md": f"{site.MARKER}\n\n# {row.name}, {row.workload.name}{'' if name == 'index' else ': ' + name}\n\n" + "".join(f'<a id="{one}"></a>\n' for one in ids)
            for row in given.others for name, ids in anchors.items()}


def _built(count: int, root: Path) -> Path:
    given, layout = crowded(count), Layout(root)
    own = pages.of_maps(given)
    tree.write({**own, **pages.shared(given, own), **_stubs(given)}, layout.docs)
    (layout.docs / "runs" / FEATURED / "run.json").write_text("{}", encoding="utf-8")
    for name in re.findall(r"\((?:[\w.:]+; )?(?:\.\./)*(runs/[^)#]+\.json(?:\.gz)?)\)", "".join(file.read_text(encoding="utf-8") for file in layout.docs.rglob("*.md"))):
        (layout.docs / name).parent.mkdir(parents=True, exist_ok=True)
        (layout.docs / name).write_bytes(b"{}")
    shutil.copytree(ROOT / "docs" / "assets", layout.docs / "assets")
    shutil.copyfile(ROOT / "mkdocs.yml", root / "mkdocs.yml")
    publish.build_site(layout, layout.docs)
    return layout.site


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(site.charts, "svg", lambda form, data, alt="": b'<?xml?>\n<svg xmlns="x"></svg>')
        return {count: _built(count, tmp_path_factory.mktemp(f"site{count}")) for count in (16, 40)}


NAVIGATION = re.compile(r'<nav class="md-nav md-nav--primary".*?(?=<div class="md-content")', re.S)


@pytest.mark.parametrize("page", ["index.html", "claims.html", "findings/fastest.html", "runs/nvidia-made-up-003/article/findings.html", "runs/nvidia-made-up-003/article/index.html"])
def test_a_page_has_as_many_bytes_of_navigation_beside_40_runs_as_beside_16(sites: dict[int, Path], page: str):
    """Built strictly: MkDocs misses none of the runs' pages in the navigation."""
    sixteen, forty = ((sites[count] / page).read_text(encoding="utf-8") for count in (16, 40))
    assert [len(part) for part in NAVIGATION.findall(sixteen)] == [len(part) for part in NAVIGATION.findall(forty)] != []
    if page.startswith("runs/"):
        assert sixteen == forty


def test_a_device_is_found_by_its_name_and_rows_of_devices_are_in_no_other_entry(sites: dict[int, Path]):
    entries = json.loads((sites[40] / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    found = [entry["location"] for entry in entries if "made-up 007" in entry["title"] + entry["text"]]
    assert [one for one in found if one.startswith("runs/")] == ["runs/nvidia-made-up-007/article/index.html"] and found == [one for one in found if one.startswith("runs/")]
    assert {entry["title"] for entry in entries if entry["location"] == found[0]} == {"NVIDIA made-up 007, article-fp16"}
    assert "<title>NVIDIA made-up 007, article-fp16: findings - Attention, profiled</title>" in (sites[40] / "runs/nvidia-made-up-007/article/findings.html").read_text(encoding="utf-8")
    small, large = ((sites[count] / "search" / "search_index.json").stat().st_size for count in (16, 40))
    assert large - small < 24 * 1000


SHOWN = "[...document.querySelectorAll('.fleet')].map(box => [...box.querySelectorAll('tbody tr')].filter(row => row.getClientRects().length).map(row => row.cells[0].textContent.trim()))"
TYPE = "(() => {{ const box = document.querySelector('input.find'); box.value = '{}'; box.dispatchEvent(new Event('input')); return {}; }})()"


@pytest.mark.parametrize("size", [(1440, 900), (390, 844)])
def test_rows_of_one_device_are_found_in_all_tables_of_a_page_opened_from_its_folder(sites: dict[int, Path], chromium: str, tmp_path: Path, size: tuple[int, int]):
    """The article's row stays; no table is wider than its box, and nothing is fetched from elsewhere."""
    address = (sites[40] / "compare.html").as_uri()
    with Browser(chromium, tmp_path) as browser:
        browser.screen(*size)
        seen = browser.open(address, "({})")
        assert [len(rows) for rows in browser.ask(SHOWN)] == [40, 41, 41, 40, 40, 41]
        found = browser.ask(TYPE.format("made-up 007", SHOWN))
        assert [set(rows) for rows in found] == [{"NVIDIA made-up 007", *article} for article in ([], *[["A100-SXM4-80GB (the article)"]] * 2, [], [], ["A100-SXM4-80GB (the article)"])]
        assert browser.ask("document.querySelector('.find-runs output').textContent") == "1 of 40 rows"
        assert [len(rows) for rows in browser.ask(TYPE.format("", SHOWN))][0] == 40
        assert looking.cut(browser, [address], size) == {} and seen.errors == [] and not [one for one in seen.requests if one.startswith("http")]


def test_claims_of_many_runs_are_found_by_device_and_by_claim(sites: dict[int, Path], chromium: str, tmp_path: Path):
    with Browser(chromium, tmp_path) as browser:
        browser.open((sites[40] / "claims.html").as_uri(), "({})")
        assert browser.ask(TYPE.format("made-up 007", SHOWN)) == [["NVIDIA made-up 007"]]
        apart = {row.name for row in crowded(40).rows if row.claims["math-3.7x"].verdict != crowd.usual(crowded(40).rows, next(c for f in FINDINGS for c in f.claims if c.id == "math-3.7x"))}
        assert set(browser.ask(TYPE.format("math-3.7x", SHOWN))[0]) == apart


def test_without_scripts_every_run_has_its_row(sites: dict[int, Path]):
    """What the filter works on is all there before it."""
    text = (sites[40] / "compare.html").read_text(encoding="utf-8")
    assert text.count(">NVIDIA made-up 007</a>") == 6 and "find-runs" not in text
