"""Runs become pages, each only where it was not made before from the same things, and several at a time where there are cores.

A run costs its row, from its own files, and its pages, from its own files and what they say of the featured run. The shared pages are made
of the rows, and anew when any run is another. Where nothing is kept, everything is made by the same steps: that is what `make check` does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from .. import analysis, pages
from ..analysis import RunFacts, VariantFacts
from ..analysis import maps as maps_room
from ..findings import FINDINGS
from ..run import load
from ..run.source import Source, digest
from ..shapes import folder, record
from . import keys, readme, rows, site, workers
from .kept import Kept, packed, unpacked
from .rows import Row

CODE, DRAWING = keys.code(), keys.drawing()
"""The program as it was when it was loaded. Where its files are others by now, nothing is kept: nobody knows which of the two made what."""
Files = dict[str, str | bytes]


@dataclass(frozen=True)
class Choice:
    """How the featured run is found. of: the slots that there are → its slot; says: what that goes by beside them."""

    of: Callable[[Sequence[str]], str]
    says: str = ""


@dataclass(frozen=True)
class Made:
    """Every generated file, the README's generated part, the slots of the runs, and which is featured."""

    files: Files
    section: str
    slots: tuple[str, ...]
    featured: str


@dataclass(frozen=True)
class Job:
    """The pages of one run, as a process of its own is told to make them.

    first: what they say of the featured run; same: where that lies, if it is one of the same device
    known: every variant of any run; kept: the folder of what was made before
    """

    path: Path
    first: Row
    same: Path | None
    known: Mapping[str, VariantFacts]
    kept: Path | None


@dataclass(frozen=True)
class Shared:
    """Pages that more than one run is in. make: what other shared pages gave before → their files"""

    key: str
    make: Callable[[Files], Files]


def made(sources: Sequence[Source], choice: Choice, maps: Sequence[Path] = (), kept: Kept | None = None) -> Made:
    """Every page of the runs in `sources` and of the maps.

    Raises:
        ReportError: a run, a trace or a map cannot be read, or none can be featured.
    """
    usable = kept if kept is not None and keys.code() == CODE else None
    now = _Making(tuple(sources), choice, tuple(maps), usable)
    before = now.before()
    if before is not None:
        return before
    result = now.result()
    if usable is not None:
        now.keep(usable, result)
    return result


class _Making:
    """One rendering, and what of it is new."""

    def __init__(self, sources: tuple[Source, ...], choice: Choice, maps: tuple[Path, ...], kept: Kept | None) -> None:
        self._sources, self._choice, self._maps, self._kept = sources, choice, maps, kept
        self._maps_digest = _of_maps(maps)
        self._whole = keys.key(CODE, choice.says, self._maps_digest, *(source.digest for source in sources))
        self._pieces: list[str] = []
        self._new: list[tuple[str, str, bytes]] = []

    def before(self) -> Made | None:
        """All of it, as it was made before from the same things."""
        if self._kept is None or (found := self._kept.get("whole", self._whole)) is None:
            return None
        told = json.loads(found)
        files: Files = {}
        for key in told["pieces"]:
            piece = self._kept.get("pages", key)
            if piece is None:
                return None
            files |= unpacked(piece)
        return Made(site.by_path(files), told["section"], tuple(told["slots"]), told["featured"])

    def keep(self, kept: Kept, result: Made) -> None:
        """Keeps what is new, if runs, maps and program are still what they were."""
        if keys.code() == CODE and all(source.unchanged for source in self._sources) and _of_maps(self._maps) == self._maps_digest:
            told = {"pieces": self._pieces, "section": result.section, "slots": result.slots, "featured": result.featured}
            for kind, key, body in (*self._new, ("whole", self._whole, json.dumps(told).encode())):
                kept.put(kind, key, body)
            kept.forget()

    def result(self) -> Made:
        source_of = {row.slot: (row, source) for row, source in zip(self._rows, self._sources)}
        slots = tuple(sorted(source_of))
        featured = self._choice.of(slots)
        ordered = [source_of[slot][0] for slot in slots]
        known = rows.known(ordered)
        facts = site.Each(slots, lambda slot: analysis.build(source_of[slot][1].load()))
        draw = drawer(self._kept)
        every = [f"{slot} {source_of[slot][1].digest}" for slot in slots]

        @cache
        def whole() -> site.Site:
            of_maps, beside = _read(self._maps)
            return site.of_rows(ordered, featured, FINDINGS, facts, known, of_maps, beside, draw)

        mapped = {file.parent.name for file in self._maps}
        asked = [one for one, slot in zip(every, slots) if slot == featured or source_of[slot][0].slug in mapped]
        from_maps = Shared(keys.key(CODE, "maps", featured, self._maps_digest, *asked), lambda _: pages.of_maps(whole()))
        rest = Shared(keys.key(CODE, featured, self._maps_digest, *every), lambda found: pages.shared(whole(), found))
        files = self._files(self._jobs(source_of, featured, known), from_maps, rest)
        section = readme.section(facts[featured], site.asked(facts[featured], FINDINGS))
        return Made(site.by_path(files), section, slots, featured)

    def _jobs(self, source_of: Mapping[str, tuple[Row, Source]], featured: str, known: Mapping[str, VariantFacts]) -> dict[str, Job]:
        """Key → the job, of each run but the featured one. source_of: slot → row and source, in the order of the slots"""
        first, home = source_of[featured]
        first_said, known_said = keys.text(first.seen_from_others), keys.text(known)
        jobs = {}
        for slot in sorted(source_of):
            row, source = source_of[slot]
            same = home if row.slug == first.slug else None
            if slot != featured:
                key = keys.key(CODE, source.digest, first_said, same.digest if same else "", known_said)
                jobs[key] = Job(source.path, first.seen_from_others, same.path if same else None, known, self._kept.folder if self._kept else None)
        return jobs

    @cached_property
    def _rows(self) -> list[Row]:
        """A row per source."""
        found = {source.digest: self._row(source) for source in self._sources}
        missing = [source for source in self._sources if found[source.digest] is None]
        with workers.at_work(len(missing)) as start:
            for source, result in [(source, start(row_of, source.path)) for source in missing]:
                fresh = found[source.digest] = result()
                self._new.append(("row", keys.key(CODE, source.digest), json.dumps(asdict(fresh)).encode()))
        return [row for source in self._sources if (row := found[source.digest]) is not None]

    def _row(self, source: Source) -> Row | None:
        body = self._kept.get("row", keys.key(CODE, source.digest)) if self._kept else None
        return None if body is None else rows.again(json.loads(body))

    def _files(self, jobs: Mapping[str, Job], *shared: Shared) -> Files:
        """The shared pages, each made with what those before it gave, and those of each run, under the key of its job; both at once."""
        self._pieces = [*jobs, *(one.key for one in shared)]
        found = {name: self._kept.get("pages", name) if self._kept else None for name in self._pieces}
        missing = [name for name in jobs if found[name] is None]
        files: Files = {}
        with workers.at_work(len(missing) + any(found[one.key] is None for one in shared)) as start:
            results = [(name, start(pages_of, jobs[name])) for name in missing]
            for one in shared:
                known = found[one.key]
                if known is None:
                    fresh = one.make(files)
                    self._new.append(("pages", one.key, packed(fresh)))
                files |= fresh if known is None else unpacked(known)
            for name, result in results:
                found[name] = result()
        self._new += [("pages", name, piece) for name in missing if (piece := found[name]) is not None]
        return files | {path: content for name in jobs if (piece := found[name]) is not None for path, content in unpacked(piece).items()}


def row_of(path: Path) -> Row:
    """The row of the run that lies there."""
    facts = analysis.build(load(path))
    return rows.row(facts, site.asked(facts, FINDINGS), FINDINGS)


def pages_of(job: Job) -> bytes:
    """The pages of one run, packed."""
    places = (job.path, *([job.same] if job.same else []))
    facts: Mapping[str, RunFacts] = {found.slot: found for found in (analysis.build(load(path)) for path in places)}
    alone = site.of_rows([job.first], job.first.slot, FINDINGS, facts, job.known, draw=drawer(Kept(job.kept) if job.kept else None))
    return packed(pages.of_run(alone, next(iter(facts))))


def drawer(kept: Kept | None) -> site.Draw:
    """Draws what was not drawn before from the same data."""
    if kept is None or keys.drawing() != DRAWING:
        return site.drawn

    def draw(form: str, data: Any, alt: str) -> bytes:
        try:
            key = keys.key(DRAWING, keys.text((form, data, alt)))
        except keys.Unknown:
            return site.drawn(form, data, alt)
        picture = kept.get("chart", key)
        if picture is None:
            picture = site.drawn(form, data, alt)
            kept.put("chart", key, picture)
        return picture

    return draw


def _of_maps(maps: Sequence[Path]) -> str:
    """A digest of the maps and of what lies beside them, with their devices."""
    return keys.key(digest(list(maps)), *(file.parent.name for file in maps))


def _read(maps: Sequence[Path]) -> tuple[list[maps_room.MapFacts], list[folder.Folder]]:
    own = [file for file in maps if file.name == record.MAP_FILE]
    return [maps_room.build(record.read(file), file.parent.name) for file in own], folder.read([file for file in maps if file not in own])
