"""The disk: whether there is room before time is spent, and what went wrong in words."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ReportError
from ..saying.units import Bytes

PROBE = 4096
"""Bytes that are written to see whether a folder takes any: a quota that is used up shows only then."""
_ROOM = "make room on that disk"
_RIGHTS = "give yourself the right to write there (`chown`, if a container wrote as root), or use a checkout of your own"
_WORDS = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("your quota on this disk is used up", _ROOM),
    errno.EFBIG: ("the file would be larger than this process may write", "raise the limit: `ulimit -f unlimited`"),
    errno.EROFS: ("the disk is read-only", "use a checkout on a disk that can be written"),
    errno.EACCES: ("permission denied", _RIGHTS),
    errno.EPERM: ("permission denied", _RIGHTS),
    errno.EIO: ("the disk reports an error", "see `dmesg`, and use another disk"),
    errno.EMFILE: ("this process may not open more files", "raise the limit: `ulimit -n 1024`"),
    errno.ENOENT: ("it is not there (any more)", "see who else works in this folder; then run the command again"),
    errno.ESTALE: ("the network disk has lost it", "mount that disk again"),
}


@dataclass(frozen=True)
class Need:
    """A folder that will be written to, and about how many bytes. otherwise: what else than making room would do."""

    folder: Path
    size: int
    otherwise: str = ""


def explain(error: OSError, shown: Path | None = None) -> tuple[str, str]:
    """What is wrong, with the file, and what to do.

    Args:
        shown: the folder that paths are shown relative to.
    """
    problem, cure = _WORDS.get(error.errno or 0, (error.strerror or str(error) or type(error).__name__, "mend that, then run the command again"))
    return f"{_place(error, shown)}{problem}", cure


def _place(error: OSError, shown: Path | None) -> str:
    if not isinstance(error.filename, (str, bytes, os.PathLike)):
        return ""
    file = Path(os.fsdecode(error.filename))
    return f"{file.relative_to(shown) if shown and file.is_relative_to(shown) else file}: "


def ready(needs: Sequence[Need], shown: Path | None = None) -> None:
    """Looks whether every folder takes a file, and whether its disk has the room.

    Raises:
        ReportError: one does not, or has not; nothing has been spent on profiling.
    """
    for need in needs:
        try:
            try_folder(need.folder)
        except OSError as error:
            problem, cure = explain(error)
            place = need.folder.relative_to(shown) if shown and need.folder.is_relative_to(shown) else need.folder
            raise ReportError(f"cannot be written to, so nothing was profiled: {problem.rpartition(': ')[2]}", where=str(place),
                              cure=f"{cure}{need.otherwise}") from None
    by_disk: dict[int, list[Need]] = {}
    for need in needs:
        by_disk.setdefault(os.stat(need.folder).st_dev, []).append(need)
    for shared in by_disk.values():
        free, wanted = shutil.disk_usage(shared[0].folder).free, sum(need.size for need in shared)
        if free < wanted:
            place = shared[0].folder
            raise ReportError(f"the disk has room for {Bytes(free)}, and about {Bytes(wanted)} will be written; nothing was profiled",
                              where=str(place.relative_to(shown) if shown and place.is_relative_to(shown) else place), cure=f"{_ROOM}{shared[0].otherwise}")


def try_folder(folder: Path) -> None:
    """Writes a small file into `folder`, which is made if need be, and removes it. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f".probe-{os.getpid()}"
    try:
        with open(file, "wb") as handle:
            handle.write(b"\0" * PROBE)
            handle.flush()
            os.fsync(handle.fileno())
    finally:
        file.unlink(missing_ok=True)


def size(folder: Path) -> int:
    """Bytes in all files below `folder`; 0 where there is none."""
    return sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())
