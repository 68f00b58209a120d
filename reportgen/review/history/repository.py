"""What git knows of a slot: which contents its `run.json` had, and the evidence of each."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...errors import ReportError
from ...run import RUN_FILE
from ...run.noise import NOISE_FILE
from ..diff import trees

RUNS = "docs/runs"
ALL_THE_SAME = "the pages are made from history.jsonl as it is"


@dataclass(frozen=True)
class Visit:
    """A content of a slot's `run.json`. commit: the last one that had it with other evidence beside it; `None`: the work tree alone; day: of the commit that brought it"""

    blob: str
    commit: str | None
    day: str | None


@dataclass(frozen=True)
class Known:
    """visits: the oldest first; cut: the clone does not go back to the commit that brought the first"""

    visits: tuple[Visit, ...]
    cut: bool = False


class Repository:
    """The checkout in `root`.

    Raises:
        ReportError: git is not installed, or this is no checkout.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            asked = trees.asked(root, "rev-parse", "--is-shallow-repository")
        except ReportError:
            raise ReportError("git is not installed, and only git knows what a slot held before", cure=f"install git; {ALL_THE_SAME}") from None
        said = asked.stderr.decode(errors="replace").strip()
        if asked.returncode and "not a git repository" not in said:
            raise ReportError(f"git says: {(said or 'nothing').splitlines()[0].removeprefix('fatal: ')}", cure=trees.cure_of_git(said) or "mend what git says")
        if asked.returncode:
            raise ReportError("this is no git checkout, and only git knows what a slot held before", cure=f"run it in a clone of the report's repository; {ALL_THE_SAME}")
        self.shallow = asked.stdout.strip() == b"true"

    def _lines(self, *arguments: str) -> list[str]:
        return trees.git_said(self.root, *arguments).decode("utf-8", errors="replace").splitlines()

    @cached_property
    def _begun(self) -> bool:
        """Whether there is any commit."""
        return trees.asked(self.root, "rev-parse", "--verify", "--quiet", "HEAD").returncode == 0

    @cached_property
    def _ends(self) -> frozenset[str]:
        """The commits where a shallow clone ends."""
        file = self.root / self._lines("rev-parse", "--git-path", "shallow")[0] if self.shallow else None
        return frozenset(file.read_text(encoding="utf-8").split()) if file is not None and file.is_file() else frozenset()

    def slots(self, slug: str) -> set[str]:
        """Every slot of a device that any commit has."""
        if not self._begun:
            return set()
        found = self._lines("-c", "core.quotePath=false", "log", "--format=", "--name-only", "--diff-filter=A", "--relative", "HEAD", "--", f":(glob){RUNS}/{slug}/*/{RUN_FILE}")
        return {parts[-2] for line in found if len(parts := line.split("/")) == 5}

    def known(self, slug: str, slot: str) -> Known:
        """What `run.json` of a slot held, commit by commit, then in the work tree; equal contents in a row are one.

        The history is not followed over renames: a second setting begins as a copy of the first.
        """
        folder = f"{RUNS}/{slug}/{slot}"
        visits: list[Visit] = []
        cut = False
        for line in self._lines("log", "--topo-order", "--reverse", "--format=%H %as", "HEAD", "--", *_evidence(folder)) if self._begun else ():
            commit, day = line.split(" ")
            blob = trees.asked(self.root, "rev-parse", "--verify", "--quiet", f"{commit}:./{folder}/{RUN_FILE}").stdout.decode().strip()
            if blob:
                again = bool(visits) and visits[-1].blob == blob
                cut = cut or (not visits and commit in self._ends)
                visits[-1:] = [Visit(blob, commit, visits[-1].day)] if again else [*visits[-1:], Visit(blob, commit, day)]
        file = self.root / folder / RUN_FILE
        if file.is_file():
            blob = self._lines("hash-object", "--no-filters", "--", str(file.relative_to(self.root)))[0]
            same = bool(visits) and visits[-1].blob == blob
            visits[-1:] = [Visit(blob, None, visits[-1].day if same else None)] if same else [*visits[-1:], Visit(blob, None, None)]
        return Known(tuple(visits), cut)

    @contextmanager
    def evidence(self, slug: str, slot: str, visit: Visit) -> Iterator[Path]:
        """The folder of a state, from its commit or from the work tree."""
        folder = f"{RUNS}/{slug}/{slot}"
        if visit.commit is None:
            yield self.root / folder
            return
        with tempfile.TemporaryDirectory(prefix="state-") as place:
            trees.unpack(trees.git_said(self.root, "archive", "--format=tar", visit.commit, folder), Path(place))
            yield Path(place) / folder


def _evidence(folder: str) -> tuple[str, ...]:
    """What makes a state: pages and charts beside it do not."""
    return (f"{folder}/{RUN_FILE}", f"{folder}/{NOISE_FILE}", f":(glob){folder}/*.trace.json.gz")
