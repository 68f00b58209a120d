"""What may go wrong in a child, as values that cross the process border: no text is parsed to learn what happened."""

from __future__ import annotations

import signal
import traceback
from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class Cause(Enum):
    """Why a child gave no answer."""

    RAISED = "it raised an exception"
    POISONED = "the device no longer answers"
    GRAPHS = "capturing a CUDA graph left the device unusable"
    KILLED = "a signal ended it"
    OUT_OF_MEMORY = "the kernel ended it because memory ran out"
    ENDED = "it ended without an answer"
    SILENT = "it gave no sign for too long"
    NOT_STARTED = "no process could be started"

    @property
    def may_pass(self) -> bool:
        """Whether the same work may well go through in another process."""
        return self in (Cause.KILLED, Cause.ENDED, Cause.NOT_STARTED)


@dataclass(frozen=True)
class Fault:
    """Why a child gave no answer.

    reason: one line for a person
    detail: its traceback, or the end of what it wrote to standard error
    """

    cause: Cause
    reason: str
    detail: str = ""


class ChildFailed(Exception):
    """A child gave no answer. subject, phase: what it said it was doing."""

    def __init__(self, fault: Fault, subject: str, phase: str) -> None:
        self.fault, self.subject, self.phase = fault, subject, phase
        super().__init__(f"{fault.reason} (while: {subject}, {phase})")

    @property
    def cause(self) -> Cause:
        return self.fault.cause

    @property
    def reason(self) -> str:
        return self.fault.reason


class Spoiled(Exception):
    """Raised inside a child whose device can no longer be used; only a new process can go on."""

    cause = Cause.POISONED


class GraphsSpoil(Spoiled):
    """The same, and it was a CUDA graph that did it."""

    cause = Cause.GRAPHS


def of(error: BaseException) -> Fault:
    """What a child tells of an exception that nobody caught."""
    return Fault(_cause(error), brief(error), traceback.format_exc())


def _cause(error: BaseException) -> Cause:
    return error.cause if isinstance(error, Spoiled) else Cause.RAISED


def brief(error: BaseException) -> str:
    """`ValueError: first line of the text`; of our own exceptions the text alone."""
    lines = str(error).strip().splitlines()
    if isinstance(error, Spoiled) and lines:
        return lines[0]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def of_death(exitcode: int | None, out_of_memory: bool = False) -> Fault:
    """`the process was killed by SIGSEGV` for −11, and so on. out_of_memory: the kernel ended processes meanwhile."""
    if exitcode is None:
        return Fault(Cause.ENDED, "the process closed its line and did not end")
    if exitcode >= 0:
        return Fault(Cause.ENDED, f"the process ended with status {exitcode}")
    try:
        name = signal.Signals(-exitcode).name
    except ValueError:
        name = f"signal {-exitcode}"
    if out_of_memory and -exitcode == signal.SIGKILL:
        return Fault(Cause.OUT_OF_MEMORY, f"the process was killed by {name}, because the machine ran out of memory")
    return Fault(Cause.KILLED, f"the process was killed by {name}")


def ended_for_memory(files: tuple[Path, ...] = (Path("/proc/vmstat"), Path("/sys/fs/cgroup/memory.events"))) -> int:
    """How many processes the kernel has ended so far because memory ran out, on this machine and in this container."""
    found = 0
    for file in files:
        try:
            lines = file.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue
        found += sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    return found
