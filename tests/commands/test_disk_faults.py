"""A disk that is full or read-only, in every folder that a report writes to: two lines, before anything is measured
where it can be known before, and the recorded evidence is whole."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fake_checkout import ROOT, SLOT, Checkout

from reportgen import run


def mounts() -> bool:
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not mounts(), reason="only who may mount a file system can have one that is full")
FULL = 'mount -t tmpfs -o size=$(( $(du -sk "$2" | cut -f1) + {room} ))k none "$1" && cp -a "$2/." "$1"'
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"'
RUN = """
set -e
{mount}
set +e
{python} {report} report --capture-python "$3"
status=$?
mkdir -p "$4"
cp -a {root}/docs "$4"
exit $status
"""


class Machine(Checkout):
    def report(self, place: Path, mount: str, look: bool = True) -> tuple[list[str], str]:
        """`report` with this mount on `place`; what it said, and the recorded driver afterwards."""
        kept, after = self.root.parent / "kept", self.root.parent / "after"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.rmtree(after, ignore_errors=True)
        if place.name == "build":  # what it holds from before is removed by a report, which makes room
            shutil.rmtree(place, ignore_errors=True)
        place.mkdir(exist_ok=True)
        shutil.copytree(place, kept)
        script = RUN.format(mount=mount, python=sys.executable, report=ROOT / "tests" / "fake_report.py", root=self.root)
        self.reports += 1
        environment = {**self.environment(str(self.reports), 0.02), **({} if look else {"FAKE_NO_LOOK": "1"})}
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", str(place), str(kept), str(self.python), str(after)],
                              env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 2, done.stdout[-200:] + done.stderr[-2000:]
        assert "Traceback" not in done.stderr
        return done.stderr.splitlines(), run.load(after / "docs" / "runs" / SLOT).software["driver"]


@pytest.fixture(scope="module")
def machine(tmp_path_factory) -> Machine:
    made = Machine(tmp_path_factory.mktemp("disk"))
    first = made.start(0.02)
    said, _ = first.communicate(timeout=120)
    assert first.returncode == 0, said
    return made


@pytest.mark.parametrize(("place", "lines"), [
    ("docs", ["error: docs/runs: cannot be written to, so nothing was profiled: the disk is read-only", "  what to do: use a checkout on a disk that can be written"]),
    ("site", ["error: site: cannot be written to, so nothing was profiled: the disk is read-only", "  what to do: use a checkout on a disk that can be written"]),
    ("build", ["error: build/lock: the disk is read-only", "  what to do: use a checkout on a disk that can be written"]),
])
def test_a_read_only_folder_is_told_before_anything_is_measured(machine, monkeypatch, place, lines):
    monkeypatch.setenv("FAKE_GPU", "1")
    before = machine.whole()
    assert machine.report(machine.root / place, READ_ONLY) == (lines, before)


@pytest.mark.parametrize("place", ["build", "docs", "tmp"])
def test_a_folder_without_room_is_told_before_anything_is_measured(machine, monkeypatch, place):
    monkeypatch.setenv("FAKE_GPU", "1")
    before, folder = machine.whole(), machine.tmp if place == "tmp" else machine.root / place
    lines, after = machine.report(folder, FULL.format(room=4096))
    assert after == before and len(lines) == 2
    assert "the disk has room for " in lines[0] and lines[0].endswith(" will be written; nothing was profiled")
    assert lines[1].startswith("  what to do: make room on that disk")


@pytest.mark.parametrize(("place", "room", "says"), [
    ("build", 8, "; the run lies in "), ("build", 28, "; the run lies in "), ("docs", 8, "; the fresh run lies in "), ("docs", 16, "; the fresh run lies in "),
])
def test_a_disk_that_becomes_full_meanwhile_is_two_lines_that_say_where_the_run_lies_and_leaves_the_evidence_whole(machine, place, room, says):
    before = machine.whole()
    lines, after = machine.report(machine.root / place, FULL.format(room=room), look=False)
    assert after in (before, str(machine.reports))
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == 1 and "the disk is full" in errors[0] and says in errors[0], lines
    assert lines[-1].startswith("  what to do: "), lines
