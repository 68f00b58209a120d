"""Work in fresh processes: one at a time, watched, and survived when it crashes.

A fork server that has imported torch makes a process in half a second; where there is none
(Windows), processes are spawned. The child tells what it is doing, so that a crash can be blamed
on the variant that was running.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import traceback
from multiprocessing.connection import Connection
from typing import Any, Callable

PATIENCE = 300.0
"""Seconds without a sign of life after which a child is given up."""
TICK = 0.5

At = Callable[[str, str], None]


class ChildFailed(Exception):
    """A child raised or died.

    reason: one line for a person; detail: the child's traceback, or `""` where it just died
    subject, phase: what it said it was doing
    """

    def __init__(self, reason: str, subject: str, phase: str, detail: str = "") -> None:
        self.reason, self.subject, self.phase, self.detail = reason, subject, phase, detail
        super().__init__(f"{reason} (while: {subject}, {phase})")


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
        ChildFailed: the child raised, died, or gave no sign for `patience` seconds.
    """
    context = multiprocessing.get_context(start_method())
    if start_method() == "forkserver":
        context.set_forkserver_preload(["torch"])
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_child, args=(theirs, target, args), daemon=True)
    try:
        child.start()
        theirs.close()
        return _listen(ours, child, at or _ignore, result or _ignore, patience)
    finally:
        ours.close()
        if child.pid is not None:
            child.join(timeout=10 if child.exitcode is None and not _failing() else 0)
            if child.exitcode is None:
                child.kill()
                child.join()


def _failing() -> bool:
    import sys

    return sys.exc_info()[0] is not None


def _ignore(*_: Any) -> None:
    return None


def _listen(line: Connection, child: Any, at: At, result: Callable[[Any, Any], None], patience: float) -> Any:
    subject, phase, waited = "a new process", "starting", 0.0
    while True:
        if not line.poll(TICK):
            waited += TICK
            if waited >= patience:
                raise ChildFailed(f"gave no sign for {patience:.0f} s", subject, phase)
            at(subject, phase)
            continue
        waited = 0.0
        try:
            kind, *content = line.recv()
        except EOFError:
            child.join()
            raise ChildFailed(_death(child.exitcode), subject, phase) from None
        if kind == "at":
            subject, phase = content
            at(subject, phase)
        elif kind == "result":
            result(*content)
        elif kind == "error":
            raise ChildFailed(content[0], subject, phase, content[1])
        else:
            return content[0]


def _death(exitcode: int | None) -> str:
    """`the process was killed by SIGSEGV` for −11, and so on."""
    if exitcode is not None and exitcode < 0:
        try:
            return f"the process was killed by {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"the process was killed by signal {-exitcode}"
    return f"the process ended with status {exitcode}"


def _child(line: Connection, target: Callable[..., Any], args: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which ends us
    try:
        line.send(("done", target(Report(line), *args)))
    except BrokenPipeError:
        pass  # the parent is gone, nobody wants the answer
    except BaseException as error:  # noqa: BLE001 - carried to the parent, which decides
        line.send(("error", brief(error), traceback.format_exc()))
    line.close()
    os._exit(0)  # taking torch and its GPU context apart politely costs time and tells nothing


def brief(error: BaseException) -> str:
    """`ValueError: first line of the text`."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
