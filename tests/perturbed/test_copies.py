"""Every perturbed copy loads and answers every claim and question, or is refused by two lines.

`PERTURBED=all` draws the charts of all copies as well; what their pages say is for `test_sentences.py`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from perturbed import recorded
from perturbed.catalogue import PERTURBATIONS
from perturbed.harness import Harness
from reportgen import analysis, findings, pages, readings
from reportgen.pages import readme

EVERYTHING = os.environ.get("PERTURBED") == "all"
GOOD = [name for name, perturbation in PERTURBATIONS.items() if not perturbation.refused]
REFUSED = {
    "zero_times": "variants.sdpa_flash.samples.gpu_time[0] is 0.0, expected seconds above 0",
    "one_zero_time": "variants.sdpa_flash.samples.gpu_time[3] is 0, expected seconds above 0",
    "negative_time": "variants.sdpa_flash.samples.host_time[3] is -2.1e-05, expected seconds above 0",
    "nan_time": "variants.sdpa_flash.samples.gpu_time[3] is nan, expected seconds above 0",
    "infinite_time": "variants.sdpa_flash.samples.wall_time[3] is inf, expected seconds above 0",
    "time_as_text": "variants.sdpa_flash.samples.gpu_time is [",
    "unequal_processes": "variants.sdpa_flash.samples.gpu_time has 6 values, expected 7, one per process as in the others",
    "unequal_inside_a_variant": "variants.naive_inplace.samples.host_time has 8 values, expected 7, one per process as in the others",
    "unequal_chains": "probes.saving_accumulates.naive.24 has 5 values, expected 7, one per process as in the others",
    "nan_chain": "probes.saving_accumulates.naive.1[0] is nan, expected seconds above 0",
    "error_nan_ok": "variants.sdpa_flash.relative_error is nan, expected a finite number",
    "error_infinite": "variants.naive.relative_error is inf, expected a finite number",
    "ceiling_zero": "ceilings.copy_bytes_per_s is 0.0, expected a rate per second, 10^5 or more",
    "ceiling_nan": "ceilings.matmul_flop_per_s is nan, expected a finite number",
    "counter_nan": "counters.variants.sdpa_flash[0].metrics.dram__bytes_read.sum is nan, expected a finite number",
    "counters_of_another_form": "counters.variants.sdpa_flash is 'see ncu.csv', expected a list",
    "memory_negative": "variants.sdpa_flash.peak_memory_bytes is -1, expected a whole number",
    "clock_as_text": "clocks.samples[0].sm_mhz is 'fast', expected a number",
    "probe_of_another_form": "probes.default_backend is 'cudnn', expected an object",
    "processes_nan": "protocol.processes is nan, expected a whole number",
    "unknown_status": "variants.sdpa_flash.status is 'fine', expected one of ok, wrong, unavailable, failed, not-tried",
    "no_workload": "workload is missing",
    "newer_schema": "recorded with schema 99, and this program reads up to ",
}
"""Refused copy → how its first line begins after the file's name."""
_HOLES = re.compile(r"\bNone\b(?!\.)|\{\w*\}|Undefined|<bound method|Decimal\(|Estimate\(|\bnan(?: µs| %|×)|\binf(?: µs| %|×)|fault of this program")


def holes(text: str) -> bool:
    """Whether something is left of a format; `{name}` and `{ratio}` are what two copies hold on purpose."""
    return bool(_HOLES.search(text.replace("{name}", "").replace("{ratio}", "")))


def test_there_are_more_than_seventy_and_each_says_what_is_otherwise():
    assert len(PERTURBATIONS) >= 150
    assert [name for name, one in PERTURBATIONS.items() if not one.what.strip().endswith(".") or not one.rows] == []
    assert {name for name, one in PERTURBATIONS.items() if one.refused} == set(REFUSED)


def test_every_row_of_the_review_has_a_copy():
    shown = {row for one in PERTURBATIONS.values() for row in one.rows}
    assert {"A1", "A2", "A3", "A4", "A5", "B1", "B2", "B3", "B4", "B5", "B6", "C", "D", "D crashes"} <= shown


def test_a_copy_of_which_nothing_is_changed_says_what_the_recorded_run_says(copies: Harness):
    """So every difference in another copy comes from its perturbation."""
    copy = copies["as_recorded"]
    assert copy.content == recorded.run()
    committed = (recorded.ROOT / "README.md").read_text(encoding="utf-8")
    facts = analysis.build(copy.run)  # with the probes that the program has, not with those of the copies
    assert readme.section(facts, findings.outcomes(facts)).strip() == committed.split(readme.BEGIN)[1].split(readme.END)[0].strip()


@pytest.mark.parametrize("name", [name for name in GOOD if name != "as_recorded"])
def test_every_other_copy_differs_from_the_recorded_run(name: str, copies: Harness):
    files = [file for file in copies[name].folder.iterdir() if file.name != "run.json"]
    same = all((recorded.RECORDED / file.name).read_bytes() == file.read_bytes() for file in files if file.name.endswith(".gz"))
    assert not same or copies[name].content != recorded.now() or copies[name].noise != recorded.floor()


@pytest.mark.parametrize("name", GOOD)
def test_a_copy_answers_every_claim_and_question(name: str, copies: Harness):
    copy = copies[name]
    assert list(copy.outcomes) == [claim.id for claim in findings.claims()]
    assert list(copy.answers) == [question.id for question in readings.questions()]
    said = [*(outcome.headline for outcome in copy.outcomes.values()), *(answer.headline for answer in copy.answers.values())]
    assert [sentence for sentence in said if holes(sentence)] == []


@pytest.mark.skipif(not EVERYTHING, reason="seconds a copy: PERTURBED=all draws the charts of every one")
@pytest.mark.parametrize("name", GOOD)
def test_the_charts_of_a_copy_can_be_drawn(name: str, copies: Harness):
    drawn = copies[name].drawn()
    assert [path for path, content in drawn.items() if path.endswith(".svg") and not content] == []


@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if name == "hostile_everywhere" else pytest.mark.skipif(not EVERYTHING, reason="builds a site: PERTURBED=all"))
                                  for name in ("hostile_everywhere", "hostile_reason", "hostile_device_name")])
def test_words_of_others_neither_stop_the_site_nor_become_markup(name: str, copies: Harness, tmp_path: Path):
    docs, site = tmp_path / "docs", tmp_path / "site"
    pages.render([copies[name].run], docs, copies[name].facts.slot, recorded.ROOT / "docs")
    environment = {**os.environ, "DOCS_DIR": str(docs), "NAV_FILE": str(docs / "nav.yml"), "SITE_DIR": str(site), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run([sys.executable, "-E", "-m", "mkdocs", "build", "--strict"], cwd=recorded.ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for page in site.rglob("*.html"):
        found = re.search(r'href="y[".]|src="w\.png|<b>(?:bold|H200)|<em>(?:star|7(?! of \d)|under)|<(?:td|th|p|h1)[^>]* (?:ratio|name)\b', page.read_text(encoding="utf-8"))
        assert found is None, (page.name, found)


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_measurement_can_give_is_refused_by_two_lines(name: str, copies: Harness):
    """File and field, and what to do: never a traceback, never a page."""
    refusal = copies[name].refusal
    assert refusal is not None, "it was loaded"
    problem, cure = refusal.split("\n")
    assert problem.split("run.json: ", 1)[1].startswith(REFUSED[name])
    assert cure.startswith("  what to do: ")
