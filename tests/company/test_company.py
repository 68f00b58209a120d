"""Who else is at work: locks, parents, survivors, what is left behind; and the disk in words."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reportgen.company import alive, belongings, disk, lock, signals
from reportgen.errors import ReportError

ROOT = Path(__file__).resolve().parents[2]
LINUX = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not show environments")


def gone() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def start(script: str, **options) -> subprocess.Popen:
    """A Python that runs `script` and has printed a line when this returns."""
    child = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True, **options)
    child.said = child.stdout.readline().strip()
    return child


def until(condition, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# A process and its successors

def test_a_process_that_ended_is_told_from_one_that_lives():
    assert alive.Process.this().lives
    assert not alive.Process(gone(), "").lives


def test_a_later_process_with_the_same_number_is_another():
    mine = alive.Process.this()
    assert not alive.Process(mine.number, "1").lives and alive.Process.read(str(mine)) == mine


@pytest.mark.parametrize("text", ["", "x", ".5", "-4.5"])
def test_what_names_no_process_is_none(text):
    assert alive.Process.read(text) is None


# Signals

@pytest.mark.parametrize("number", signals.ENDING)
def test_a_signal_inside_a_held_step_takes_effect_after_it(number):
    steps = []
    former = signal.signal(number, lambda *given: steps.append("signal"))
    try:
        with signals.held():
            signal.raise_signal(number)
            steps.append("step")
        steps.append("after")
    finally:
        signal.signal(number, former)
    assert steps == ["step", "signal", "after"]


# The lock

HOLDER = "import sys, time; from pathlib import Path; from reportgen.company import lock\nwith lock.held(Path(sys.argv[1]), 'make report', False, print): print('held', flush=True); time.sleep(60)"


@pytest.fixture
def holder(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path / "lock")], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "held\n"
    yield child
    child.kill()
    child.wait()


def test_a_second_command_is_told_who_runs_since_when_and_how_to_wait(tmp_path, holder):
    with pytest.raises(lock.Busy) as caught, lock.held(tmp_path / "lock", "make report", False, print):
        pass
    first, second = str(caught.value).splitlines()
    assert re.fullmatch(rf"make report has been running here since \d\d:\d\d \(process {holder.pid}\)", first)
    assert second == "  what to do: wait until it has ended, or give WAIT=1 and this one waits for it"


def test_a_lock_of_a_killed_process_is_taken_over(tmp_path, holder):
    holder.kill()
    holder.wait()
    assert json.loads((tmp_path / "lock").read_text())["command"] == "make report"  # it could not tidy up
    with lock.held(tmp_path / "lock", "make merge", False, print):
        assert json.loads((tmp_path / "lock").read_text())["command"] == "make merge"
    assert (tmp_path / "lock").read_text() == ""


def test_who_waits_says_so_once_and_goes_on_when_the_other_has_ended(tmp_path, holder):
    said = []

    def end(line):
        said.append(line)
        holder.kill()

    with lock.held(tmp_path / "lock", "make report", True, end):
        pass
    assert len(said) == 1 and re.fullmatch(r"make report has been running here since \d\d:\d\d \(process \d+\); waiting for it to end", said[0])


def test_without_locks_of_the_file_system_the_process_in_the_file_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "_lock", lambda handle, block: lock.UNSUPPORTED)
    file = tmp_path / "lock"
    other = start("import time; print('there', flush=True); time.sleep(60)")
    since = "2026-11-30T08:05:00+00:00"
    file.write_text(json.dumps({"process": str(alive.Process(other.pid, alive.born(other.pid))), "command": "make noise", "since": since}))
    try:
        with pytest.raises(lock.Busy, match=rf"^make noise has been running here since 2026-11-30 08:05 \(process {other.pid}\)"), lock.held(file, "make report", False, print):
            pass
    finally:
        other.kill()
        other.wait()
    with lock.held(file, "make report", False, print):
        assert json.loads(file.read_text())["command"] == "make report"


# Belongings

OWNER = """
import os, subprocess, sys, tempfile, time
from pathlib import Path
from reportgen.company import belongings
with belongings.own(Path(sys.argv[1])):
    tempfile.mkdtemp()
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
    print(tempfile.gettempdir(), child.pid, flush=True)
    time.sleep(60 if len(sys.argv) < 3 else 0)
"""


def owner(checkout: Path, tmp: Path, *more: str) -> tuple[subprocess.Popen, Path, int]:
    child = subprocess.Popen([sys.executable, "-c", OWNER, str(checkout), *more], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                             env={**{k: v for k, v in os.environ.items() if k != belongings.MARK}, "TMPDIR": str(tmp)})
    folder, number = child.stdout.readline().split()
    return child, Path(folder), int(number)


def test_temporary_files_of_a_command_and_its_children_lie_in_one_folder_that_goes_with_it(tmp_path):
    child, folder, number = owner(tmp_path, tmp_path, "at once")
    os.kill(number, signal.SIGKILL)
    assert child.wait() == 0 and folder.parent == tmp_path and folder.name.startswith(f"rg-{child.pid}-")
    assert list(tmp_path.iterdir()) == []


@LINUX
def test_what_a_killed_command_left_is_named_and_ended_and_its_folder_removed(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    child, folder, number = owner(tmp_path, tmp_path)
    try:
        belongings.sweep()
        assert folder.is_dir() and belongings.survivors(tmp_path) == []  # its command lives
        child.kill()
        child.wait()
        assert belongings.survivors(tmp_path / "elsewhere") == []
        assert belongings.survivors(tmp_path) == [number]
        said = []
        belongings.end_survivors(tmp_path, said.append)
        assert re.fullmatch(rf"ending what a killed command left running: process {number} \(python[\d.]*\)", said[0])
        assert belongings.survivors(tmp_path) == []
        belongings.sweep()
        assert list(tmp_path.iterdir()) == []
        belongings.end_survivors(tmp_path, pytest.fail)  # nothing to say any more
    finally:
        child.kill()


def test_a_folder_that_only_looks_like_one_of_ours_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "rg-notes").mkdir()
    (tmp_path / "rg-1-x").mkdir()
    (tmp_path / "rg-1-x" / "owner").write_text("nobody")
    belongings.sweep()
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["rg-1-x", "rg-notes"]


def test_what_another_container_left_in_a_shared_folder_is_not_ours_to_judge(tmp_path, monkeypatch):
    """Its process numbers mean nothing here, so nobody can say that its command is gone."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / "rg-1-x"
    folder.mkdir()
    (folder / "owner").write_text(f"{gone()}.1/another")
    belongings.sweep()
    assert folder.is_dir()
    (folder / "owner").write_text(f"{gone()}.1/{alive.world()}")
    belongings.sweep()
    assert not folder.exists()


# Parents

FOLLOWER = """
import os, subprocess, sys, time
from reportgen.company import parents
child = subprocess.Popen([sys.executable, "-c", '''
import time
from reportgen.company import parents
{off}
parents.HEARTBEAT = 0.05
parents.follow()
print("follows", flush=True)
time.sleep(60)
'''], env=parents.followed(os.environ), stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("off", ["", "parents._PRCTL = None"], ids=["told by the kernel", "looking"])
def test_who_follows_a_parent_ends_when_that_is_killed(off):
    parent = start(FOLLOWER.format(off=off))
    child = alive.Process(int(parent.said), alive.born(int(parent.said)))
    assert child.lives
    parent.kill()
    parent.wait()
    assert until(lambda: not child.lives)


def test_a_command_that_was_not_asked_to_follow_goes_on_without_its_parent():
    parent = start(FOLLOWER.format(off="import os; os.environ.pop(parents.PARENT)"))
    child = alive.Process(int(parent.said), alive.born(int(parent.said)))
    parent.kill()
    parent.wait()
    time.sleep(0.3)
    try:
        assert child.lives
    finally:
        os.kill(child.number, signal.SIGKILL)


def test_a_closed_pipe_ends_a_process_everywhere():
    child = start("import sys, time; from reportgen.company import parents; parents.end_with(sys.stdin.fileno()); print('listens', flush=True); time.sleep(60)", stdin=subprocess.PIPE)
    assert child.poll() is None
    child.stdin.close()
    assert child.wait(10) == 1


# The disk

@pytest.mark.parametrize(("number", "problem", "cure"), [
    (errno.ENOSPC, "docs/x: the disk is full", "make room on that disk"),
    (errno.EDQUOT, "docs/x: your quota on this disk is used up", "make room on that disk"),
    (errno.EROFS, "docs/x: the disk is read-only", "use a checkout on a disk that can be written"),
    (errno.EACCES, "docs/x: permission denied", "give yourself the right to write there (`chown`, if a container wrote as root), or use a checkout of your own"),
    (errno.EFBIG, "docs/x: the file would be larger than this process may write", "raise the limit: `ulimit -f unlimited`"),
    (errno.EISDIR, "docs/x: Is a directory", "mend that, then run the command again"),
])
def test_what_is_wrong_with_the_disk_is_said_with_file_and_cure(tmp_path, number, problem, cure):
    error = OSError(number, os.strerror(number), str(tmp_path / "docs" / "x"))
    assert disk.explain(error, tmp_path) == (problem, cure)


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_done(tmp_path):
    (tmp_path / "build").write_text("a file")
    with pytest.raises(ReportError) as caught:
        disk.ready([disk.Need(tmp_path / "build" / "passes", 1)], tmp_path)
    assert str(caught.value).splitlines() == ["build/passes: cannot be written to, so nothing was profiled: Not a directory",
                                              "  what to do: mend that, then run the command again"]


def test_needs_on_one_disk_are_added_up(tmp_path, monkeypatch):
    monkeypatch.setattr(disk.shutil, "disk_usage", lambda folder: type("Usage", (), {"free": 40 << 20}))
    disk.ready([disk.Need(tmp_path / "a", 20 << 20), disk.Need(tmp_path / "b", 20 << 20)], tmp_path)
    with pytest.raises(ReportError) as caught:
        disk.ready([disk.Need(tmp_path / "a", 20 << 20, ", or set TMPDIR"), disk.Need(tmp_path / "b", 24 << 20)], tmp_path)
    assert str(caught.value).splitlines() == ["a: the disk has room for 40 MiB, and about 44 MiB will be written; nothing was profiled",
                                              "  what to do: make room on that disk, or set TMPDIR"]
    assert list((tmp_path / "a").iterdir()) == []
