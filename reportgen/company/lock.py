"""One command at a time writes in a checkout, and measures from it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import ReportError
from .alive import Process, world

POLL = 1.0
"""Seconds between two looks, where the system has no lock to wait at."""


class Busy(ReportError):
    """Another command is at work in this checkout."""


@contextmanager
def held(file: Path, command: str, wait: bool, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock `file` for this process.

    The system lets go of it when the process ends, however it ends, so what a dead process left
    in the file stops nobody. Where the file system has no locks, the process number in the file decides.

    Args:
        command: what this process does, for whoever comes meanwhile.
        wait: wait for the other one to end.

    Raises:
        Busy: another process holds it, and `wait` is false. OSError: the file cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _take(handle, command, wait, say)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _take(handle: int, command: str, wait: bool, say: Callable[[str], None]) -> None:
    told = False
    while not (locked := _lock(handle, block=False)) or (locked is UNSUPPORTED and _other_lives(handle)):
        who = _words(_content(handle))
        if not wait:
            raise Busy(f"{who}", cure="wait until it has ended, or give WAIT=1 and this one waits for it")
        if not told:
            say(f"{who}; waiting for it to end")
            told = True
        if _lock(handle, block=True) is not UNSUPPORTED:
            break
        time.sleep(POLL)
    _write(handle, command)


UNSUPPORTED = "the file system has no locks"


def _lock(handle: int, block: bool) -> bool | str:
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | (0 if block else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return UNSUPPORTED
    return True


def _write(handle: int, command: str) -> None:
    """Who holds it: read by people who come meanwhile."""
    content = json.dumps({"process": str(Process.this()), "world": world(), "command": command, "since": datetime.now().astimezone().isoformat(timespec="seconds")})
    os.ftruncate(handle, 0)
    os.pwrite(handle, content.encode(), 0)


def _content(handle: int) -> Mapping[str, Any]:
    try:
        found = json.loads(os.pread(handle, 10_000, 0))
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def _other_lives(handle: int) -> bool:
    content = _content(handle)
    other = Process.read(str(content.get("process", "")))
    if other is None or content.get("world", world()) != world():
        return other is not None  # on another machine, perhaps; who knows better removes the file
    return other != Process.this() and other.lives


def _words(content: Mapping[str, Any]) -> str:
    """`make report has been running here since 17:03 (process 4711)`."""
    other = Process.read(str(content.get("process", "")))
    try:
        since = datetime.fromisoformat(str(content["since"]))
    except (KeyError, ValueError):
        return "another command is at work in this checkout"
    today = since.date() == datetime.now().date()
    return f"{content.get('command', 'another command')} has been running here since {since:{'%H:%M' if today else '%Y-%m-%d %H:%M'}} (process {other.number if other else '?'})"
