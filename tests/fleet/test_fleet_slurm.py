"""What Slurm is asked for, and what becomes of its jobs; Slurm is four scripts here, submitit is the real one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import fleet_doubles as doubles
import pytest

from reportgen.errors import ReportError
from reportgen.fleet import jobs
from reportgen.fleet.plan import Fleet, Kind

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.usefixtures("submitit_here")
SBATCH = """#!/bin/bash

# Parameters
#SBATCH --account=team
#SBATCH --error=LOGS/%j_0_log.err
#SBATCH --exclusive
#SBATCH --gres=gpu:h200:1
#SBATCH --job-name=reportgen-h200
#SBATCH --mem=0
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --open-mode=append
#SBATCH --output=LOGS/%j_0_log.out
#SBATCH --partition=h200
#SBATCH --signal=USR2@90
#SBATCH --time=50

# setup
module load apptainer

# command
export SUBMITIT_EXECUTOR=slurm
srun --unbuffered --output LOGS/%j_%t_log.out --error LOGS/%j_%t_log.err PYTHON -E -u -m submitit.core._submit LOGS
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """The folder of a Slurm whose jobs have numbers that no other test has: submitit remembers how a job ended."""
    first = 1000 * (1 + [item.name for item in request.session.items].index(request.node.name))
    folder = tmp_path / "slurm"
    monkeypatch.setenv("PATH", doubles.slurm(folder, first))
    return folder


@pytest.fixture
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """submitit waits a quarter of a minute for the answer of a job that has ended without one: disks are slow."""
    import submitit

    monkeypatch.setattr(submitit.Job, "_results_timeout_s", 0)


def taking(folder: Path, *kinds: Kind, say: Callable[[str], None] = lambda line: None) -> jobs.Taking:
    return jobs.Taking(Fleet("slurm", kinds), ROOT, folder / "fleet", say, poll=0.05)


def test_what_sbatch_is_given(tmp_path: Path, slurm: Path):
    kind = Kind("h200", doubles.python(tmp_path, "h200"), partition="h200", gres="gpu:h200:1", account="team", minutes=45, setup=("module load apptainer",))
    (slurm / "module").write_text("#!/bin/sh\n")
    (slurm / "module").chmod(0o755)
    (outcome,) = taking(tmp_path, kind).run()
    (number,) = doubles.sent(slurm)
    assert (slurm / f"{number}.sh").read_text().replace(str(tmp_path / "fleet" / "h200" / "logs"), "LOGS").replace(sys.executable, "PYTHON") == SBATCH
    assert outcome.folder == tmp_path / "fleet" / "h200" / "run" / "nvidia-h200" / "article"


def test_all_wait_at_once_and_one_that_slurm_refuses_costs_itself(tmp_path: Path, slurm: Path):
    (slurm / "held").touch()
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line.split(";")[0])
        if line.startswith("three: job"):  # all are in the queue
            assert doubles.log(tmp_path) == []
            (slurm / "held").unlink()

    kinds = [Kind(name, doubles.python(tmp_path, name), partition="nowhere" if name == "two" else None) for name in ("one", "two", "three")]
    (tmp_path / "broken").write_text("three")
    one, two, three = taking(tmp_path, *kinds, say=say).run()
    assert one.folder is not None
    assert (two.problem, two.cure) == ("the job was not taken: sbatch: error: invalid partition specified: nowhere", "mend kinds.two in the file, then give the same command again")
    assert (three.problem, three.cure) == ("the GPU of this node is held by another process", "ask who holds it")
    assert len(doubles.sent(slurm)) == 2 and sorted(said[2:]) == ["one: taken", "three: failed"]


def test_a_command_that_was_ended_leaves_its_job_in_the_queue_and_the_next_one_waits_for_it(tmp_path: Path, slurm: Path):
    kind = Kind("one", doubles.python(tmp_path, "one"))
    (slurm / "held").touch()

    def stop(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taking(tmp_path, kind, say=stop).run()
    (number,) = doubles.sent(slurm)
    said: list[str] = []

    def go(line: str) -> None:
        said.append(line)
        (slurm / "held").unlink(missing_ok=True)

    (outcome,) = taking(tmp_path, kind, say=go).run()
    assert outcome.folder is not None and not outcome.there
    assert said == [f"one: waiting for job {number}, which an earlier command has sent", "one: taken"]
    assert list(doubles.sent(slurm)) == [number] and doubles.log(tmp_path) == ["one begins", "one ends"]


def test_what_came_while_nobody_waited_is_there(tmp_path: Path, slurm: Path):
    kind = Kind("one", doubles.python(tmp_path, "one"))

    def stop(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taking(tmp_path, kind, say=stop).run()
    doubles.until(lambda: doubles.log(tmp_path) == ["one begins", "one ends"])
    (outcome,) = taking(tmp_path, kind).run()
    assert outcome.there and len(doubles.sent(slurm)) == 1


def test_a_kind_that_is_asked_for_otherwise_takes_its_queued_job_back(tmp_path: Path, slurm: Path):
    python = doubles.python(tmp_path, "one")
    (slurm / "held").touch()

    def stop(line: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        taking(tmp_path, Kind("one", python), say=stop).run()
    (slurm / "held").unlink()
    (first,) = doubles.sent(slurm)
    (outcome,) = taking(tmp_path, Kind("one", python, minutes=10)).run()
    assert outcome.folder is not None
    assert (slurm / "cancelled").read_text().split() == [first] and len(doubles.sent(slurm)) == 2


@pytest.mark.usefixtures("no_patience")
def test_a_job_whose_node_is_lost_costs_its_kind_and_the_next_command_sends_another(tmp_path: Path, slurm: Path):
    kind = Kind("one", doubles.python(tmp_path, "one"))
    (tmp_path / "slow").touch()

    def lose(line: str) -> None:
        if "is sent" in line:
            doubles.until(lambda: doubles.log(tmp_path) == ["one begins"])
            doubles.lose_node(slurm, *doubles.sent(slurm))

    (outcome,) = taking(tmp_path, kind, say=lose).run()
    assert outcome.problem == "the job ended without an answer (state NODE_FAIL)"
    assert outcome.cure == f"see {tmp_path}/fleet/one/logs; the node must see this checkout and the Python of its .venv; then give the same command again"
    (tmp_path / "slow").unlink()
    (again,) = taking(tmp_path, kind).run()
    assert again.folder is not None and len(doubles.sent(slurm)) == 2


def test_where_there_is_no_slurm_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ReportError) as error:
        taking(tmp_path, Kind("one", "python3")).run()
    assert str(error.value) == 'there is no Slurm here: sbatch is missing\n  what to do: give the command on a login node, or write cluster = "local" for the kinds of this machine'
