"""Work in fresh processes: one at a time, watched, and survived when it crashes.

A fork server that has imported torch makes a process in half a second; where there is none
(Windows), processes are spawned. The child tells what it is doing, so that a crash can be blamed
on the variant that was running.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..company import parents
from ..company.alive import Process, born
from ..errors import CaptureFailed
from . import faults, fork_server
from .faults import Cause, ChildFailed, Fault

PATIENCE = 300.0
"""Seconds without a sign of life after which a child is given up."""
TICK = 0.5
PARTING = 10.0
"""Seconds that a child has to end after it has answered; taking a GPU context down takes a while."""

LONGEST_LINE = 200
KILLED = 10.0
"""Seconds that a killed process has to go; in a driver that hangs it stays."""
At = Callable[[str, str], None]


class Report:
    """The child's line to its parent. Nothing is sent inside a timed block."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def at(self, subject: str, phase: str) -> None:
        """What is about to happen: a variant's id or another subject, and the phase in words."""
        self._connection.send(("at", subject, phase))

    def result(self, key: Any, value: Any) -> None:
        """Hands a part over at once, so that a later crash does not lose it."""
        self._connection.send(("result", key, value))


class Started:
    """A fresh process at work on `target(report, *args)`. Whoever starts one must `listen` to it or `give_up`: both end it."""

    def __init__(self, target: Callable[..., Any], args: tuple[Any, ...] = (), patience: float = PATIENCE) -> None:
        """patience: seconds that starting it may take.

        Raises:
            ChildFailed: it could not be started.
        """
        context = fork_server.context()
        self._line, theirs = context.Pipe(duplex=False)
        self._folder = tempfile.TemporaryDirectory()
        self._said = Path(self._folder.name) / "said"
        self._child = context.Process(target=_child, args=(theirs, str(self._said), target, args), daemon=True)
        try:
            fork_server.start(self._child, patience)
            theirs.close()
        except BaseException:
            self.give_up()
            raise

    def listen(self, at: At, result: Callable[[Any, Any], None], patience: float = PATIENCE) -> Any:
        """What the target returns; the process is gone when this returns or raises, also after Ctrl-C.

        Raises:
            ChildFailed: it raised, died, or gave no sign for `patience` seconds.
        """
        grace = 0.0
        try:
            value = _listen(self._line, self._child, at, result, patience)
            grace = PARTING
            return value
        except ChildFailed as failure:
            failure.fault = _with_last_words(failure.fault, _tail(self._said))
            raise
        finally:
            self._end(grace)

    def give_up(self) -> None:
        """Ends it, wherever it is."""
        self._end(0.0)

    def _end(self, grace: float) -> None:
        self._line.close()
        try:
            _end(self._child, grace)
        finally:
            self._folder.cleanup()


def run(target: Callable[..., Any], args: tuple[Any, ...] = (), *, at: At | None = None,
        result: Callable[[Any, Any], None] | None = None, patience: float = PATIENCE) -> Any:
    """Calls `target(report, *args)` in a fresh process and returns what it returns.

    `target` must be a module's function. The child is gone when this returns or raises, also
    after Ctrl-C, so that two never share the device.

    Raises:
        ChildFailed: the child raised, died, gave no sign for `patience` seconds, or could not be started.
    """
    return Started(target, args, patience).listen(at or _ignore, result or _ignore, patience)


def _end(child: Any, grace: float) -> None:
    """Waits `grace` seconds for the child to go, then makes it go.

    Raises:
        CaptureFailed: it cannot be made to go, and two never share the device.
    """
    if child.pid is None:
        return
    known = Process(child.pid, born(child.pid))
    child.join(grace)
    if child.exitcode is None:
        child.kill()
        child.join(KILLED)
    if child.exitcode is None:  # only the fork server can tell, and it does not
        fork_server.end()
        if known.lives:
            raise CaptureFailed(f"process {known.number} was killed and does not go, so nothing more can be measured",
                                cure=f"see what holds it (ps -o stat,wchan,args -p {known.number}); a driver that hangs needs a restart of the machine")


_said: Path | None = None
"""In a child: the file that its standard error goes to."""


def said() -> str:
    """In a child: what it and the libraries in it have written to standard error so far."""
    try:
        return _said.read_text(encoding="utf-8", errors="replace") if _said else ""
    except OSError:
        return ""


def _tail(file: Path, lines: int = 20) -> str:
    """The last lines that the child wrote to its standard error; libraries say there why they died."""
    try:
        return "\n".join(file.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
    except OSError:
        return ""


def _with_last_words(fault: Fault, said: str) -> Fault:
    """`the process was killed by SIGABRT; its last line: terminate called …`, unless it told more itself."""
    if fault.detail:
        return fault
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("STAGE:")]
    reason = f"{fault.reason}; its last line: {lines[-1][:LONGEST_LINE]}" if lines else fault.reason
    return replace(fault, reason=reason, detail=said)


def _ignore(*_: Any) -> None:
    return None


def _listen(line: Connection, child: Any, at: At, result: Callable[[Any, Any], None], patience: float) -> Any:
    subject, phase, waited = "a new process", "starting", 0.0
    ended_before = faults.ended_for_memory()
    while True:
        if not line.poll(TICK):
            waited += TICK
            if waited >= patience:
                raise ChildFailed(Fault(Cause.SILENT, f"gave no sign for {patience:.0f} s"), subject, phase)
            at(subject, phase)
            continue
        waited = 0.0
        try:
            kind, *content = line.recv()
        except (EOFError, ConnectionResetError):
            child.join(PARTING)
            raise ChildFailed(faults.of_death(child.exitcode, faults.ended_for_memory() > ended_before), subject, phase) from None
        if kind == "at":
            subject, phase = content
            at(subject, phase)
        elif kind == "result":
            result(*content)
        elif kind == "error":
            raise ChildFailed(content[0], subject, phase)
        else:
            return content[0]


def _child(line: Connection, said: str, target: Callable[..., Any], args: tuple[Any, ...]) -> None:
    global _said
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends us
    _said = Path(said)
    parents.at_parents_end(signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        parents.end_with(parent.sentinel)
    # the profiler and the CUDA libraries write to the descriptor itself, across the progress line
    try:
        os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), 2)
    except OSError:
        os._exit(1)  # the parent has gone and taken the folder along
    try:
        line.send(("done", target(Report(line), *args)))
    except BrokenPipeError:
        pass  # the parent is gone, nobody wants the answer
    except BaseException as error:  # noqa: BLE001 - carried to the parent, which decides
        line.send(("error", faults.of(error)))
    line.close()
    os._exit(0)  # taking torch and its GPU context apart politely costs time and tells nothing

