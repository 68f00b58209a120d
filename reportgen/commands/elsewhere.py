"""A command of this program, run by the Python that has torch."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ..company import parents
from ..errors import CaptureFailed, Told
from ..run.layout import Layout
from .interruption import interrupted

CTRL_C, TERMINATED = 1.0, 20.0
"""Seconds that the process has to clean up after a Ctrl-C that it shares, and after SIGTERM."""
STATUS = "{status}"
"""Where the exit status stands in what is told of a failure."""


def answer(python: str, arguments: list[str], layout: Layout, failed: str, cure: str) -> Path:
    """The path in the last line that the command prints; its progress streams through.

    Args:
        failed, cure: what is told where it ends without an answer; `STATUS` in `failed` becomes its exit status

    Raises:
        Told: it refused, and has said why.
        CaptureFailed: it ended without an answer in another way.
    """
    environment = parents.followed({name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"})
    try:
        child = subprocess.Popen([python, "-m", "reportgen", *arguments], cwd=layout.root, stdout=subprocess.PIPE, env=environment)
    except OSError as error:
        raise CaptureFailed(f"{python} cannot be run ({error.strerror})", cure="name the Python that has torch: --capture-python") from None
    try:
        said, _ = child.communicate()
    except KeyboardInterrupt:
        _await(child)
        raise
    if interrupted(child.returncode):
        raise KeyboardInterrupt
    if child.returncode == 2:
        raise Told
    if child.returncode or not said.strip():
        raise CaptureFailed(failed.replace(STATUS, str(child.returncode)), cure=cure)
    return Path(os.fsdecode(said.strip().splitlines()[-1]))


def _await(child: subprocess.Popen[bytes]) -> None:
    """Ctrl-C has reached the child as well, `kill` has not; either way it must have cleaned up before we leave."""
    for patience, end in ((CTRL_C, child.terminate), (TERMINATED, child.kill)):
        try:
            child.wait(patience)
            return
        except subprocess.TimeoutExpired:
            end()
    child.wait()
