"""The seal of a run: an edited number is told from a measured one, on the page, in `make check` and while merging; nothing is refused."""

from __future__ import annotations

import gzip
import json

import pytest
from run_builder import record

from reportgen import analysis, run
from reportgen.questions import caveats
from reportgen.review import checks


@pytest.fixture
def folder(tmp_path):
    return record(tmp_path / "docs" / "runs")


def edit(folder, change):
    file = folder / "run.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    change(data)
    file.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def faster(data):
    data["variants"]["naive"]["samples"]["gpu_time"][3] *= 0.99


def test_a_run_as_it_was_saved_fits_its_seal(folder):
    assert run.load(folder).edited == ()


def test_blanks_and_the_order_of_fields_are_nobodys_number(folder):
    file = folder / "run.json"
    data = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(dict(reversed(data.items()))), encoding="utf-8")
    assert run.load(folder).edited == ()


@pytest.mark.parametrize("change", [faster, lambda data: data.update(recorded_on="2026-12-01"), lambda data: data["variants"]["naive"].update(status="failed"),
                                    lambda data: data["seal"].update(run="0" * 64), lambda data: data.update(seal=5), lambda data: data["seal"].pop("run")])
def test_a_field_that_was_edited_is_told(folder, change):
    edit(folder, change)
    assert run.load(folder).edited[0] == "run.json"


def test_a_trace_that_was_edited_and_packed_again_is_told(folder):
    file = folder / "naive.trace.json.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b'"dur":5000.0', b'"dur":4999.0')))
    assert run.load(folder).edited == ("naive.trace.json.gz",)


def test_a_run_without_a_seal_is_older_and_not_called_edited(folder):
    edit(folder, lambda data: data.pop("seal"))
    (folder.parents[1] / "FEATURED").write_text("nvidia-h200/article\n")
    assert run.load(folder).edited is None
    assert checks.look(folder.parents[2], None) == checks.Looked((), ())


def test_the_page_the_check_and_the_facts_say_so_and_refuse_nothing(folder):
    edit(folder, faster)
    (folder.parents[1] / "FEATURED").write_text("nvidia-h200/article\n")
    facts = analysis.build(run.load(folder))
    sentence = "run.json of this run is not as recorded: the seal does not fit, so a number here may have been typed and not measured."
    assert caveats.all_said(facts)[0] == sentence and caveats.travelling(facts)[0] == sentence
    assert checks.look(folder.parents[2], None) == checks.Looked(
        (), ("docs/runs/nvidia-h200/article: run.json changed after the run was saved, so its seal does not fit: ask who changed what, and why",))
