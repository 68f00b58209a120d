"""One job per kind, sent by submitit: what is there already is not taken again, and what waits in a queue is waited for again."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .. import run as run_room
from ..company.alive import Process
from ..errors import ReportError
from ..saying import signs
from . import node
from .plan import SPARE, Fleet, Kind

POLL, ASKED = 0.5, 60.0
"""Seconds between two looks for answers, and between two questions to Slurm."""
PATIENCE = 30.0
"""Seconds in which what is cancelled must have ended."""
CODE = Path(__file__).resolve().parents[2]
VISIBLE = "CUDA_VISIBLE_DEVICES"
AGAIN = "then give the same command again"


@dataclass(frozen=True)
class Outcome:
    """What became of a kind.

    folder: of its run; problem, cure: why there is none; seconds: on the node
    there: an earlier command has taken it; merged: and merged it
    """

    kind: Kind
    folder: Path | None = None
    problem: str = ""
    cure: str = ""
    there: bool = False
    merged: bool = False
    seconds: float | None = None


@dataclass
class Taking:
    """Takes the kinds of a fleet.

    work: an ignored folder of the checkout `root`, the same in every command, which the nodes see as well
    say: progress, a line each; anew: also what was taken already
    """

    fleet: Fleet
    root: Path
    work: Path
    say: Callable[[str], None]
    anew: bool = False
    poll: float = POLL
    _sent: dict[str, Any] = field(default_factory=dict)
    _asked: float = float("-inf")

    def run(self) -> list[Outcome]:
        """Every kind, in order. On a cluster all jobs wait at once; on one machine they run one after another, so that no two meet on a GPU.

        Raises:
            ReportError: there is no submitit, or no Slurm.
        """
        self._look()
        found: dict[str, Outcome] = {}
        try:
            for kind in self.fleet.kinds:
                found.update(self._begun(kind))
                while self.fleet.cluster == "local" and self._sent:
                    found.update(self._ended())
            while self._sent:
                found.update(self._ended())
        except KeyboardInterrupt:
            if self.fleet.cluster == "local":
                for name, job in self._sent.items():
                    self._cancel(self.work / name, job)
            raise
        return [found[kind.name] for kind in self.fleet.kinds]

    def mark_merged(self, outcome: Outcome) -> None:
        """The next command leaves this run alone, for what is recorded may be newer by then."""
        (self.work / outcome.kind.name / "merged").touch()

    def _look(self) -> None:
        try:
            import submitit  # noqa: F401
        except ModuleNotFoundError:
            raise ReportError("this Python lacks submitit, which sends the jobs", cure="use make fleet, which has it installed") from None
        lacking = next((name for name in ("sbatch", "srun", "sacct") if not shutil.which(name)), None)
        if self.fleet.cluster == "slurm" and lacking:
            raise ReportError(f"there is no Slurm here: {lacking} is missing", cure='give the command on a login node, or write cluster = "local" for the kinds of this machine')

    def _begun(self, kind: Kind) -> dict[str, Outcome]:
        """Finds what is there, or the job that an earlier command has sent, or sends one. Empty where a job is waited for."""
        folder = self.work / kind.name
        asked = {"cluster": self.fleet.cluster, **json.loads(json.dumps(asdict(kind)))}
        same = not self.anew and _json(folder / "asked.json") == asked
        earlier = self._earlier(folder)
        if same and (run := whole(folder / "run")) is not None:
            return {kind.name: Outcome(kind, run, there=True, merged=(folder / "merged").exists())}
        if earlier is not None and same:
            self._sent[kind.name] = earlier
            self.say(f"{kind.name}: waiting for job {earlier.job_id}, which an earlier command has sent")
            return {}
        if earlier is not None:
            self._cancel(folder, earlier)
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        (folder / "asked.json").write_text(json.dumps(asked), encoding="utf-8")
        try:
            with contextlib.chdir(CODE):  # where the job finds `node`
                job = executor(self.fleet.cluster, folder / "logs", kind).submit(node.profile, kind.command((folder / "run").resolve()), str(self.root), str(folder.resolve()),
                                                                                60.0 * kind.minutes, **self._here())
        except Exception as error:  # submitit has no class for what `sbatch` says, and it costs this kind alone
            return {kind.name: Outcome(kind, problem=f"the job was not taken: {_one_line(str(error))}", cure=f"mend kinds.{kind.name} in the file, {AGAIN}")}
        self._sent[kind.name] = job
        self.say(f"{kind.name}: job {job.job_id} is sent; what it says: {folder / 'said.txt'}")
        return {}

    def _here(self) -> dict[str, Any]:
        """On this machine a job ends with this command, and sees the GPUs that this command sees: submitit hides those it did not give."""
        return {"owner": str(Process.this()), "environment": {VISIBLE: os.environ.get(VISIBLE)}} if self.fleet.cluster == "local" else {}

    def _earlier(self, folder: Path) -> Any | None:
        """The job in Slurm's queue, or on a node, or ended, whose answer nobody has read. On one machine none outlives its command."""
        import submitit

        found = sorted((folder / "logs").glob("*_submitted.pkl"))
        return submitit.SlurmJob(folder / "logs", found[-1].name.removesuffix("_submitted.pkl")) if found and self.fleet.cluster == "slurm" else None

    def _ended(self) -> dict[str, Outcome]:
        """The kinds whose jobs have ended meanwhile."""
        time.sleep(self.poll)
        force = time.monotonic() - self._asked > ASKED
        if force:
            self._asked = time.monotonic()
        found = {}
        for number, (name, job) in enumerate(list(self._sent.items())):
            if job.done(force_check=force and number == 0):  # one question to Slurm is about all of them
                kind = next(one for one in self.fleet.kinds if one.name == name)
                found[name] = self._outcome(kind, job)
                del self._sent[name]
                self.say(f"{name}: {'taken' if found[name].folder else 'failed'}")
        return found

    def _outcome(self, kind: Kind, job: Any) -> Outcome:
        folder = self.work / kind.name
        try:
            told = job.result()
        except Exception:  # a node that is lost, a job that was cancelled: submitit has many, and each costs its kind alone
            told = None
        job.paths.submitted_pickle.unlink(missing_ok=True)  # its answer is read; the next command sends another
        if told is None:
            last = next((line for line in reversed((job.stderr() or "").splitlines()) if line.strip()), "")
            return Outcome(kind, problem=f"the job ended without an answer (state {job.state}{'; its last line: ' if last else ''}{_one_line(last)})",
                           cure=f"see {folder / 'logs'}; the node must see this checkout and the Python of its .venv; {AGAIN}")
        run = whole(folder / "run")
        if told["status"] == 0 and run is not None:
            return Outcome(kind, run, seconds=told["seconds"])
        if told["late"]:
            return Outcome(kind, problem=f"profiling was ended after {kind.minutes} minutes", cure=f"raise minutes of kinds.{kind.name}, {AGAIN}", seconds=told["seconds"])
        return Outcome(kind, None, *own_words(told["said"], told["status"], folder / "said.txt"), seconds=told["seconds"])

    def _cancel(self, folder: Path, job: Any) -> None:
        """Ends a job, and waits until it has ended: it must not disturb the next one."""
        if self.fleet.cluster == "slurm":
            with contextlib.suppress(Exception):  # it may have ended meanwhile
                job.cancel(check=False)
        told, lives = None, self.fleet.cluster == "local"
        deadline = time.monotonic() + PATIENCE
        while (lives or not job.done(force_check=True)) and time.monotonic() < deadline:
            process = Process.read(_text(folder / "process")) if self.fleet.cluster == "local" else None
            lives = process is not None and process.lives
            if lives and process is not None and process != told:
                told = process  # profiling cleans up; a second signal would break that off
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.number, signal.SIGTERM)
            time.sleep(self.poll if self.fleet.cluster == "local" else 5 * self.poll)


def executor(cluster: str, folder: Path, kind: Kind) -> Any:
    """submitit's executor for one kind. Its Python is the pages' own, without what a container set for another one (`-E`)."""
    import submitit

    python = f"{shlex.quote(sys.executable)} -E"
    if cluster == "local":
        local = submitit.LocalExecutor(folder, python=python)
        local.update_parameters(timeout_min=int(kind.minutes) + SPARE)
        return local
    slurm = submitit.SlurmExecutor(folder, python=python)
    slurm.update_parameters(**kind.slurm())
    return slurm


def own_words(said: str, status: int, file: Path) -> tuple[str, str]:
    """What is wrong, and what to do, from the end of a standard error: our own last two lines, where it ended with our error's status.

    >>> own_words("[1/4] timing\\nerror: no GPU here\\n  what to do: name another node\\n", 2, Path("said.txt"))
    ('no GPU here', 'name another node')
    """
    lines = said.splitlines()
    place = max((number for number, line in enumerate(lines) if line.startswith("error: ")), default=None)
    if place is None or status != 2:
        last = next((line for line in reversed(lines) if line.strip()), "it said nothing")
        how = f"was ended by {signal.Signals(-status).name}" if -status in set(signal.Signals) else f"ended with status {status}"
        return f"profiling {how}: {_one_line(last)}", f"see {file}, {AGAIN}"
    cure = next((line.partition(": ")[2] for line in lines[place + 1:] if line.startswith("  what to do: ")), f"see {file}, {AGAIN}")
    return _one_line(lines[place].removeprefix("error: ")), _one_line(cure)


def whole(folder: Path) -> Path | None:
    """The run below `folder` that can be read; `None` where there is none."""
    for found in run_room.discover(folder) if folder.is_dir() else ():
        with contextlib.suppress(ReportError):
            run_room.load(found)
            return found
    return None


def _one_line(text: str) -> str:
    """A stranger's words for our terminal."""
    return signs.shown("; ".join(line.strip() for line in text.splitlines() if line.strip()))[:400]


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _json(file: Path) -> Any:
    try:
        return json.loads(_text(file))
    except ValueError:
        return None
