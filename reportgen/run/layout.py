"""Where things lie in a checkout, and which of the runs there is featured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import run
from ..errors import ReportError
from . import Run


@dataclass(frozen=True)
class Layout:
    """The checkout's folders.

    recorded: runs under version control; live: those of this machine that are not
    docs: the committed pages; live_docs: pages that show a live run as well
    """

    root: Path

    @property
    def docs(self) -> Path:
        return self.root / "docs"

    @property
    def recorded(self) -> Path:
        return self.docs / "runs"

    @property
    def live(self) -> Path:
        return self.root / "build" / "runs"

    @property
    def aside(self) -> Path:
        """Runs that could not stand in for the recorded ones of their slots."""
        return self.root / "build" / "aside"

    @property
    def live_docs(self) -> Path:
        return self.root / "build" / "docs"

    @property
    def made(self) -> Path:
        """What pages were made before (see `pages.kept`); safe to delete."""
        return self.root / "build" / "made"

    @property
    def lock(self) -> Path:
        """Held by the command that writes in this checkout."""
        return self.root / "build" / "lock"

    @property
    def site(self) -> Path:
        return self.root / "site"

    @property
    def readme(self) -> Path:
        return self.root / "README.md"

    @property
    def _featured(self) -> Path:
        return self.recorded / "FEATURED"

    def recorded_runs(self) -> list[Run]:
        """Every recorded run, in slot order."""
        return [run.load(folder) for folder in run.discover(self.recorded)]

    def recorded_devices(self) -> list[dict[str, Any]]:
        """The fields of every recorded run's `DeviceRecord`; a run that cannot be read is left out."""
        return [asdict(recorded.device) for recorded in _readable(self.recorded)]

    def with_live(self, folder: Path | None = None) -> dict[str, Path]:
        """Slot → folder of the recorded runs and of every live one, in slot order.

        The fresh live run in `folder` stands in for a recorded run of its slot; an earlier one does
        not, nor does one that cannot be read.
        """
        runs = {live.slot: live.path for live in _readable(self.live)} | {_slot(place): place for place in run.discover(self.recorded)}
        if folder:
            runs[run.load(folder).slot] = folder
        return dict(sorted(runs.items()))

    @property
    def named(self) -> str | None:
        """The slot that FEATURED names, whether a run is there or not."""
        return self._featured.read_text(encoding="utf-8", errors="replace").strip() if self._featured.is_file() else None

    def featured(self, slots: Sequence[str], otherwise: str | None = None) -> str:
        """The slot, of those that have a run, that index and README show: the one that FEATURED names, else `otherwise`, else the first.

        Raises:
            ReportError: FEATURED names a slot that has no run, or there is no run at all.
        """
        named = self.named
        if named is not None:
            if named in slots:
                return named
            raise ReportError(f"names {named!r}, and there is no such run", where=str(self._featured.relative_to(self.root)),
                              cure=f"write one of these into it: {', '.join(slots) or 'none is recorded yet'}")
        if not slots:
            raise ReportError("there is no run to show", cure="record one with `make report`")
        return otherwise or slots[0]

    def feature_first(self, slot: str) -> bool:
        """Makes `slot` the featured run where none is yet; says whether it did."""
        if self._featured.exists():
            return False
        self._featured.parent.mkdir(parents=True, exist_ok=True)
        self._featured.write_text(slot + "\n", encoding="utf-8")
        return True

    def find_run(self, name: str) -> Path:
        """The folder of a run given by path or by slot (`nvidia-h200/article`).

        Raises:
            ReportError: there is none.
        """
        for folder in (Path(name), self.live / name, self.recorded / name):
            if (folder / run.RUN_FILE).is_file():
                return folder
        slots = [f"{folder.parent.name}/{folder.name}" for root in (self.recorded, self.live) for folder in run.discover(root)]
        raise ReportError("there is no such run", where=name,
                          cure=f"name one of: {', '.join(slots)}" if slots else "record one with `make profile`")


def _slot(folder: Path) -> str:
    """The slot of a recorded run, by its place; `make check` looks whether it is the one in the run."""
    return f"{folder.parent.name}/{folder.name}"


def _readable(root: Path) -> list[Run]:
    """The runs below `root` without those that cannot be read: what another version has left is nobody's evidence."""
    found = []
    for folder in run.discover(root):
        try:
            found.append(run.load(folder))
        except ReportError:
            continue
    return found
