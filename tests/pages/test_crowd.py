"""Many devices: what every page carries does not grow with them, and shared pages stay readable. Runs are made up: rows of one under other names."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from functools import cache

import pytest
from builders import facts

from reportgen import pages
from reportgen.findings import FINDINGS
from reportgen.pages import crowd, navigation, rows, site, slim

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
    return {name: content for name, content in pages.shared(crowded(count)).items() if isinstance(content, str)}


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
    assert said.startswith('<table class="data r2 dense">') and "style" not in said and "</td>" not in said
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
    given = ('<svg class="chart" width="440">\n <g>\n  <g>\n<title>flash: 1.00456 µs</title>\n   <path d="M 14.123456 82\nL 19.898266 82\nz\n" class="f-a" style="fill: none; stroke-linecap: square"/>\n  </g>\n'
             f'  <g id="c1-x">\n   <text style="font-size: 14px; font-family: {slim.FONT}; text-anchor: start" x="14.006" transform="rotate(-0 14 23.9)">a  1.23456</text>\n  </g>\n'
             '  <g>\n   <use transform="translate(1.23456 2) scale(0.0156 -0.0156)"/>\n  </g>\n </g>\n</svg>')
    assert slim.picture(given) == (
        '<svg class="chart" width="440"><g><title>flash: 1.00456 µs</title><path d="M14.12 82L19.9 82z" class="f-a" style="fill:none;stroke-linecap:square"/></g>'
        '<g id="c1-x"><text style="font-size:14px" x="14.01">a  1.23456</text></g><use transform="translate(1.23456 2) scale(0.0156 -0.0156)"/></svg>')
