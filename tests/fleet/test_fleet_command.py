"""The command `fleet` in a copy of the checkout: one merged site, killed and continued."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import fleet_doubles as doubles
import pytest

from reportgen import run as run_room
from reportgen.company.alive import Process

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(".git", ".venv*", "build", "site", "wheelhouse", "__pycache__", ".pytest_cache", ".?*")
pytestmark = pytest.mark.usefixtures("submitit_here")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree without a recorded run."""
    root = tmp_path_factory.mktemp("fleet") / "copy"
    shutil.copytree(ROOT, root, ignore=LEFT_OUT)
    for device in (root / "docs" / "runs").iterdir():
        shutil.rmtree(device) if device.is_dir() else device.unlink()
    return root


def file(folder: Path, *names: str) -> Path:
    kinds = "".join(f'[kinds.{name}]\npython = "{doubles.python(folder, name)}"\n' for name in names)
    (folder / "fleet.toml").write_text(f'cluster = "local"\n{kinds}')
    return folder / "fleet.toml"


def started(checkout: Path, toml: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-E", "-m", "reportgen", "fleet", str(toml)], cwd=checkout, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


def fleet(checkout: Path, toml: Path) -> tuple[int, str, str]:
    """Exit status, what it printed without times, standard error."""
    command = started(checkout, toml)
    said, errors = command.communicate(timeout=300)
    return command.returncode, re.sub(r" in \d+ s$", "", said, flags=re.M), errors


def test_three_nodes_one_fails_one_site_killed_and_continued(checkout: Path, tmp_path: Path):
    toml = file(tmp_path, "one", "two", "three")
    (tmp_path / "broken").write_text("two")
    status, said, _ = fleet(checkout, toml)
    assert (status, said) == (1, """one: taken
two: failed
  error: the GPU of this node is held by another process
  what to do: ask who holds it
three: taken
nvidia-one/article: new
nvidia-three/article: new
the site: open site/index.html, or `make serve`
""")
    runs = checkout / "site" / "runs"
    assert sorted(folder.name for folder in runs.iterdir() if folder.is_dir()) == ["nvidia-one", "nvidia-three"]
    assert all(name in (runs.parent / "compare.html").read_text() for name in ("nvidia-one", "nvidia-three"))

    (tmp_path / "broken").unlink()
    (tmp_path / "slow").touch()
    command = started(checkout, toml)
    doubles.until(lambda: doubles.log(tmp_path)[-1] == "two begins", 60)
    command.send_signal(signal.SIGKILL)
    command.communicate(timeout=60)
    (tmp_path / "slow").unlink()
    status, said, _ = fleet(checkout, toml)
    assert (status, said) == (0, """one: taken by an earlier command and merged
two: taken
three: taken by an earlier command and merged
nvidia-two/article: new
the site: open site/index.html, or `make serve`
""")
    assert sorted(folder.name for folder in runs.iterdir() if folder.is_dir()) == ["nvidia-one", "nvidia-three", "nvidia-two"]
    assert doubles.log(tmp_path) == ["one begins", "one ends", "two begins", "two fails", "three begins", "three ends", "two begins", "two begins", "two ends"]
    assert not (tmp_path / "met").exists(), "two were at work at once"

    assert fleet(checkout, toml)[:2] == (0, """one: taken by an earlier command and merged
two: taken by an earlier command and merged
three: taken by an earlier command and merged
no kind is missing; ARGS=--anew takes every one again
""")


def test_ctrl_c_says_what_is_kept_and_leaves_nobody_at_work(checkout: Path, tmp_path: Path):
    toml = file(tmp_path, "four", "five")
    command = started(checkout, toml)
    doubles.until(lambda: "four ends" in doubles.log(tmp_path), 60)
    (tmp_path / "slow").touch()
    doubles.until(lambda: doubles.log(tmp_path)[-1] == "five begins", 60)
    command.send_signal(signal.SIGINT)
    _, errors = command.communicate(timeout=60)
    process = Process.read((checkout / "build" / "fleet" / "five" / "process").read_text())
    assert process is not None and not process.lives
    assert (command.returncode, errors.splitlines()[-1]) == (130, "interrupted; what was taken is kept, and the same command takes the rest")
    assert run_room.discover(checkout / "docs" / "runs" / "nvidia-four") == []
    (tmp_path / "slow").unlink()
    status, said, _ = fleet(checkout, toml)
    assert status == 0 and said.startswith("four: taken by an earlier command\nfive: taken\nnvidia-four/article: new\nnvidia-five/article: new\n")


def test_a_fleet_of_which_nothing_came_merges_nothing(checkout: Path, tmp_path: Path):
    toml = file(tmp_path, "six")
    (tmp_path / "broken").write_text("six")
    assert fleet(checkout, toml)[:2] == (1, """six: failed
  error: the GPU of this node is held by another process
  what to do: ask who holds it
there is nothing to merge
""")


def test_a_file_that_is_wrong_is_two_lines_before_anything_is_sent(checkout: Path, tmp_path: Path):
    (tmp_path / "fleet.toml").write_text('[kinds.seven]\npython = "p"\nworkload = "huge"\n')
    assert fleet(checkout, tmp_path / "fleet.toml") == (2, "", (
        f"error: {tmp_path}/fleet.toml: kinds.seven.workload is 'huge', which is no preset\n  what to do: there are article, article-fp16, long, small, wide\n"))
    assert not (checkout / "build" / "fleet" / "seven").exists()


def test_a_disk_that_takes_no_file_is_told_before_anything_is_sent(checkout: Path, tmp_path: Path):
    toml = file(tmp_path, "eight")
    runs, aside = checkout / "docs" / "runs", tmp_path / "runs"
    runs.rename(aside)
    runs.write_text("no folder")
    try:
        status, said, errors = fleet(checkout, toml)
    finally:
        runs.unlink()
        aside.rename(runs)
    assert (status, said, errors.count("\n")) == (2, "", 2) and errors.startswith("error: ") and "docs/runs" in errors
    assert doubles.log(tmp_path) == []
