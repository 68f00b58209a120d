"""A map whose process is killed, at three moments, and continued: no point lost, none twice, and what was written stays byte for byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from reportgen.shapes import Call, record  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
CALLS = tuple(Call(1, 2, 2, length, length, 32, 32, mask="causal") for length in range(16, 112, 8))
SESSION = """
import sys
from pathlib import Path
from reportgen.capture import map_session
from reportgen.shapes import Call

SURVEY = {"device": "cpu", "environment": {"device": {"kind": "cpu", "name": "CPU", "slug": "cpu"}, "software": {"torch": "2"}, "settings": {}}}

class Shown:
    def plan(self, *_): ...
    def stage(self, *_): ...
    def done(self): ...
    def at(self, what, *_): print("at", what, flush=True)

if __name__ == "__main__":
    calls = tuple(Call(1, 2, 2, length, length, 32, 32, mask="causal") for length in range(16, 112, 8))
    taken = map_session.take(SURVEY, calls, Path(sys.argv[1]), "cpu", 120, Shown())
    print("taken", taken.there, taken.fresh, taken.left, flush=True)
"""


@pytest.fixture
def start(tmp_path: Path):
    script = tmp_path / "session.py"
    script.write_text(SESSION)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    begun = []

    def session(file: Path) -> subprocess.Popen[str]:
        begun.append(subprocess.Popen([sys.executable, str(script), str(file)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True))
        return begun[-1]

    yield session
    for one in begun:
        one.kill()
        one.communicate()


def points(file: Path) -> list[Call]:
    return [point.call for point in record.read(file).points]


def kill_at_line(session: subprocess.Popen[str], file: Path, lines: int) -> bytes:
    """Kills it as soon as the file has that many lines (the header is the first); what is in the file then."""
    until = time.monotonic() + 120
    while not file.is_file() or file.read_bytes().count(b"\n") < lines:
        assert time.monotonic() < until and session.poll() is None, "ended before it could be killed"
        time.sleep(0.001)
    session.send_signal(signal.SIGKILL)
    assert session.wait(30) == -signal.SIGKILL
    return file.read_bytes()


def test_killed_at_the_header_between_two_points_and_within_a_line(start, tmp_path: Path):
    file = tmp_path / "cpu" / "map.jsonl"
    kept = kill_at_line(start(file), file, 1)
    measured = len(points(file))
    assert measured < len(CALLS)

    second = kill_at_line(start(file), file, measured + 3)
    assert second.startswith(kept) and len(points(file)) >= measured + 2
    measured = len(points(file))
    assert measured < len(CALLS), "it was done before it could be killed"

    torn = second[:-25]
    file.write_bytes(torn)
    assert len(points(file)) == measured - 1, "a line without its end is no point"

    last = start(file)
    told = last.communicate(timeout=120)[0].splitlines()[-1]
    assert told == f"taken {measured - 1} {len(CALLS) - measured + 1} 0" and last.returncode == 0
    lines = file.read_bytes().splitlines(keepends=True)
    assert b"".join(lines[:measured]) == torn[: torn.rfind(b"\n") + 1]
    assert points(file) == list(CALLS) and len(lines) == 1 + len(CALLS)
