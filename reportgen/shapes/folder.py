"""What lies beside a map in a device's folder: answers, the bill of a new shape, what lies beside the backends, what an upgrade changed, calls that judge the advice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..errors import ReportError
from ..run import history
from ..run.history import HISTORY_FILE, History
from . import answers, bill, record, upgrade
from .answers import WHY_FILE, Answers
from .beside import EXTRAS_FILE
from .bill import BILL_FILE, Bill
from .record import UNSEEN_FILE, ShapeMap
from .upgrade import UPGRADE_FILE, Upgrade

FILES = (WHY_FILE, BILL_FILE, EXTRAS_FILE, UPGRADE_FILE, UNSEEN_FILE)
EVERY = (*FILES, HISTORY_FILE)
"""With what is made from a checkout's own version control, and is neither merged from elsewhere nor compared."""


@dataclass(frozen=True)
class Folder:
    """slug: the device's; what was not recorded is `None`"""

    slug: str
    answers: Answers | None = None
    bill: Bill | None = None
    extras: ShapeMap | None = None
    upgrade: Upgrade | None = None
    unseen: ShapeMap | None = None
    history: History | None = None


def discover(root: Path) -> list[Path]:
    """Every such file below a folder of devices, in the order of their paths."""
    found = (file for name in EVERY for file in root.glob(f"*/{name}"))
    return sorted(file for file in found if not file.parent.name.startswith(".") and not file.is_symlink())


def read(files: list[Path]) -> list[Folder]:
    """The folders that these files are of.

    Raises:
        RunInvalid: as the files' own readers.
    """
    folders: dict[str, dict[str, object]] = {}
    for file in files:
        name, reader = READERS[file.name]
        folders.setdefault(file.parent.name, {})[name] = reader(file)
    return [Folder(slug, **found) for slug, found in sorted(folders.items())]  # type: ignore[arg-type]


def of(root: Path) -> Folder:
    """What lies in one device's folder.

    Raises:
        RunInvalid: as the files' own readers.
    """
    return next(iter(read([file for name in FILES if (file := root / name).is_file()])), Folder(root.name))


def problem(file: Path) -> ReportError | None:
    """Why a file cannot be read."""
    try:
        READERS[file.name][1](file)
    except ReportError as error:
        return error
    return None


READERS = {WHY_FILE: ("answers", answers.read), BILL_FILE: ("bill", bill.read), EXTRAS_FILE: ("extras", record.read), UPGRADE_FILE: ("upgrade", upgrade.read),
           UNSEEN_FILE: ("unseen", record.read), HISTORY_FILE: ("history", history.read)}
