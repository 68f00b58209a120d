"""The fork server: a process that has imported torch and makes another one in half a second; where there is none (Windows), processes are spawned."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from typing import Any

from ..company import belongings
from . import faults
from .faults import Cause, ChildFailed, Fault

UNSAID = ("ignore:resource_tracker:UserWarning", "ignore:Failed to initialize NumPy")
"""The compiler's own pool leaves a semaphore to the tracker, which cleans it up and would say so over
the report; and torch works without NumPy here."""
PRELOADED = ["reportgen.company.server", "torch", "torch.nn.attention", "reportgen.capture.evidence"]
"""What the fork server imports, for each child would take 0.2 s for it; a module that it cannot find is left out."""


def start_method() -> str:
    """`forkserver` where there is one, else `spawn`; never `fork`, which CUDA does not survive."""
    return "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def context() -> Any:
    """The way to make processes; the fork server, if it is the way, is running when this returns.

    The server inherits that Ctrl-C is blocked: it is the parent that ends its children, and a
    server interrupted while it imports torch would print its stack over the parent's message.
    """
    found = multiprocessing.get_context(start_method())
    if start_method() == "forkserver":
        from multiprocessing import forkserver, resource_tracker

        found.set_forkserver_preload(PRELOADED)
        atexit.unregister(end)
        atexit.register(end)
        _place_sockets()
        for rule in UNSAID:
            _unsaid(rule)
        resource_tracker.ensure_running()  # it would lift the block that follows
        former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            forkserver.ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, former)  # a Ctrl-C of meanwhile arrives now
    return found


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


def start(child: Any, patience: float) -> None:
    """Starts the child; the fork server, which may have to import torch first, has `patience` seconds to answer.

    Raises:
        ChildFailed: it gave no answer, and was ended; the next child gets a new one.
    """
    late = threading.Timer(patience, end)
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


def end() -> None:
    """Kills the fork server, where there is one: it may be stopped, and this process would wait for it."""
    if start_method() == "forkserver":
        from multiprocessing import forkserver

        number = getattr(forkserver._forkserver, "_forkserver_pid", None)
        if number is not None:
            try:
                os.kill(number, signal.SIGKILL)
            except OSError:
                return
