"""Thirty names that try to leave their folder, as slug, workload, label, variant id and trace file, through save, load, place, merge, check and render:
each is refused in two lines, and no file appears anywhere. File and folder names of an incoming run take nothing along either."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_builder import record

from hostile.words import NAMES
from reportgen import run
from reportgen.commands import cli
from reportgen.errors import ReportError
from reportgen.review import checks, merge
from reportgen.run import slots

PLACES = ("slug", "workload", "label", "variant", "trace")


def edit(place: str, name: str) -> Callable[[dict[str, Any]], None]:
    """Puts `name` into the content of a run."""
    def change(content: dict[str, Any]) -> None:
        if place == "slug":
            content["device"]["slug"] = name
        elif place == "workload":
            content["workload"]["name"] = name
        elif place == "label":
            content["label"] = name
        elif place == "variant":
            content["variants"] = {name: content["variants"]["naive"]}
        else:
            content["variants"]["naive"]["trace"] = name

    return change


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout deep in a folder of its own, with one run and its pages' folder; the working folder and the home are there as well."""
    root = tmp_path / "a" / "b" / "checkout"
    (root / "docs" / "runs").mkdir(parents=True)
    record(root / "docs" / "runs")
    (root / "docs" / "runs" / "FEATURED").write_text("nvidia-h200/article\n", encoding="utf-8")
    (root / "README.md").write_text("", encoding="utf-8")
    monkeypatch.setattr(cli, "ROOT", root)
    monkeypatch.setenv("HOME", str(tmp_path / "a"))
    monkeypatch.chdir(root)
    return root


def entries(root: Path) -> list[str]:
    """Every file and folder near the checkout, and what the names would make at the root of the disk; the lock is the command's own."""
    near = [str(entry) for entry in root.parents[2].rglob("*") if "build" not in entry.relative_to(root.parents[2]).parts]
    return sorted(near) + [name for name in os.listdir("/") if "escaped" in name or name == "article"]


def refused(attempt: Callable[[], object], where: str) -> None:
    with pytest.raises(ReportError) as caught:
        attempt()
    assert str(caught.value).split("\n")[-1].startswith("  what to do: "), where
    assert str(caught.value).isprintable() or not any(sign in str(caught.value) for sign in "\0\x1b\u202e\ud800"), where


def test_there_are_thirty_names():
    assert len(NAMES) >= 30


@pytest.mark.parametrize(("place", "what"), [(place, what) for place in PLACES for what in NAMES if (place, what) != ("trace", "nothing")])
def test_a_hostile_name_is_refused_wherever_a_run_comes_in(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str, what: str):
    name, runs = NAMES[what], checkout / "docs" / "runs"
    incoming = record(tmp_path / "incoming", slug="nvidia-b", seed=1)
    content = json.loads((incoming / "run.json").read_text(encoding="utf-8"))
    edit(place, name)(content)
    (incoming / "run.json").write_text(json.dumps(content), encoding="utf-8")
    before = entries(checkout)
    if place != "trace":
        refused(lambda: record(runs, traces=False, change=edit(place, name)), "save")
    refused(lambda: run.load(incoming), "load")
    refused(lambda: slots.place(incoming, runs), "place")
    refused(lambda: merge.merge([incoming], runs), "merge")
    assert cli.main(["merge", str(incoming)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: nothing was merged\n") and "Traceback" not in said
    assert entries(checkout) == before
    # by hand: the folder is there, and what it holds leads elsewhere
    shutil.copytree(incoming, runs / "nvidia-b" / "article")
    before = entries(checkout)
    assert cli.main(["render"]) == 2 and cli.main(["render", "--check"]) == 2
    assert len(checks.readable(checkout / "docs")[1]) == 1
    said = capsys.readouterr().err
    assert "run.json: " in said and "Traceback" not in said
    assert entries(checkout) == before


@pytest.mark.parametrize("what", [what for what, name in NAMES.items() if name])
def test_a_hostile_name_is_no_label(what: str):
    refused(lambda: cli.checked_label(NAMES[what]), "--label")


POSSIBLE = [what for what, name in NAMES.items() if name not in ("", ".", "..") and not set("/\0\ud800") & set(name) and len(name) < 200]
"""What a file can be called here."""


@pytest.mark.parametrize("what", POSSIBLE)
def test_a_run_in_a_folder_of_that_name_is_merged_with_its_own_files_alone(checkout: Path, tmp_path: Path, what: str):
    """Files and folders beside the run, called so, are not taken along; the run's place comes from its content."""
    name = NAMES[what]
    incoming = tmp_path / "incoming" / name
    shutil.copytree(record(tmp_path / "made", slug="nvidia-b", seed=1), incoming)
    for stranger in (name, f"{name}.html", f"{name}.trace.json.gz", "index.md", "evil.svg"):
        (incoming / stranger).write_text("<script>alert(1)</script>", encoding="utf-8")
    assert [one.slot for one in merge.merge([incoming], checkout / "docs" / "runs").runs] == ["nvidia-b/article"]
    taken = {file.name for file in (checkout / "docs" / "runs" / "nvidia-b" / "article").iterdir()}
    assert taken == {"run.json", *(f"{variant}.trace.json.gz" for variant in ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn"))}


@pytest.mark.parametrize("what", POSSIBLE)
def test_a_file_of_that_name_in_docs_is_told_by_the_check(checkout: Path, what: str):
    """MkDocs would publish it."""
    for folder in ("docs", "docs/runs/nvidia-h200/article"):
        (checkout / folder / f"x{NAMES[what]}.html").write_text("<script>alert(1)</script>", encoding="utf-8")
    assert len([line for line in checks.strangers(checkout / "docs", (), "") if "no run renders to it" in line]) == 2


def test_a_trace_that_is_a_link_out_of_the_run_is_not_read(tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("root:x:0:0", encoding="utf-8")
    incoming = record(tmp_path / "incoming")
    (incoming / "naive.trace.json.gz").unlink()
    (incoming / "naive.trace.json.gz").symlink_to(secret)
    with pytest.raises(ReportError) as caught:
        merge.merge([incoming], tmp_path / "runs")
    assert "root:x" not in str(caught.value) and f"is read from {incoming / 'naive.trace.json.gz'}, which is outside of {incoming}" in str(caught.value)
