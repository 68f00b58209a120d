"""What the Makefile hands on: whatever a user types reaches the command whole, and nothing else runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TELL = "import json, os, sys; print(json.dumps({'arguments': sys.argv[1:], 'parent': os.environ.get('REPORTGEN_PARENT'), 'ppid': os.getppid(), 'safe': os.environ.get('PYTHONSAFEPATH')}))"
pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="no make here")


def make(folder: Path, *arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run(["make", "-f", str(ROOT / "Makefile"), *arguments], cwd=folder, capture_output=True, text=True, timeout=60, **options)


def told(folder: Path, *arguments: str) -> list[str]:
    """What the command would be given."""
    (folder / "tell.py").write_text(TELL)
    done = make(folder, *arguments, f"PAGES=$(FOLLOW) {sys.executable} tell.py", "CAPTURE=capture=torch")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["arguments"]


@pytest.mark.parametrize(("given", "expected"), [
    (["report"], ["report", "--capture-python", "torch"]),
    (["report", "LABEL=a b", "DEVICE=cpu"], ["report", "--capture-python", "torch", "--device", "cpu", "--label", "a b"]),
    (["report", "LABEL=$(touch x); 'y'"], ["report", "--capture-python", "torch", "--label", "$(touch x); 'y'"]),
    (["report", "RECORD=false", "ACCEPT=1", "WAIT=yes"], ["report", "--capture-python", "torch", "--switch", "RECORD=false", "--switch", "ACCEPT=1", "--switch", "WAIT=yes"]),
    (["report", "MAP=1", "MAP_SECONDS=60"], ["report", "--capture-python", "torch", "--switch", "MAP=1", "--map-seconds", "60"]),
    (["noise", "MAP=1"], ["noise", "--capture-python", "torch"]),
    (["noise", 'ARGS=--sequence 2048 --variants naive'], ["noise", "--capture-python", "torch", "--sequence", "2048", "--variants", "naive"]),
    (["diff"], ["diff", "origin/main"]),
    (["diff", "BASE=x; touch y", "HEAD=a b"], ["diff", "x; touch y", "a b"]),
    (["merge", "DIRS=my runs", "ACCEPT=no"], ["merge", "--dirs", "my runs", "--switch", "ACCEPT=no"]),
    (["render", "WAIT=1"], ["render", "--switch", "WAIT=1"]),
])
def test_what_a_user_types_reaches_the_command_whole(tmp_path, given, expected):
    assert told(tmp_path, *(one.replace("$", "$$") for one in given)) == expected
    assert [file.name for file in tmp_path.iterdir()] == ["tell.py"]


def test_a_command_stands_in_for_the_shell_and_knows_make_as_its_parent(tmp_path):
    (tmp_path / "tell.py").write_text(TELL)
    done = make(tmp_path, "site", f"PAGES=$(FOLLOW) {sys.executable} tell.py", env={"PATH": "/usr/bin:/bin", "PYTHONSAFEPATH": "1"})
    found = json.loads(done.stdout)
    assert found["parent"] == str(found["ppid"]) and found["safe"] is None


def test_a_variable_that_nobody_reads_is_refused(tmp_path):
    done = make(tmp_path, "report", "WORKLAOD=long")
    assert done.returncode == 2 and done.stdout == ""
    assert re.fullmatch(r".*Makefile:\d+: \*\*\* WORKLAOD is no variable of this Makefile; `make help` lists them\.  Stop\.\n", done.stderr)


def test_targets_run_one_after_another_whatever_j_says(tmp_path):
    (tmp_path / "slow.py").write_text("import sys, time\nfor word in ('begins', 'ends'):\n print(sys.argv[1], word, flush=True)\n time.sleep(0.3)\n")
    done = make(tmp_path, "-j4", "check", "site", f"PAGES={sys.executable} slow.py")
    assert done.stdout.split("\n")[:4] == ["render begins", "render ends", "site begins", "site ends"]


def test_a_program_is_looked_for_by_the_shell_as_make_before_4_3_would_not():
    """There `command` alone is taken for a program; a semicolon makes make ask a shell."""
    asked = re.findall(r"\$\(shell ([^)]*)\)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert asked == ["command -v python3;"]


@pytest.mark.parametrize(("word", "recorded"), [("1", True), ("yes", True), ("on", True), ("True", True), ("0", False), ("no", False), ("false", False), ("OFF", False), ("n", False)])
def test_record_is_understood_in_any_word_for_yes_or_no(word, recorded):
    from reportgen.commands import cli

    assert cli.parser().parse_args(["profile", "--switch", f"RECORD={word}"]).no_record is not recorded


@pytest.mark.parametrize("variable", ["RECORD", "ACCEPT", "FORCE", "WAIT"])
def test_a_word_that_is_neither_is_refused(variable):
    done = subprocess.run([sys.executable, "-m", "reportgen", "report", "--switch", f"{variable}=maybe record"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"error: {variable}=maybe record is neither yes nor no\n  what to do: give {variable}=1 or {variable}=0, or leave it out\n")


def test_dirs_names_one_folder_with_a_blank_or_several_as_a_shell_would(tmp_path, monkeypatch):
    from reportgen.commands import reviewing
    from reportgen.errors import ReportError

    monkeypatch.chdir(tmp_path)
    (tmp_path / "my runs").mkdir()
    assert reviewing.named_folders("my runs") == [Path("my runs")]
    assert reviewing.named_folders("'my runs' other") == [Path("my runs"), Path("other")]
    with pytest.raises(ReportError, match="DIRS='my runs: No closing quotation\n  what to do: quote each folder"):
        reviewing.named_folders("'my runs")


@pytest.mark.parametrize(("status", "make_ends_with"), [(0, 0), (1, 0), (2, 2)])
def test_doctors_answer_that_a_report_is_limited_is_no_failure_of_makes(tmp_path, status, make_ends_with):
    stand_in = tmp_path / "python"
    stand_in.write_text(f"#!/bin/sh\necho \"$@\"\nexit {status}\n")
    stand_in.chmod(0o755)
    done = make(tmp_path, "doctor", "ARGS=--json", f"ENVIRONMENTS=echo {stand_in}; :")
    assert (done.returncode, done.stdout) == (make_ends_with, "-m reportgen doctor --json\n")


def test_the_fleet_is_started_by_the_environment_that_has_what_sends_jobs(tmp_path):
    (tmp_path / "tell.py").write_text(TELL)
    stand_in = tmp_path / "python"
    stand_in.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path}/tell.py "$@"\n')
    stand_in.chmod(0o755)
    done = make(tmp_path, "fleet", "FLEET=my fleet.toml", "ACCEPT=1", "ARGS=--anew", f"ENVIRONMENTS=echo {stand_in}; :")
    assert json.loads(done.stdout)["arguments"] == ["-E", "-m", "reportgen", "fleet", "my fleet.toml", "--switch", "ACCEPT=1", "--anew"]
