"""A process that can be told from a later one with the same number."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """number: the process id; born: what the system says of its start, `""` where it says nothing."""

    number: int
    born: str

    @classmethod
    def this(cls) -> Process:
        return cls(os.getpid(), born(os.getpid()))

    @classmethod
    def read(cls, text: str) -> Process | None:
        """From `4711.98765`, as `str()` writes it; `None` if it is nothing of the kind."""
        number, _, rest = text.partition(".")
        return cls(int(number), rest) if number.isdigit() else None

    def __str__(self) -> str:
        return f"{self.number}.{self.born}"

    @property
    def lives(self) -> bool:
        """Whether it is still there, and no zombie. Where starts are unknown, the number alone decides."""
        try:
            os.kill(self.number, 0)
        except ProcessLookupError:
            return False
        except (PermissionError, OverflowError):
            pass  # somebody else's
        found = born(self.number)
        return bool(found == self.born or not found) and not _zombie(self.number)


def world() -> str:
    """Where process numbers mean what they mean here: the same in two processes that could know each other.

    A container and the host may share a folder, and a number from there says nothing here.
    """
    try:
        return "".join(sign for sign in os.readlink("/proc/self/ns/pid") if sign.isdigit())
    except OSError:
        return socket.gethostname()


def born(number: int) -> str:
    """The start of a process: ticks since the machine's start on Linux, a time in words elsewhere."""
    fields = _stat(number)
    if fields:
        return fields[19]
    if Path("/proc/self/stat").exists():
        return ""
    try:
        said = subprocess.run(["ps", "-o", "lstart=", "-p", str(number)], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return "-".join(said.stdout.split())


def _zombie(number: int) -> bool:
    fields = _stat(number)
    return bool(fields) and fields[0] in ("Z", "X")


def _stat(number: int) -> list[str]:
    """The fields of /proc/<number>/stat from the state on; the name before it may hold blanks."""
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
