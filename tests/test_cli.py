"""The commands: what they choose, what they print, how they end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from builders import facts, unavailable
from reportgen import cli, readme, run as run_room
from reportgen.errors import PageMismatch, ReportError
from reportgen.findings.base import Outcome
from reportgen.layout import Layout
from reportgen.summary import summary
from reportgen.workload import PRESETS

ROOT = Path(__file__).resolve().parent.parent
OUTCOMES = {
    "memcpy-hidden": Outcome("memcpy-hidden", "holds", "copied", "There is a copy."),
    "flash-fastest": Outcome("flash-fastest", "differs", "other-wins", "Another one wins."),
    "math-slower": Outcome("math-slower", "within noise", "tie", "They tie."),
    "hbm-dominates": Outcome("hbm-dominates", "not measurable", "no-gpu-lane", "Not measurable: no GPU lane."),
    "flash-one-kernel": Outcome("flash-one-kernel", "not measurable", "no-gpu-lane", "Not measurable: no GPU lane."),
}


def run_cli(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "reportgen", *arguments], cwd=ROOT, capture_output=True, text=True, **options)


def recorded(root: Path, device: str = "gpu-x", workload: str = "article", kind: str = "cuda") -> Path:
    """A small valid run below `root`."""
    data = {"schema_version": 1, "recorded_on": "2026-11-01", "device": {"kind": kind, "name": device, "slug": device},
            "software": {"torch": "2.13.0"}, "host": {}, "settings": {}, "workload": PRESETS[workload].to_json(), "label": None,
            "protocol": {}, "variants": {}}
    return run_room.save(data, {}, root)


# --- choosing ------------------------------------------------------------------------------------

@pytest.mark.parametrize("arguments, expected", [
    ([], None),
    (["--workload", "long"], ("long", 2, 16, 4096, 64, "bfloat16")),
    (["--sequence", "2048"], ("custom-8x16x2048x64-bfloat16", 8, 16, 2048, 64, "bfloat16")),
    (["--device", "cpu", "--sequence", "128"], ("custom-1x4x128x64-bfloat16", 1, 4, 128, 64, "bfloat16")),
    (["--dtype", "float32"], ("article-float32", 8, 16, 1024, 64, "float32")),
    (["--batch", "8", "--heads", "16", "--sequence", "1024", "--head-dim", "64"], ("article", 8, 16, 1024, 64, "bfloat16")),
    (["--dtype", "float16"], ("article-fp16", 8, 16, 1024, 64, "float16")),
])
def test_the_workload_is_a_preset_or_sizes_of_ones_own(arguments, expected):
    workload = cli.chosen_workload(cli.parser().parse_args(["profile", *arguments]))
    found = workload and (workload.name, workload.batch, workload.heads, workload.sequence, workload.head_dim, workload.dtype)
    assert found == expected


def test_two_own_sizes_never_share_a_slot():
    names = {cli.chosen_workload(cli.parser().parse_args(["profile", "--sequence", n])).name for n in ("100", "200")}
    assert len(names) == 2


@pytest.mark.parametrize("label", ["../up", "a b", "ü", "a/b"])
def test_a_label_that_cannot_be_a_folder_is_refused(label):
    with pytest.raises(ReportError, match="folder's name"):
        cli.checked_label(label)


def test_report_passes_every_capture_option_on():
    given = ["--device", "cpu", "--workload", "small", "--batch", "2", "--heads", "3", "--sequence", "5", "--head-dim", "8", "--dtype", "float32",
             "--label", "x", "--counters", "off", "--no-record", "--quick", "--variants", "naive", "sdpa_math"]
    passed = cli._passed_on(cli.parser().parse_args(["report", *given]))
    again = vars(cli.parser().parse_args(["profile", *passed]))
    original = vars(cli.parser().parse_args(["profile", *given]))
    assert again == original


# --- ending --------------------------------------------------------------------------------------

def test_help_explains_every_command():
    shown = run_cli("--help").stdout
    for command in ("profile", "render", "site", "facts", "report"):
        assert f"\n    {command} " in shown


def test_an_error_of_the_users_is_two_lines_and_status_2():
    done = run_cli("facts", "no-such/run")
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0] == "error: no-such/run: there is no such run"
    assert lines[1].startswith("  what to do: ")


def test_a_size_that_makes_no_sense_is_an_error_of_the_users():
    done = run_cli("profile", "--sequence", "0")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "error: sequence must be at least 1"


def fake_python(folder: Path, body: str) -> str:
    """An executable that stands in for the capture Python."""
    script = folder / "python"
    script.write_text(f"#!{sys.executable}\n" + textwrap.dedent(body))
    script.chmod(0o755)
    return str(script)


def test_report_says_so_when_profiling_fails(tmp_path):
    python = fake_python(tmp_path, "import sys; print('error: no such device', file=sys.stderr); sys.exit(2)")
    done = run_cli("report", "--capture-python", python)
    assert done.returncode == 2
    assert done.stderr.splitlines()[:2] == ["error: no such device", "error: profiling ended with status 2 and recorded no run"]


def test_ctrl_c_while_profiling_ends_with_130_after_the_child_has_cleaned_up(tmp_path):
    python = fake_python(tmp_path, f"""
        import sys, time
        print('profiling', file=sys.stderr, flush=True)
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            time.sleep(0.3)
            open({str(tmp_path / 'cleaned')!r}, 'w').close()
            sys.exit(130)
    """)
    child = subprocess.Popen([sys.executable, "-m", "reportgen", "report", "--capture-python", python], cwd=ROOT, stderr=subprocess.PIPE,
                             text=True, start_new_session=True)
    assert child.stderr.readline() == "profiling\n"
    time.sleep(0.2)
    os.killpg(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=20)
    assert child.returncode == 130
    assert said.strip() == "interrupted; the former run, if there is one, is untouched"
    assert (tmp_path / "cleaned").exists()


def test_a_reader_that_leaves_early_is_no_error(monkeypatch):
    def gone(chosen, layout):
        raise BrokenPipeError

    monkeypatch.setattr(cli, "_site", gone)
    monkeypatch.setattr(cli.os, "dup2", lambda *ends: None)
    assert cli.main(["site"]) == 0


# --- where runs lie ------------------------------------------------------------------------------

def test_the_first_recorded_run_becomes_the_featured_one_and_a_later_one_does_not(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    recorded(layout.recorded, "gpu-y")
    assert layout.feature_first("gpu-y/article") is True
    assert layout.feature_first("gpu-x/article") is False
    assert layout.featured(layout.recorded_runs()) == "gpu-y/article"


def test_without_a_recorded_run_the_live_one_is_featured(tmp_path):
    layout = Layout(tmp_path)
    live = recorded(layout.live, "cpu-x", "small", "cpu")
    assert layout.featured(layout.with_live(live), otherwise="cpu-x/small") == "cpu-x/small"


def test_beside_a_recorded_run_the_live_one_is_shown_and_not_featured(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    layout.feature_first("gpu-x/article")
    live = recorded(layout.live, "cpu-x", "small", "cpu")
    runs = layout.with_live(live)
    assert [run.slot for run in runs] == ["cpu-x/small", "gpu-x/article"]
    assert layout.featured(runs, otherwise="cpu-x/small") == "gpu-x/article"


def test_a_live_run_stands_in_for_the_recorded_one_of_its_slot(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    live = recorded(layout.live, "gpu-x")
    assert [run.path for run in layout.with_live(live)] == [live]


def test_a_featured_run_that_is_gone_is_an_error_that_names_the_others(tmp_path):
    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    (layout.recorded / "FEATURED").write_text("gpu-z/article\n")
    with pytest.raises(ReportError, match="gpu-z/article.*\n.*gpu-x/article"):
        layout.featured(layout.recorded_runs())


def test_a_run_is_found_by_folder_and_by_slot(tmp_path):
    layout = Layout(tmp_path)
    folder = recorded(layout.recorded, "gpu-x")
    assert layout.find_run("gpu-x/article") == folder
    assert layout.find_run(str(folder)) == folder


# --- summary -------------------------------------------------------------------------------------

def test_the_summary_says_what_ran_what_came_out_and_where_the_time_went():
    run = unavailable(facts("h200"), "sdpa_cudnn", "No available kernel.")
    text = summary(run, OUTCOMES, {"profiling": 30.0, "rendering": 2.0}, "the site: site/index.html")
    lines = text.splitlines()
    assert lines[0] == "NVIDIA H200, compute capability 9.0"
    row = next(line for line in lines if line.startswith("naive "))
    assert row.endswith("5 kernels, 1 memcpy, 1 memset")
    assert "sdpa_cudnn unavailable: No available kernel." in lines
    assert "5 claims of the article: 1 holds, 1 differs, 1 within noise, 2 not measurable" in lines
    assert "  differs       flash-fastest: Another one wins." in lines
    assert lines[lines.index("not measurable here, and why") + 1:][:2] == ["  No GPU lane.", "    hbm-dominates, flash-one-kernel"]
    assert "32.0 s in all: profiling 30.0 s, rendering 2.0 s" in lines
    assert lines[-1] == "the site: site/index.html"


def test_the_summary_of_a_cpu_run_has_no_gpu_numbers():
    text = summary(facts("cpu"), OUTCOMES, {"profiling": 3.0}, "")
    row = next(line for line in text.splitlines() if line.startswith("naive "))
    assert row.split()[1] == "—"
    assert row.endswith("— (no GPU lane)")


# --- the README's table --------------------------------------------------------------------------

BLANK = f"# Title\n\n{readme.BEGIN}\n{readme.END}\n\nEnd.\n"


def test_the_readme_is_changed_between_its_markers_only():
    text = readme.update(BLANK, facts("h200"), OUTCOMES)
    assert text.startswith(f"# Title\n\n{readme.BEGIN}\n\n**NVIDIA H200**")
    assert text.endswith(f"\n\n{readme.END}\n\nEnd.\n")
    assert "5 claims of the article: 1 holds, 1 differs, 1 within noise, 2 not measurable." in text
    assert readme.update(text, facts("h200"), OUTCOMES) == text


def test_the_readme_has_a_row_for_each_of_the_six_also_for_one_that_did_not_run():
    text = readme.update(BLANK, unavailable(facts("t4"), "sdpa_math"), OUTCOMES)
    rows = [line for line in text.splitlines() if line.startswith("| [")]
    assert len(rows) == 6
    assert "| [SDPA math](docs/variants/sdpa_math.md) | — | — | — | — | — | — |" in rows


def test_a_number_edited_by_hand_is_named_with_its_line():
    text = readme.update(BLANK, facts("h200"), OUTCOMES)
    edited = text.replace("1 differs", "9 differs")
    (problem,) = readme.differences(edited, text)
    assert problem.startswith("README.md:5: is ")


def test_a_readme_without_markers_is_an_error():
    with pytest.raises(ReportError, match="markers"):
        readme.update("# Title\n", facts("h200"), OUTCOMES)


def test_check_names_every_page_and_line_that_differs(tmp_path, monkeypatch):
    from reportgen import publish

    layout = Layout(tmp_path)
    recorded(layout.recorded, "gpu-x")
    layout.readme.write_text("one\ntwo\n")
    monkeypatch.setattr(publish.pages, "check", lambda runs, docs, featured: [f"{docs}/index.md:7: expected 'a', found 'b'"])
    monkeypatch.setattr(publish, "_readme", lambda layout, runs, featured: "one\nTWO\n")
    with pytest.raises(PageMismatch) as caught:
        publish.check(layout)
    assert "docs/index.md:7: expected 'a', found 'b'" in str(caught.value).splitlines()
    assert "README.md:2: is 'two', renders to 'TWO'" in str(caught.value).splitlines()


def test_facts_of_a_run_are_one_json_object(tmp_path):
    folder = recorded(tmp_path / "runs", "gpu-x")
    done = run_cli("facts", str(folder), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["device"]["slug"] == "gpu-x"
    assert len(found["claims"]) == 31
