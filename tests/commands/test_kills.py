"""A report is killed at any moment, by any signal, alone or with all it started: the recorded evidence is whole,
the next report works, and no process and no temporary file is left.

Six kills of the 64 in every run of the suite; EVERY_KILL=1 has them all, and a few of a real CPU capture.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fake_checkout import ROOT, Checkout

from reportgen.run import swap

EVERY = bool(os.environ.get("EVERY_KILL"))
ROUNDS = 4
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
WHOM = ("the group", "make", "report", "profile")
KILLS = [(number, whom, turn) for turn in range(ROUNDS) for number in SIGNALS for whom in WHOM]
FEW = [(signal.SIGINT, "the group", 0), (signal.SIGTERM, "make", 0), (signal.SIGHUP, "the group", 0),
       (signal.SIGKILL, "the group", 0), (signal.SIGKILL, "make", 0), (signal.SIGKILL, "report", 0)]
GONE = 20.0
"""Seconds after which nothing may be left."""
pytestmark = [pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not show environments"),
              pytest.mark.skipif(not shutil.which("make"), reason="no make here")]


def numbers(checkout: Checkout, make: subprocess.Popen) -> dict[str, int]:
    """The processes of a report by what they are."""
    found = {"make": make.pid}
    for number, command in checkout.alive().items():
        if "fake_report.py" in command:
            found["report"] = number
        elif "fake_capture.py" in command and "--for-report" in command and "multiprocessing" not in command:
            found["profile"] = number
    return found


def ended(condition, seconds: float = GONE) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("kills"))


@pytest.fixture(scope="module")
def seconds(checkout) -> float:
    """How long a report takes that nobody kills."""
    began = time.monotonic()
    said, _ = (whole := checkout.start()).communicate(timeout=120)
    assert whole.returncode == 0, said
    assert checkout.whole() == str(checkout.reports) and checkout.leftovers() == []
    return time.monotonic() - began


def kill(checkout: Checkout, number: int, whom: str, wait: float) -> tuple[int, str, bool]:
    """Starts a report and kills it; returns how make ended, what was said, and whether there was anything to kill."""
    make = checkout.start()
    time.sleep(wait)
    target = numbers(checkout, make).get("make" if whom == "the group" else whom)
    hit = target is not None and make.poll() is None
    if hit:
        try:
            (os.killpg if whom == "the group" else os.kill)(target, number)
        except ProcessLookupError:
            hit = False
    try:
        said, _ = make.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        os.killpg(make.pid, signal.SIGKILL)
        raise
    return make.returncode, said, hit


@pytest.mark.parametrize(("number", "whom", "turn"), KILLS if EVERY else FEW)
def test_a_killed_report_leaves_the_evidence_whole_and_nothing_else_and_the_next_one_works(checkout, seconds, number, whom, turn):
    before = checkout.whole()
    wait = seconds * random.Random(f"{number} {whom} {turn}").uniform(0.05, 0.95)
    status, said, hit = kill(checkout, number, whom, wait)
    told = f"{signal.Signals(number).name} of {whom} after {wait:.2f} s of {seconds:.2f}: status {status}\n{said}"
    assert ended(lambda: not checkout.alive()), f"{told}\n{checkout.alive()}"
    assert "Traceback" not in said or "reportgen/" not in said, told  # Python itself may be starting
    swap.heal(checkout.root / "docs" / "runs")
    assert checkout.whole() in (before, str(checkout.reports)), told
    if number != signal.SIGKILL:
        assert checkout.leftovers() == [], told
    said, _ = (following := checkout.start()).communicate(timeout=120)
    assert following.returncode == 0, f"{told}\nnext:\n{said}"
    assert checkout.whole() == str(checkout.reports) and checkout.leftovers() == [] and checkout.alive() == {}
    assert (checkout.root / "docs" / "page-0.md").read_text().startswith(f"{checkout.reports}\n")


LONG = [(number, whom) for number in SIGNALS for whom in WHOM if whom != "make" or number in (signal.SIGTERM, signal.SIGKILL)]
"""make waits for its children when it alone is told to end by SIGINT or SIGHUP, which a terminal sends to all."""


@pytest.mark.parametrize(("number", "whom"), LONG)
def test_nothing_measures_on_for_a_command_that_is_gone(checkout, seconds, number, whom):
    """A child that would work for a minute, and the tool that it started, end at once."""
    before = checkout.whole()
    make = checkout.start(seconds=60)
    assert ended(lambda: len(checkout.alive()) >= 6), checkout.alive()  # make, report, profile, fork server, tracker, child
    (os.killpg if whom == "the group" else os.kill)(numbers(checkout, make)["make" if whom == "the group" else whom], number)
    began = time.monotonic()
    assert ended(lambda: not checkout.alive()), f"{signal.Signals(number).name} of {whom}: {checkout.alive()}"
    assert time.monotonic() - began < GONE
    said, _ = make.communicate(timeout=10)
    assert "Traceback" not in said and checkout.whole() == before
    if number != signal.SIGKILL or whom != "the group":
        assert checkout.leftovers() == [], said


def test_a_second_report_is_told_who_runs_and_wait_waits_for_it(checkout, seconds):
    first = checkout.start(seconds=1.5)
    assert ended(lambda: (checkout.root / "build" / "lock").read_text() if (checkout.root / "build" / "lock").exists() else "")
    environment = checkout.environment("waited")
    command = [sys.executable, str(ROOT / "tests" / "fake_report.py"), "report", "--capture-python", str(checkout.python)]
    refused = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert refused.returncode == 2
    lines = refused.stderr.splitlines()
    assert lines[0].startswith("error: make report has been running here since ") and lines[1] == "  what to do: wait until it has ended, or give WAIT=1 and this one waits for it"
    waited = subprocess.run([*command, "--wait"], env=environment, capture_output=True, text=True)
    assert first.wait(60) == 0 and waited.returncode == 0, waited.stderr
    assert waited.stderr.splitlines()[0].endswith("; waiting for it to end")
    assert checkout.whole() == "waited"


@pytest.mark.skipif(not EVERY, reason="takes minutes; EVERY_KILL=1 has it")
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_a_real_capture_that_is_killed_leaves_nothing(tmp_path, capture_python, number):
    """On the CPU, in a copy of the checkout, at a moment while children work."""
    root, tmp = tmp_path / "checkout", tmp_path / "tmp"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns(".git", ".venv*", "build", "site", "__pycache__", ".pytest_cache", ".?*"))
    tmp.mkdir()
    before = {str(file): file.read_bytes() for file in (root / "docs").rglob("*") if file.is_file()}
    checkout = Checkout(tmp_path / "unused")
    command = [sys.executable, "-m", "reportgen", "report", "--capture-python", capture_python, "--device", "cpu", "--quick"]
    environment = {**os.environ, "TMPDIR": str(tmp), "KILL_MARK": checkout.mark}
    child = subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True)
    heard = []
    for line in child.stderr:
        heard.append(line)
        if "timing, process 1 of " in line:
            break
    else:
        pytest.fail(f"it never timed: {''.join(heard)}")
    time.sleep(random.Random(int(number)).uniform(0.1, 3))  # traces, accuracy and ceilings take four more seconds, pages another six
    os.kill(child.pid, number)
    said = "".join(heard) + child.stderr.read()
    assert child.wait(60) in (128 + number, -number), said
    assert ended(lambda: not checkout.alive()), checkout.alive()
    assert {str(file): file.read_bytes() for file in (root / "docs").rglob("*") if file.is_file()} == before
    assert list(tmp.iterdir()) == [] or number == signal.SIGKILL
    done = subprocess.run([sys.executable, "-m", "reportgen", "render", "--check"], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
