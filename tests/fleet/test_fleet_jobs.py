"""A fleet on one machine, by submitit's local executor: what is taken, what a node that fails says, what a second command takes."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import fleet_doubles as doubles
import pytest

from reportgen.company import belongings, parents
from reportgen.company.alive import Process
from reportgen.fleet import jobs, node
from reportgen.fleet.plan import Fleet, Kind

ROOT = Path(__file__).resolve().parents[2]


def local(folder: Path, *names: str) -> Fleet:
    return Fleet("local", tuple(Kind(name, doubles.python(folder, name)) for name in names))


def taking(fleet: Fleet, folder: Path, say=lambda line: None, anew: bool = False) -> jobs.Taking:
    return jobs.Taking(fleet, ROOT, folder / "fleet", say, anew, 0.05)


@pytest.mark.usefixtures("submitit_here")
def test_one_of_three_fails_and_the_second_command_takes_what_is_missing(tmp_path: Path):
    fleet = local(tmp_path, "one", "two", "three")
    (tmp_path / "broken").write_text("two")
    first = taking(fleet, tmp_path).run()
    assert [(one.problem, one.cure, one.there) for one in first] == [("", "", False), ("the GPU of this node is held by another process", "ask who holds it", False), ("", "", False)]
    assert [one.folder and one.folder.relative_to(tmp_path / "fleet").as_posix() for one in first] == [
        "one/run/nvidia-one/article", None, "three/run/nvidia-three/article"]
    (tmp_path / "broken").unlink()
    second = taking(fleet, tmp_path).run()
    assert [(one.kind.name, one.folder is not None, one.there) for one in second] == [("one", True, True), ("two", True, False), ("three", True, True)]
    assert doubles.log(tmp_path) == ["one begins", "one ends", "two begins", "two fails", "three begins", "three ends", "two begins", "two ends"]


@pytest.mark.usefixtures("submitit_here")
def test_another_setting_and_anew_are_taken_and_a_damaged_run_is_missing(tmp_path: Path):
    fleet = local(tmp_path, "one")
    taking(fleet, tmp_path).run()
    assert [one.there for one in taking(Fleet("local", (Kind("one", fleet.kinds[0].python, label="b"),)), tmp_path).run()] == [False]
    assert [one.there for one in taking(fleet, tmp_path).run()] == [False]
    assert [one.there for one in taking(fleet, tmp_path).run()] == [True]
    assert [one.there for one in taking(fleet, tmp_path, anew=True).run()] == [False]
    (tmp_path / "fleet" / "one" / "run" / "nvidia-one" / "article" / "run.json").write_text("{")
    assert [one.there for one in taking(fleet, tmp_path).run()] == [False]
    assert doubles.log(tmp_path).count("one begins") == 5


@pytest.mark.usefixtures("submitit_here")
@pytest.mark.parametrize("ignored", [False, True], ids=["in a terminal", "in the background of a script"])
def test_what_is_interrupted_has_ended_when_the_command_ends(tmp_path: Path, ignored: bool):
    """A script's background ignores Ctrl-C, and so does all that is started there."""
    fleet = local(tmp_path, "one")
    (tmp_path / "slow").touch()

    def stop(line: str) -> None:
        while not doubles.log(tmp_path):
            time.sleep(0.02)
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGINT, signal.SIG_IGN) if ignored else None
    try:
        with pytest.raises(KeyboardInterrupt):
            taking(fleet, tmp_path, stop).run()
    finally:
        if ignored:
            signal.signal(signal.SIGINT, former)
    process = Process.read((tmp_path / "fleet" / "one" / "process").read_text())
    assert process is not None and not process.lives
    (tmp_path / "slow").unlink()
    assert [(one.there, one.folder is not None) for one in taking(fleet, tmp_path).run()] == [(False, True)]


@pytest.mark.usefixtures("submitit_here")
def test_what_cannot_be_started_and_what_dies_cost_their_kind_alone(tmp_path: Path):
    (tmp_path / "dies").write_text("#!/bin/sh\necho 'out of memory' >&2\nkill -9 $$\n")
    (tmp_path / "dies").chmod(0o755)
    fleet = Fleet("local", (Kind("absent", "/no/such/python"), Kind("dies", str(tmp_path / "dies")), *local(tmp_path, "one").kinds))
    absent, dies, one = taking(fleet, tmp_path).run()
    assert (absent.problem, absent.cure) == ("/no/such/python cannot be run (No such file or directory)", "name another python, or container, for this kind")
    assert (dies.problem, dies.cure) == ("profiling was ended by SIGKILL: out of memory", f"see {tmp_path}/fleet/dies/said.txt, then give the same command again")
    assert one.folder is not None


@pytest.mark.usefixtures("submitit_here")
def test_a_job_sees_the_gpus_that_the_command_sees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """submitit's local executor hides every GPU that it did not give out."""
    (tmp_path / "tells").write_text(f"#!/bin/sh\necho \"GPUs ${{CUDA_VISIBLE_DEVICES-all}}\" >> {tmp_path}/told\n")
    (tmp_path / "tells").chmod(0o755)
    fleet = Fleet("local", (Kind("a", str(tmp_path / "tells")), Kind("b", str(tmp_path / "tells"), container=("env", "CUDA_VISIBLE_DEVICES=1"))))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-4711")
    taking(fleet, tmp_path).run()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    taking(fleet, tmp_path).run()
    assert (tmp_path / "told").read_text() == "GPUs GPU-4711\nGPUs 1\nGPUs all\nGPUs 1\n"


def shell(folder: Path, text: str) -> list[str]:
    (folder / "script").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "script").chmod(0o755)
    return [str(folder / "script")]


def test_profiling_that_takes_too_long_is_ended(tmp_path: Path):
    told = node.profile(shell(tmp_path, "trap 'echo cleaned >&2; exit 143' TERM\nwhile :; do sleep 0.05; done"), str(tmp_path), str(tmp_path), 0.5)
    assert (told["status"], told["late"], told["said"]) == (143, True, "cleaned\n") and 0.5 < told["seconds"] < 15


def test_profiling_ends_with_the_command_that_waits_for_it(tmp_path: Path):
    gone = Process(os.getpid(), "1").__str__()
    told = node.profile(shell(tmp_path, "exec sleep 60"), str(tmp_path), str(tmp_path), 60, gone)
    assert (told["status"], told["late"]) == (-signal.SIGTERM, False) and told["seconds"] < 15


def test_a_node_gets_nothing_that_means_something_on_the_senders_machine_only():
    here = {"PATH": "/bin", "PYTHONSAFEPATH": "1", parents.PARENT: "4711", belongings.MARK: "mark", "TMPDIR": "/x/rg-12-abc"}
    assert node._environment(here, {}, None) == {"PATH": "/bin"}
    assert node._environment({**here, "TMPDIR": "/scratch"}, {}, None) == {"PATH": "/bin", "TMPDIR": "/scratch"}
    # On the same machine the mark stays, for by it the next command finds what a killed one left.
    assert node._environment(here, {"A": "b", "PATH": None}, "4711.1") == {"A": "b", belongings.MARK: "mark", "TMPDIR": "/x/rg-12-abc"}


@pytest.mark.parametrize(("said", "status", "expected"), [
    ("error: first\n  what to do: a\nerror: last\n  what to do: b\n", 2, ("last", "b")),
    ("error: no cure\n", 2, ("no cure", "see said.txt, then give the same command again")),
    ("error: of a library\nKilled\n", 137, ("profiling ended with status 137: Killed", "see said.txt, then give the same command again")),
    ("", -11, ("profiling was ended by SIGSEGV: it said nothing", "see said.txt, then give the same command again")),
    ("error: \x1b[2Jgone\n  what to do: x\n", 2, ("gone", "x")),
])
def test_the_last_error_of_a_node_is_its_own_words(said: str, status: int, expected: tuple[str, str]):
    assert jobs.own_words(said, status, Path("said.txt")) == expected


def test_without_submitit_it_says_who_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(jobs.ReportError) as error:
        taking(Fleet("local", (Kind("a", "p"),)), tmp_path).run()
    assert str(error.value) == "this Python lacks submitit, which sends the jobs\n  what to do: use make fleet, which has it installed"
