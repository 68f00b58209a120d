"""One folder takes the place of another, whole at every moment; and what a killed command left is put right.

While a run is put into its slot, these may lie beside the slot:

- `.recording-*`, `.placing-*`: the new run before the exchange, the former one after it
- `.replaced-*/run`: the former run, where the file system exchanges by two renames
- `.merging` below the runs' root: several runs are being put in, all or none
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..company import signals
from ..errors import RunInvalid
from . import names
from .model import RUN_FILE

STAGED = (".recording-", ".placing-")
ASIDE = ".replaced-"
JOURNAL = ".merging"
FILE, FORMER = "file:", "former"
"""Before a file's place in the journal, where a run's slot has nothing; and a former file's name in the folder that its new one came from."""
FRESH = ".new"
"""The end of a hidden file's name that is about to take the place of another."""
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def exchange(staging: Path, target: Path) -> Path | None:
    """Puts `staging` where `target` is; returns where the former folder lies now, or `None` if there was none.

    In one step where the kernel can (Linux), else by two renames with signals held back. If the
    process is killed between the two, the former folder lies in `.replaced-*`, and `heal` brings it back.
    """
    durable(staging)
    if not target.exists():
        os.replace(staging, target)
        return None
    if _at_once(staging, target):
        return staging
    aside = Path(tempfile.mkdtemp(prefix=ASIDE, dir=target.parent))
    former = aside / "run"
    with signals.held():
        os.replace(target, former)
        try:
            os.replace(staging, target)
        except BaseException:
            os.replace(former, target)
            aside.rmdir()
            raise
    return former


def write_whole(file: Path, content: bytes) -> None:
    """Writes a file so that it holds the whole new content or the former one, also where the disk is full."""
    fresh = file.with_name(f".{file.name}{FRESH}")
    try:
        fresh.write_bytes(content)
        if file.is_file() and not file.is_symlink():
            shutil.copymode(file, fresh)
        os.replace(fresh, file)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def drop(former: Path | None) -> None:
    """Removes what `exchange` took away."""
    if former is not None:
        shutil.rmtree(former.parent if former.parent.name.startswith(ASIDE) else former, ignore_errors=True)


def durable(folder: Path) -> None:
    """Has the files of `folder` written to the disk itself, so that a rename never outlives what it names.

    Raises:
        OSError: the disk is full after all.
    """
    for file in folder.iterdir():
        if file.is_file():
            with open(file, "rb") as handle:
                os.fsync(handle.fileno())


def _at_once(one: Path, other: Path) -> bool:
    """Exchanges two names in one step (renameat2); `False` where that cannot be done."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return bool(rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0)


def digest(folder: Path) -> str | None:
    """The SHA-256 of the folder's `run.json`, or `None` without one: tells a former run from a new one."""
    return digest_of(folder / RUN_FILE)


def digest_of(file: Path) -> str | None:
    """The SHA-256 of a file, or `None` where there is none."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None


def write_journal(runs_root: Path, before: Mapping[str, str | None]) -> None:
    """Notes what each slot held (`digest`) before the first of several runs is put in."""
    fresh = runs_root / f"{JOURNAL}{FRESH}"
    with open(fresh, "w", encoding="utf-8") as handle:
        json.dump(dict(before), handle)
        handle.flush()
        os.fsync(handle.fileno())
    os.replace(fresh, runs_root / JOURNAL)


def close_journal(runs_root: Path) -> None:
    """From here on the new runs are the recorded ones."""
    (runs_root / JOURNAL).unlink(missing_ok=True)


def heal(runs_root: Path) -> list[str]:
    """Puts right what a killed command left below `runs_root`; returns one line for each run that was brought back.

    Only for who holds the checkout's lock: what lies there belongs to nobody then.
    """
    if not runs_root.is_dir():
        return []
    said = _undo(runs_root)
    for folder in sorted(runs_root.iterdir()):
        if folder.is_dir() and not folder.is_symlink():
            said += _heal_device(folder)
    return said


def leftovers(device: Path) -> list[Path]:
    """The folders in a device's folder that a killed command left."""
    return sorted(entry for entry in device.iterdir() if entry.name.startswith((*STAGED, ASIDE)) and entry.is_dir())


def _heal_device(device: Path) -> list[str]:
    said = []
    for left in leftovers(device):
        former = left / "run"
        name = _workload_folder(former) if left.name.startswith(ASIDE) else None
        if name and digest(device / name) is None:
            _bring_back(former, device / name)
            said.append(f"{device.name}/{name}: an interrupted command had taken this run out of its place; it is back")
        shutil.rmtree(left, ignore_errors=True)
    remove_if_empty(device)
    return said


def remove_if_empty(device: Path) -> None:
    """A device's folder that nothing was put into, or from which everything was taken back."""
    try:
        device.rmdir()
    except OSError:
        return  # there are runs in it


def _workload_folder(former: Path) -> str | None:
    """The name of the folder that a run lies in, `<workload>[+label]`, from the run itself."""
    try:
        data = json.loads((former / RUN_FILE).read_text(encoding="utf-8"))
        return names.slot(data["device"]["slug"], data["workload"]["name"], data["label"]).rpartition("/")[2]
    except (OSError, ValueError, KeyError, TypeError, RunInvalid):
        return None


def _bring_back(former: Path, target: Path) -> None:
    if target.is_dir():  # pages without their run; what the former run has is newer than nothing
        shutil.rmtree(target)
    os.replace(former, target)


def _undo(runs_root: Path) -> list[str]:
    """Takes back runs that were put in together with others that did not follow."""
    half = runs_root / f"{JOURNAL}{FRESH}"
    if half.exists():  # a read-only disk refuses to remove even what is not there
        half.unlink()
    journal = runs_root / JOURNAL
    if not journal.is_file():
        return []
    try:
        before = json.loads(journal.read_text(encoding="utf-8"))
    except ValueError:
        before = {}
    said = [line for slot, former in before.items() if _is_slot(slot) for line in _take_back(runs_root / slot, slot, former)]
    said += [line for key, former in before.items() if _is_file(key) for line in _take_file_back(runs_root / key.removeprefix(FILE), former)]
    journal.unlink()
    return said


def _is_slot(text: str) -> bool:
    """Whether a line of the journal names a place below the runs' root."""
    device, _, folder = text.partition("/")
    workload, plus, label = folder.partition("+")
    return names.fits(device) and names.fits(workload) and (not plus or names.fits(label))


def _is_file(key: str) -> bool:
    """Whether a line of the journal names a file of a device."""
    device, _, name = key.removeprefix(FILE).partition("/")
    return key.startswith(FILE) and names.fits(device) and names.fits(name)


def _take_file_back(target: Path, former: str | None) -> list[str]:
    """Brings the file with the digest `former` back to `target`; `None`: there was none."""
    place = f"{target.parent.name}/{target.name}"
    if digest_of(target) == former:
        return []
    if former is None:
        target.unlink()
        return [f"{place}: a merge was broken off; what it had put there is taken back"]
    found = next((file for left in leftovers(target.parent) if digest_of(file := left / FORMER) == former), None)
    if found is None:
        return [f"{place}: a merge was broken off, and the former file is not beside it any more; restore it from version control"]
    os.replace(found, target)
    return [f"{place}: a merge was broken off; the former file is back"]


def _take_back(target: Path, slot: str, former: str | None) -> list[str]:
    """Brings the run with the digest `former` back to `target`; `None`: there was none."""
    if digest(target) == former:
        return []
    if former is None:
        shutil.rmtree(target)
        return [f"{slot}: a merge was broken off; what it had put there is taken back"]
    places = (place for left in leftovers(target.parent) for place in (left, left / "run"))
    found = next((place for place in places if digest(place) == former), None)
    if found is None:
        return [f"{slot}: a merge was broken off, and the former run is not beside it any more; restore the folder from version control"]
    drop(exchange(found, target))
    return [f"{slot}: a merge was broken off; the former run is back"]
