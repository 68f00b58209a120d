"""Work in fresh processes: one at a time, watched, and survived when it crashes.

A fork server that has imported torch makes a process in half a second; where there is none
(Windows), processes are spawned. The child tells what it is doing, so that a crash can be blamed
on the variant that was running.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from ..company import belongings, parents
from ..company.alive import Process, born
from ..errors import CaptureFailed
from . import faults
from .faults import Cause, ChildFailed, Fault

PATIENCE = 300.0
"""Seconds without a sign of life after which a child is given up."""
TICK = 0.5
UNSAID = ("ignore:resource_tracker:UserWarning", "ignore:Failed to initialize NumPy")
"""The compiler's own pool leaves a semaphore to the tracker, which cleans it up and would say so over
the report; and torch works without NumPy here."""
PARTING = 10.0
"""Seconds that a child has to end after it has answered; taking a GPU context down takes a while."""

LONGEST_LINE = 200
KILLED = 10.0
"""Seconds that a killed process has to go; in a driver that hangs it stays."""
PRELOADED = ["reportgen.company.server", "torch"]
"""What the fork server imports; a module that it cannot find is left out."""

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


def start_method() -> str:
    """`forkserver` where there is one, else `spawn`; never `fork`, which CUDA does not survive."""
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def run(target: Callable[..., Any], args: tuple[Any, ...] = (), *, at: At | None = None,
        result: Callable[[Any, Any], None] | None = None, patience: float = PATIENCE) -> Any:
    """Calls `target(report, *args)` in a fresh process and returns what it returns.

    `target` must be a module's function. The child is gone when this returns or raises, also
    after Ctrl-C, so that two never share the device.

    Raises:
        ChildFailed: the child raised, died, gave no sign for `patience` seconds, or could not be started.
    """
    context = _context()
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        child = context.Process(target=_child, args=(theirs, str(said), target, args), daemon=True)
        grace = 0.0
        try:
            _start(child, patience)
            theirs.close()
            value = _listen(ours, child, at or _ignore, result or _ignore, patience)
            grace = PARTING
            return value
        except ChildFailed as failure:
            failure.fault = _with_last_words(failure.fault, _tail(said))
            raise
        finally:
            ours.close()
            _end(child, grace)


def _context() -> Any:
    """The way to make processes; the fork server, if it is the way, is running when this returns.

    The server inherits that Ctrl-C is blocked: it is the parent that ends its children, and a
    server interrupted while it imports torch would print its stack over the parent's message.
    """
    context = multiprocessing.get_context(start_method())
    if start_method() == "forkserver":
        from multiprocessing import forkserver, resource_tracker

        context.set_forkserver_preload(PRELOADED)
        atexit.unregister(_end_server)
        atexit.register(_end_server)
        _place_sockets()
        for rule in UNSAID:
            _unsaid(rule)
        resource_tracker.ensure_running()  # it would lift the block that follows
        former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)  # a Ctrl-C of meanwhile arrives now
    return context


def _place_sockets() -> None:
    """Has the fork server's socket lie where its name is short enough, and in the command's own folder where there is one.

    `multiprocessing` would make a folder of its own, and complain at its end that ours is gone with it.
    """
    config = multiprocessing.process.current_process()._config  # type: ignore[attr-defined]
    if config.get("tempdir") is not None:
        return
    folder = belongings.for_sockets()
    if folder is not None:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        config["tempdir"] = str(folder)
    elif belongings.MARK in os.environ:
        config["tempdir"] = tempfile.gettempdir()


def _unsaid(rule: str) -> None:
    """Adds a rule to the warnings that processes started from here keep to themselves."""
    rules = os.environ.get("PYTHONWARNINGS", "")
    if rule not in rules.split(","):
        os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (rules, rule)))


def _start(child: Any, patience: float) -> None:
    """Starts the child; the fork server, which may have to import torch first, has `patience` seconds to answer.

    Raises:
        ChildFailed: it gave no answer, and was ended; the next child gets a new one.
    """
    late = threading.Timer(patience, _end_server)
    late.daemon = True
    late.start()
    try:
        child.start()
    except (EOFError, OSError) as error:
        silent = not late.is_alive()
        said = f"gave no sign for {patience:.0f} s" if silent else f"is gone ({faults.brief(error)})"
        fault = Fault(Cause.SILENT if silent else Cause.NOT_STARTED, f"the process that starts the others {said}")
        raise ChildFailed(fault, "a new process", "starting") from None
    finally:
        late.cancel()


def _end_server() -> None:
    """Kills the fork server, where there is one: it may be stopped, and this process would wait for it."""
    if start_method() == "forkserver":
        from multiprocessing import forkserver

        number = getattr(forkserver._forkserver, "_forkserver_pid", None)
        if number is not None:
            try:
                os.kill(number, signal.SIGKILL)
            except OSError:
                return


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
        _end_server()
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

