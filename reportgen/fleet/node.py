"""What a job does on its node. submitit calls it there by its name, so it needs nothing but this package and the standard library."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..company import belongings, parents
from ..company.alive import Process, born

POLL, TERMINATED = 0.2, 20.0
"""Seconds between two looks, and those that profiling has to clean up after SIGTERM."""
KEPT = 8000
"""Bytes of the end of standard error that come back."""


def profile(command: list[str], root: str, folder: str, seconds: float, owner: str | None = None, environment: Mapping[str, str | None] | None = None) -> dict[str, Any]:
    """Runs `command` in the checkout `root` and says how it ended; nothing is raised for what profiling does, so that its words survive.

    Args:
        folder: of this kind, on the shared disk: standard error goes to `said.txt` in it, the number of the process to `process`
        seconds: that it may take; then it is ended
        owner: on the machine of the command that waits: the process that this one does not outlive
        environment: variables that are set, or with `None` taken away

    Returns:
        status: the exit status, negative for a signal; late: it took too long; said: the end of its standard error; seconds: it took
    """
    began, late = time.monotonic(), False
    said = Path(folder) / "said.txt"
    try:
        with said.open("wb") as errors:
            child = subprocess.Popen(command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors,
                                     env=_environment(os.environ, environment or {}, owner), preexec_fn=_ended_with_parent)
    except OSError as error:
        return {"status": 2, "late": False, "said": f"error: {command[0]} cannot be run ({error.strerror})\n  what to do: name another python, or container, for this kind\n",
                "seconds": 0.0}
    try:
        (Path(folder) / "process").write_text(f"{child.pid}.{born(child.pid)}", encoding="utf-8")
        waiting = Process.read(owner) if owner else None
        while child.poll() is None and not late:
            time.sleep(POLL)
            late = time.monotonic() - began > seconds
            if waiting is not None and not waiting.lives:
                break
    finally:
        _end(child)
    return {"status": child.returncode, "late": late, "said": said.read_bytes()[-KEPT:].decode(errors="replace"), "seconds": time.monotonic() - began}


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(TERMINATED)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _ended_with_parent() -> None:
    """A job that is cancelled takes profiling with it. A container's program may stand between, so the parent's number cannot be asked for."""
    parents.at_parents_end(signal.SIGTERM)


def _environment(here: Mapping[str, str], changes: Mapping[str, str | None], owner: str | None) -> dict[str, str]:
    """What the job was sent with, less what means something on the sender's machine only: its temporary folder, its mark, whom it follows."""
    drop = {parents.PARENT, "PYTHONSAFEPATH"}
    if owner is None:
        drop |= {belongings.MARK} | ({"TMPDIR"} if Path(here.get("TMPDIR", "")).name.startswith(belongings.FOLDER) else set())
    found = {**{name: value for name, value in here.items() if name not in drop}, **changes}
    return {name: value for name, value in found.items() if value is not None}
