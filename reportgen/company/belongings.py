"""What a command has of its own: a temporary folder, and the processes that it started.

Both carry the command's mark, so that the next command finds what a killed one left: the folder in
its name, the processes in their environment (Linux shows it).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import ReportError
from .alive import Process, born, world

MARK = "REPORTGEN_OWNER"
"""In the environment of all that a command starts: `<process>/<checkout>/<world>`."""
FOLDER = "rg-"
_OWNER = "owner"
SHORT, LONGEST = "/tmp", 60
"""Characters that a folder may have in which `multiprocessing` makes a folder and a socket: 92 on some systems, less these two."""
ENDING = 5.0
"""Seconds that a killed process has to go."""


@contextmanager
def own(checkout: Path) -> Iterator[None]:
    """Inside, every temporary file of this process and its children lies in one folder, which goes with the command.

    A process that was started by such a command takes part in the command's folder, and removes it
    at its own end if the command has been killed meanwhile.
    """
    owner = os.environ.get(MARK)
    if owner is not None:
        try:
            yield
        finally:
            sweep_folder(Path(tempfile.gettempdir()))
        return
    former, temporary = os.environ.get("TMPDIR"), tempfile.tempdir
    folder = _make(None)
    os.environ[MARK] = f"{Process.this()}/{_name(checkout)}/{world()}"
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        os.environ.pop(MARK, None)
        os.environ.pop("TMPDIR", None)
        if former is not None:
            os.environ["TMPDIR"] = former
        tempfile.tempdir = temporary
        shutil.rmtree(folder, ignore_errors=True)


def _make(below: str | None) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-", dir=below))
    (folder / _OWNER).write_text(f"{Process.this()}/{world()}", encoding="utf-8")
    return folder


def for_sockets() -> Path | None:
    """A folder with a short path, where the temporary one is too long for the name of a socket; `None` where it is not.

    The caller removes it.
    """
    if len(os.fsencode(tempfile.gettempdir())) <= LONGEST or not os.access(SHORT, os.W_OK):
        return None
    return _make(SHORT)


def _name(checkout: Path) -> str:
    return hashlib.sha256(os.fsencode(checkout.resolve())).hexdigest()[:12]


def sweep() -> None:
    """Removes the temporary folders of commands that were killed."""
    for place in {tempfile.gettempdir(), SHORT}:
        for folder in Path(place).glob(f"{FOLDER}*"):
            sweep_folder(folder)


def sweep_folder(folder: Path) -> None:
    """Removes one, if it is ours and its command is gone."""
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid() or not folder.name.startswith(FOLDER):
            return
        process, _, where = (folder / _OWNER).read_text(encoding="utf-8").partition("/")
    except (OSError, UnicodeDecodeError):
        return
    owner = Process.read(process) if where == world() else None
    if owner is not None and not owner.lives:
        shutil.rmtree(folder, ignore_errors=True)


def survivors(checkout: Path) -> list[int]:
    """Processes that a command of this checkout started, and that go on although it has ended; empty where the system does not tell."""
    wanted = f"{MARK}=".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        number = int(entry.name)
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue  # gone, or somebody else's
        mark = next((item[len(wanted):].decode(errors="replace") for item in environment if item.startswith(wanted)), "")
        process, _, place = mark.partition("/")
        owner = Process.read(process) if place == f"{_name(checkout)}/{world()}" else None
        if owner is not None and not owner.lives and number != os.getpid():
            found.append(number)
    return sorted(number for number in found if Process(number, born(number)).lives)


def end_survivors(checkout: Path, say: Callable[[str], None]) -> None:
    """Names and ends what a killed command left running: it would disturb what is measured now.

    Raises:
        ReportError: one does not end.
    """
    left = survivors(checkout)
    if not left:
        return
    say(f"ending what a killed command left running: {', '.join(f'process {number} ({_command(number)})' for number in left)}")
    for number in left:
        try:
            os.kill(number, signal.SIGKILL)
        except OSError:
            continue
    deadline = time.monotonic() + ENDING
    while (left := survivors(checkout)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if left:
        raise ReportError(f"process {left[0]} of a killed command does not end, and would disturb what is measured", cure=f"see what holds it: ps -o stat,wchan,args -p {left[0]}")


def _command(number: int) -> str:
    try:
        return Path(f"/proc/{number}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "gone"
