"""The guides: what SDPA accepts, which limit, how to profile; with a run's numbers and without."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import facts, no_lane

from reportgen.analysis import CounterFacts
from reportgen.hardware.backends import conditions
from reportgen.pages import guides, site
from variants.backends import BACKENDS


def built(run):
    return site.build([run], run.slot, [])


def test_every_condition_has_a_cell_for_each_backend_and_names_where_it_is_checked():
    """Only the versions of torch are checked nowhere."""
    rows = conditions().rows
    assert all(set(row.cells) == set(BACKENDS) and all(row.cells.values()) for row in rows)
    assert [row.asks for row in rows if not row.source] == ["In torch since"]
    assert conditions().url.startswith("https://github.com/pytorch/pytorch/blob/001f694aef6f")


def test_the_page_of_sdpa_says_what_flash_refuses():
    text = guides.render(built(facts()), guides.SDPA)
    row = next(line for line in text.splitlines() if line.startswith("| `attn_mask` |"))
    assert row.split(" | ")[1:5] == ["any", "yes, bool or float", "refused", "yes, 2-D or 4-D, without gradients of its own"]
    assert "No recorded run of NVIDIA H200 asked what torch picks." in text


def test_the_page_of_limits_has_a_row_per_variant_and_the_answer_before_it():
    text = guides.render(built(facts()), guides.LIMIT)
    assert "by these tests: memory: Naive, Naive in place and SDPA math; instructions or latency: SDPA efficient, SDPA flash and SDPA cuDNN." in text
    row = next(line for line in text.splitlines() if line.startswith("| [Naive in place]"))
    assert row.split(" | ")[1:] == ["memory", "6.2 %", "55.4 %", "4.7 %", "mask and softmax |"]
    assert "Issue slots" not in text


def test_issue_slots_stand_there_where_they_were_counted():
    run = facts()
    flash = run.variants["sdpa_flash"]
    counted = replace(run, variants={**run.variants, "sdpa_flash": replace(flash, activities=tuple(replace(a, counters=CounterFacts(issue_pct=47.03)) for a in flash.activities))})
    text = guides.render(built(counted), guides.LIMIT)
    assert "| Issue slots busy |" in text and "47 %" in next(line for line in text.splitlines() if line.startswith("| [SDPA flash]"))


@pytest.mark.parametrize("run", [facts("cpu"), no_lane(facts()), facts(ceilings=None)], ids=["cpu", "no-lane", "no-ceilings"])
def test_a_run_that_cannot_tell_claims_no_limit_of_the_gpu(run):
    text = guides.render(built(run), guides.LIMIT)
    assert "memory: " not in text and "arithmetic: " not in text and "instructions or latency: " not in text


@pytest.mark.parametrize("path", guides.TITLES)
def test_each_guide_is_in_the_navigation_before_the_findings(path):
    from reportgen.pages import navigation

    nav = navigation.render(built(facts()))
    assert nav.index(f": {path}") < nav.index("- Findings:")
