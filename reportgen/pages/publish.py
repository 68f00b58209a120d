"""From recorded runs to pages and to the site: the steps that `render`, `site` and `report` share."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from .. import pages, run
from ..company import signals
from ..errors import PageMismatch, ReportError
from ..review import checks
from ..run import swap
from ..run.layout import Layout
from ..run.source import Source
from ..shapes import folder, record
from . import finish, making, offline, readme, tree
from .kept import Kept
from .making import Choice

EPOCH = "315532800"
"""1980-01-01: the sitemap's date, so that the same pages give the same site."""
PROGRAM = Path(__file__).resolve().parents[2]
START = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('mkdocs', run_name='__main__', alter_sys=True)"
"""MkDocs, with this program where it looks for extensions, from whichever folder it is started."""


@dataclass(frozen=True)
class Rendered:
    """The committed pages as the recorded runs render to, in memory: nothing is written before all of it is there."""

    layout: Layout
    slots: tuple[str, ...]
    files: Mapping[str, str | bytes]
    readme: str

    def write(self) -> None:
        """Writes docs/ and the README's table, each file whole."""
        tree.write(self.files, self.layout.docs)
        if self.layout.readme.read_bytes() != self.readme.encode():
            swap.write_whole(self.layout.readme, self.readme.encode())


def rendered(layout: Layout, otherwise: str | None = None, whole: bool = False) -> Rendered:
    """Renders the recorded runs.

    Args:
        otherwise: the slot to feature where none is named yet.
        whole: everything is made anew, whatever was made before.
    """
    choice = Choice(lambda slots: layout.featured(slots, otherwise), f"{layout.named} {otherwise}")
    made = making.made(_sources(run.discover(layout.recorded)), choice, recorded_maps(layout.recorded), None if whole else Kept(layout.made))
    return Rendered(layout, made.slots, made.files, readme.update(_text(layout), made.section))


def _sources(folders: Iterable[Path]) -> list[Source]:
    return [Source.of(folder) for folder in folders]


def render_recorded(layout: Layout) -> tuple[str, ...]:
    """Writes docs/ and the README's table from the recorded runs; returns their slots."""
    done = rendered(layout)
    with signals.held():
        done.write()
    return done.slots


def refuse_damaged(layout: Layout, accept: bool = False) -> None:
    """Looks at what is recorded before time is spent on profiling, for pages show all runs or none.

    Args:
        accept: a damaged run may be the one that is to be replaced, so only say that there is one.

    Raises:
        ReportError: a recorded run cannot be read, or FEATURED names none.
    """
    runs, damaged = checks.readable(layout.docs)
    if damaged and accept:
        print("\n".join(["warning: a recorded run is damaged; unless this run replaces it, the pages cannot be made", *damaged]), file=sys.stderr)
    elif damaged:
        raise ReportError("\n  ".join(["a recorded run is damaged, so no page could be made and nothing was profiled", *damaged]),
                          cure="do what the line says; if this machine is to record that run anew, give ACCEPT=1")
    elif runs:
        layout.featured([each.slot for each in runs])


def render_live(layout: Layout, fresh: Path | None = None) -> tuple[str, ...]:
    """Writes build/docs from the recorded runs and the live ones; the working tree stays as it is. Returns the slots.

    Args:
        fresh: the folder of the fresh run among the live ones, which is featured where no run is recorded.
    """
    places = layout.with_live(fresh)
    slot = run.load(fresh).slot if fresh else None
    found = maps(layout)
    choice = Choice(lambda slots: layout.featured(slots, slot), f"{layout.named} {slot}")
    made = making.made(_sources(places.values()), choice, found, Kept(layout.made))
    tree.write(made.files, layout.live_docs)
    tree.copy_evidence(places, layout.live_docs, found)
    tree.drop_evidence(set(made.slots), layout.live_docs, found)
    shutil.copytree(layout.docs / pages.ASSETS, layout.live_docs / pages.ASSETS, dirs_exist_ok=True)
    return made.slots


def maps(layout: Layout) -> list[Path]:
    """The files of the recorded maps, and of live ones of other devices; a live one that cannot be read is left out."""
    found = {(file.parent.name, file.name): file for file in recorded_maps(layout.recorded)}
    for file in recorded_maps(layout.live):
        with suppress(ReportError):
            (record.read(file) if file.name == record.MAP_FILE else folder.read([file]))
            found.setdefault((file.parent.name, file.name), file)
    return [found[key] for key in sorted(found)]


def recorded_maps(root: Path) -> list[Path]:
    """Every map below `root`, and what lies beside it."""
    return [*record.discover(root), *folder.discover(root)]


def check(layout: Layout) -> None:
    """Looks whether docs/runs is in order, then compares the committed pages with what its runs render to.

    Raises:
        PageMismatch: names each run that is not in order, or each page and line that differs.
    """
    looked = checks.look(layout.docs, _locked_torch(layout))
    for note in looked.notes:
        print(f"note: {note}", file=sys.stderr)
    if looked.disorder:
        raise PageMismatch("\n".join(["docs/runs is not in order", *looked.disorder]), cure="do what each line says, then `make render`")
    done = rendered(layout, whole=True)
    problems = [line.removeprefix(f"{layout.root}/") for line in tree.differences(done.files, layout.docs)]
    text = _text(layout)
    problems += readme.differences(text, done.readme) + readme.typed(text)
    problems += checks.strangers(layout.docs, done.files, _configuration(layout))
    if problems:
        raise PageMismatch("\n".join(["the committed pages are not what the runs render to", *problems]),
                           cure="`make render` writes pages anew; do what the other lines say; a number is never edited by hand")


def _configuration(layout: Layout) -> str:
    file = layout.root / "mkdocs.yml"
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def _locked_torch(layout: Layout) -> str | None:
    """The version of torch that `make` would install."""
    lock = layout.root / "requirements" / "capture.txt"
    found = re.search(r"^torch==(\S+)", lock.read_text(encoding="utf-8"), re.M) if lock.is_file() else None
    return found[1] if found else None


def _text(layout: Layout) -> str:
    """The README as it is.

    Raises:
        ReportError: it is no UTF-8.
    """
    try:
        return layout.readme.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ReportError(f"is no UTF-8 text (byte {error.start})", where="README.md", cure="restore the file from version control") from None


def build_site(layout: Layout, docs: Path) -> None:
    """Builds site/ with MkDocs, strictly, then brings the pictures into its pages and writes CSV beside them.

    Raises:
        ReportError: MkDocs found something wrong; its own words are in the message.
    """
    environment = {**os.environ, "DOCS_DIR": str(docs), "NAV_FILE": str(docs / "nav.yml"), "SITE_DIR": str(layout.site),
                   "SOURCE_DATE_EPOCH": EPOCH, "NO_MKDOCS_2_WARNING": "1"}
    # Never --quiet: together with --strict it hides failures and ends with 0.
    done = subprocess.run([sys.executable, "-E", "-c", START, str(PROGRAM), "build", "--strict"], cwd=layout.root, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        raise ReportError(f"the strict build of the site failed\n{_words(done.stdout)}", cure="mend what MkDocs names above, then `make site`")
    finish.finish(layout.site)
    offline.complete(layout.site, os.environ.get("SITE_URL", ""))


def _words(said: str) -> str:
    """What MkDocs said; of an error that it did not expect, the last line."""
    lines = said.strip().splitlines()
    return lines[-1] if any(line.startswith("Traceback (most recent call last)") for line in lines) else "\n".join(lines)
