"""Nodes without a GPU, and a Slurm of four small scripts: `sbatch` starts what it is given, `squeue` there is none."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NODE = """
import os, sys, time
sys.path[:0] = [{root!r}, {tests!r}]
from pathlib import Path
import run_builder
from reportgen import run
folder = Path({folder!r})
def note(what):
    with (folder / "log").open("a") as log:
        log.write(f"{name} {{what}}\\n")
def lives(number):
    try:
        return "Z" != open(f"/proc/{{number}}/stat").read().rpartition(")")[2].split()[0]
    except OSError:
        return False
before = (folder / "pids").read_text().split() if (folder / "pids").exists() else []
if any(lives(number) for number in before):
    (folder / "met").write_text({name!r})
(folder / "pids").write_text(" ".join([*before, str(os.getpid())]))
note("begins")
while (folder / "slow").exists():
    time.sleep(0.05)
if (folder / "broken").exists() and {name!r} in (folder / "broken").read_text().split():
    note("fails")
    print("[1/5] survey\\nerror: the GPU of this node is held by another process\\n  what to do: ask who holds it", file=sys.stderr)
    sys.exit(2)
data = run_builder.data(seed=1, slug="nvidia-{name}")
run.save(data, {{name: run_builder.trace(name) for name in data["variants"]}}, Path(sys.argv[sys.argv.index("--into") + 1]))
note("ends")
"""
SBATCH = """#!/bin/sh
cd {folder}
if grep -q -e --partition=nowhere "$1"; then echo "sbatch: error: invalid partition specified: nowhere" >&2; exit 1; fi
number=$(($(cat last) + 1)); echo $number > last; cp "$1" $number.sh; echo PENDING > $number.state
cd "$OLDPWD"
SLURM_JOB_ID=$number setsid sh -c 'while [ -e {folder}/held ]; do sleep 0.05; done
echo RUNNING > {folder}/$SLURM_JOB_ID.state; bash {folder}/$SLURM_JOB_ID.sh; echo COMPLETED > {folder}/$SLURM_JOB_ID.state' > /dev/null 2>&1 &
echo $! > {folder}/$number.pid
echo "Submitted batch job $number"
"""
SRUN = """#!{python}
import os, sys
words = [word.replace("%j", os.environ["SLURM_JOB_ID"]).replace("%t", "0") for word in sys.argv[1:]]
assert words[0] == "--unbuffered" and words[1] == "--output" and words[3] == "--error", words
for number, name in ((1, words[2]), (2, words[4])):
    os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
os.environ.update(SLURM_PROCID="0", SLURM_LOCALID="0", SLURM_NTASKS="1", SLURM_NODEID="0", SLURM_JOB_NUM_NODES="1", CUDA_VISIBLE_DEVICES="0")
os.execv(words[5], words[5:])
"""
SACCT = """#!/bin/sh
echo "JobID|State|NodeList"
for file in {folder}/*.state; do echo "$(basename $file .state)|$(cat $file)|node1"; done
"""
SCANCEL = """#!/bin/bash
kill -TERM -- -$(cat {folder}/$1.pid); echo CANCELLED > {folder}/$1.state; echo $1 >> {folder}/cancelled
"""


def python(folder: Path, name: str) -> str:
    """A Python of a node that writes a made-up run of the device `nvidia-<name>`.

    In `folder`: `log` says who began, ended and failed; `broken` names those that fail; while there is `slow`, all take longer.
    `met` is there if one began while another was at work.
    """
    script, made = folder / f"{name}.py", folder / f"python-{name}"
    script.write_text(NODE.format(root=str(ROOT), tests=str(ROOT / "tests"), folder=str(folder), name=name))
    made.write_text(f'#!/bin/sh\nexec {sys.executable} -E {script} "$@"\n')
    made.chmod(0o755)
    return str(made)


def log(folder: Path) -> list[str]:
    return (folder / "log").read_text().splitlines() if (folder / "log").exists() else []


def slurm(folder: Path, first: int) -> str:
    """Puts a Slurm into `folder`, whose first job has the number `first`; returns a PATH that finds it.

    While there is `held`, jobs wait in the queue. `<number>.sh` is what `sbatch` was given.
    """
    folder.mkdir()
    (folder / "last").write_text(f"{first - 1}\n")
    for name, text in (("sbatch", SBATCH), ("srun", SRUN), ("sacct", SACCT), ("scancel", SCANCEL)):
        (folder / name).write_text(text.format(folder=folder, python=sys.executable))
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def sent(folder: Path) -> Sequence[str]:
    """The numbers of the jobs that this Slurm has taken."""
    return sorted(file.stem for file in folder.glob("*.sh"))


def until(true: Callable[[], bool], seconds: float = 60.0) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


def lose_node(folder: Path, number: str) -> None:
    """The node of a job is gone, and nothing on it says a last word."""
    os.killpg(int((folder / f"{number}.pid").read_text()), signal.SIGKILL)
    (folder / f"{number}.state").write_text("NODE_FAIL\n")
