"""Children in fresh processes, without torch: what becomes of one that dies, of a fork server that hangs, of a parent that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reportgen.company.alive import Process, born

ROOT = Path(__file__).resolve().parents[2]
BEGIN = """
import os, signal, sys, time
from multiprocessing import forkserver
sys.path[:0] = [{root!r}, {tests!r}]
import fake_children
from reportgen.capture import processes

def server():
    return forkserver._forkserver._forkserver_pid

if __name__ == "__main__":
"""
pytestmark = pytest.mark.skipif("forkserver" not in __import__("multiprocessing").get_all_start_methods(), reason="no fork server here")


def script(tmp_path: Path, *lines: str) -> list[str]:
    file = tmp_path / "script.py"
    file.write_text(BEGIN.format(root=str(ROOT), tests=str(ROOT / "tests")) + "".join(f"    {line}\n" for line in lines))
    return [sys.executable, str(file)]


def run(tmp_path: Path, *lines: str, **options) -> str:
    done = subprocess.run(script(tmp_path, *lines), cwd=ROOT, capture_output=True, text=True, timeout=60, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_a_childs_answer_comes_back(tmp_path):
    assert run(tmp_path, "print(processes.run(fake_children.answers, (21,)))") == "42\n"


def test_a_temporary_folder_with_a_long_name_is_no_hindrance(tmp_path):
    """The name of a socket may have about a hundred characters."""
    long = tmp_path / ("x" * 60) / ("y" * 60)
    long.mkdir(parents=True)
    assert run(tmp_path, "print(processes.run(fake_children.answers, (21,)))", env={**os.environ, "TMPDIR": str(long)}) == "42\n"
    assert list(long.iterdir()) == []


def test_a_child_that_dies_is_told_with_the_signal_and_the_last_line_that_it_wrote(tmp_path):
    lines = ("try: processes.run(fake_children.aborts)", "except processes.ChildFailed as failure: print(failure.subject, '|', failure.reason)")
    assert run(tmp_path, *lines) == "a variant | the process was killed by SIGABRT; its last line: terminate called: no such symbol\n"


def test_a_fork_server_that_hangs_is_given_up_and_the_next_child_gets_a_new_one(tmp_path):
    lines = ("processes.run(fake_children.answers, (1,))", "first = server()", "os.kill(first, signal.SIGSTOP)",
             "try: processes.run(fake_children.answers, (1,), patience=1.0)", "except processes.ChildFailed as failure: print(failure.reason)",
             "print(processes.run(fake_children.answers, (21,)), server() != first)")
    began = time.monotonic()
    assert run(tmp_path, *lines) == "the process that starts the others gave no sign for 1 s\n42 True\n"
    assert time.monotonic() - began < 30


def test_a_fork_server_that_was_killed_costs_one_child_at_most(tmp_path):
    lines = ("processes.run(fake_children.answers, (1,))", "os.kill(server(), signal.SIGKILL)", "answers = []",
             "for number in range(2):", "    try: answers.append(processes.run(fake_children.answers, (21,)))", "    except processes.ChildFailed: pass", "print(answers[-1])")
    assert run(tmp_path, *lines) == "42\n"


def test_ctrl_c_ends_a_command_whose_fork_server_hangs(tmp_path):
    lines = ("processes.run(fake_children.answers, (1,))", "os.kill(server(), signal.SIGSTOP)", "print(server(), flush=True)", "processes.run(fake_children.answers, (1,))")
    child = subprocess.Popen(script(tmp_path, *lines), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    number = int(child.stdout.readline())
    server = Process(number, born(number))
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=20)
    assert child.returncode != 0 and not server.lives


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda number: number.name)
def test_a_child_ends_with_its_parent_however_that_ends(tmp_path, number):
    parent = subprocess.Popen(script(tmp_path, "processes.run(fake_children.sleeps, (1,), at=lambda subject, phase: print(phase, server(), flush=True))"),
                              cwd=ROOT, stdout=subprocess.PIPE, text=True)
    worker = ""
    while not worker.isdigit():
        worker, server = parent.stdout.readline().split()[-2:]
    family = [Process(int(one), born(int(one))) for one in (worker, server)]
    assert all(one.lives for one in family)
    parent.send_signal(number)
    parent.wait(10)
    deadline = time.monotonic() + 10
    while any(one.lives for one in family) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [one.lives for one in family] == [False, False]
