"""The page of a device's history, from a repository with a made-up past, with its sentences read literally."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from builders import facts
from history_doubles import past

from reportgen.findings import FINDINGS
from reportgen.pages import history as page
from reportgen.pages import navigation, site
from reportgen.review.history import gather
from reportgen.run.history import History, Past
from reportgen.shapes.folder import Folder

SLUG = "nvidia-h200"
PATH = "runs/nvidia-h200/history.md"


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> History:
    return gather(past(tmp_path_factory.mktemp("past") / "whole"), SLUG, None).history


def shown(found: History, recorded_on: str = "2026-06-10T10:00:00Z") -> site.Site:
    run = facts("h200", recorded_on=recorded_on)
    return site.build([run], run.slot, FINDINGS, folders=(Folder(SLUG, history=found),))


@pytest.fixture(scope="module")
def files(found: History) -> dict[str, str | bytes]:
    return page.files(shown(found))


def lines(text: object, begin: str) -> list[str]:
    assert isinstance(text, str)
    return [line for line in text.splitlines() if line.startswith(begin)]


def test_the_answer_then_the_picture_then_a_row_per_state(files):
    text = files[PATH]
    assert text.split("\n\n")[1:3] == ["# What did each version change?", "<small>[The history](#how-it-was-made) of NVIDIA nvidia-h200 · 7 states of 1 slot</small>"]
    assert text.split("\n\n")[3].startswith("**`article`: seven states, recorded from 10 Jan 2026 to 10 Jun 2026; deciding times moved in two of five steps.** State 7, SDPA flash: ")
    assert text.split("\n\n")[4] == "![GPU time of each variant over seven states, as the change from the first of its stretch.](../../runs/nvidia-h200/history-article.svg)"
    assert lines(text, "| 1 | 10 Jan")[0] == "| 1 | 10 Jan 2026, 10:00 | torch 2.10.0, cuDNN 9.10.2, driver 570.10 | The first state |"
    assert lines(text, "| 2 | 10 Feb")[0] == "| 2 | 10 Feb 2026, 10:00 | torch 2.10.0 → 2.11.0, cuDNN 9.10.2 → 9.19.0 | 2 deciding times shorter (SDPA cuDNN); what ran is otherwise for SDPA cuDNN |"
    assert lines(text, "| 3 | 20 Feb")[0] == "| 3 | 20 Feb 2026, 10:00 | — | Cannot be read, so it is compared with nothing: recorded with schema 99, and this program reads up to 2 |"
    assert lines(text, "| 5 | 10 Apr")[0] == "| 5 | 10 Apr 2026, 10:00 | — | No time is compared with state 4: protocol rounds 3 → 2 |"
    assert "## article" not in text, "one slot needs no heading"


def test_what_moved_is_a_row_with_its_interval_and_what_changed_with_it(files):
    row = lines(files[PATH], "| 2 | SDPA cuDNN | GPU time |")[0].split(" | ")
    assert row[3:6] == ["58.9 µs", "47.3 µs", "−19.8 %"] and re.fullmatch(r"−20\.\d % … −19\.\d %", row[6])
    assert row[7] == "fused attention replaced: `cudnn sdpa flash_fprop 64x128x64` → `cudnn_kernel_of_9_19` |"
    assert not lines(files[PATH], "| 5 | Naive"), "what was measured by another protocol is no move"


def test_a_verdict_that_turned_is_named_by_its_claim_and_linked(files):
    assert lines(files[PATH], "| 7 | [")[0].endswith("(../../findings/fastest.md) | differs | holds | something changed in the same step |")


def test_the_times_stand_state_by_variant_and_say_where_they_are_no_longer_of_a_kind(files):
    text = files[PATH].split("<summary>Every state's times</summary>")[1]
    assert "| State | Naive | Naive in place | SDPA math | SDPA efficient | SDPA flash | SDPA cuDNN |" in text
    cells = lines(text, "| 2 |")[0].split(" | ")
    assert cells[-1].startswith("47.3 µs (47.") and not lines(text, "| 3 |")
    assert "<small>Measured otherwise from state 5 on: what stands above it is no time of the same kind.</small>" in text


def test_the_picture_begins_anew_where_the_protocol_is_another_and_leaves_out_what_nobody_can_read(files):
    picture = files["runs/nvidia-h200/history-article.svg"].decode()
    said = [" ".join(element.itertext()) for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert said[0] == "GPU time, state by state" and [text for text in said if re.fullmatch(r"\d", text)] == ["7", "6", "5", "4", "3", "2", "1"]
    assert "SDPA flash" in said and "37.2 µs" in said and said[1] == "NVIDIA nvidia-h200 · article · 10 Jan 2026 to 10 Jun 2026"
    data = re.search(r"<metadata>(.*?)</metadata>", picture, re.S)
    held = list(csv.DictReader(io.StringIO(data[1])))
    flash = [row["SDPA flash (change)"] for row in held]
    assert len(flash) == 7 and flash[0] == "0.0" and flash[2] == "" and flash[4] == "0.0" and abs(float(flash[6]) + 0.692) < 0.01


def test_a_run_that_the_history_does_not_have_yet_is_said(found, files):
    text = page.files(shown(found, "2026-07-01T10:00:00Z"))[PATH]
    assert "The run that is recorded now is not among these states: `make history` adds it." in text and "is not among these states" not in files[PATH]
    gone = replace(found, states=tuple(replace(one, slot="long") for one in found.states))
    assert "No run is recorded there now." in page.files(shown(gone))[PATH]


def test_the_page_is_made_without_git(found, files, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a page asks git"))
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a page asks git"))
    assert page.files(shown(found)) == files


def test_one_state_makes_a_page_without_a_picture(found):
    one = page.files(shown(replace(found, states=found.states[:1])))
    assert list(one) == [PATH] and "**`article`: one state, recorded on 10 Jan 2026.** Nothing is compared yet." in one[PATH]


def test_words_of_others_stay_words(found):
    name = "<b>x</b> | [y](z) `w"
    states: tuple[Past, ...] = tuple(replace(one, software={"torch": name, "cudnn": name, "driver": name}, problem=None if one.problem is None else name) for one in found.states)
    text = page.files(shown(replace(found, header=replace(found.header, device=name), states=states)))[PATH]
    assert "<b>" not in text and "[y](z)" not in text


def test_a_device_without_a_map_has_its_page_in_the_navigation(found):
    made = shown(found)
    made.files.update(page.files(made))
    assert f'      - {json.dumps("What each version changed: NVIDIA nvidia-h200")}: {PATH}\n' in navigation.render(made)


def test_the_devices_side_by_side_lead_to_each_history(found):
    from reportgen.pages import compare

    assert "## Over time" in compare.render(shown(found)) and "\n- [NVIDIA nvidia-h200](runs/nvidia-h200/history.md)\n" in compare.render(shown(found))
    assert "## Over time" not in compare.render(site.build([facts("h200")], facts("h200").slot, FINDINGS))


def test_many_states_keep_their_numbers_apart(found):
    """Sixty states: the numbers that have no room are left out, the last one is there."""
    first, second = found.states[0], replace(found.states[1], before=None)
    many = replace(found, states=(first, *(replace(second, blob=f"{number}") for number in range(59))))
    picture = page.files(shown(many))["runs/nvidia-h200/history-article.svg"].decode()
    said = [element for element in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}text") if re.fullmatch(r"\d{1,2}", "".join(element.itertext()))]
    assert "".join(said[0].itertext()) == "60" and 5 < len(said) < 30


def test_damaged_evidence_stops_the_pages_with_its_line(tmp_path: Path):
    from reportgen.errors import RunInvalid
    from reportgen.pages import making
    from reportgen.run.source import Source

    file = tmp_path / "docs" / "runs" / SLUG / "history.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text('{"schema_version":1,"device":"x"}\n{"slot":"article"}\n', encoding="utf-8")
    here = Path(__file__).resolve().parents[2] / "docs" / "runs" / SLUG / "article"
    with pytest.raises(RunInvalid, match=r"history\.jsonl:2: blob is missing"):
        making.made([Source.of(here)], making.Choice(lambda slots: slots[0]), [file])


def test_a_look_at_the_folders_notes_a_recorded_run_that_the_history_lacks(found, tmp_path: Path):
    from run_builder import record

    from reportgen.review import checks
    from reportgen.run import history

    record(tmp_path / "docs" / "runs")
    file = tmp_path / "docs" / "runs" / SLUG / history.HISTORY_FILE
    history.write(file, found)
    assert checks.look(tmp_path / "docs").notes == ("docs/runs/nvidia-h200/history.jsonl does not have the recorded run of nvidia-h200/article yet; `make history` adds it",)
    history.write(file, replace(found, states=(*found.states[:-1], replace(found.states[-1], recorded_on="2026-11-30"))))
    assert checks.look(tmp_path / "docs").notes == ()
