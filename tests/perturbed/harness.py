"""Writes a perturbed copy into a folder, as a capture would, and asks the program about it. Everything is asked once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import probe_doubles

from reportgen import analysis, findings, pages, probes, readings
from reportgen import run as run_room
from reportgen.analysis import RunFacts
from reportgen.commands.summary import summary
from reportgen.errors import ReportError
from reportgen.pages import readme, site
from reportgen.questions.model import Outcome

from . import recorded
from .catalogue import PERTURBATIONS, Perturbation

BLANK = b'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"></svg>\n'
FINDINGS = "findings/"


class Copy:
    """One perturbed run on disk, and what the program makes of it. Nothing is done before it is asked for."""

    def __init__(self, perturbation: Perturbation, root: Path) -> None:
        self.perturbation = perturbation
        self._root = root

    @cached_property
    def folder(self) -> Path:
        """The run's slot, written."""
        run, traces = recorded.now(), recorded.Traces()
        self.perturbation.change(run, traces)
        if self.perturbation.older:
            recorded.as_schema_1(run)
        label = run["label"]
        folder = self._root / run["device"]["slug"] / (run.get("workload", {"name": "none"})["name"] + (f"+{label}" if label else ""))
        folder.mkdir(parents=True)
        for name in traces:
            file = folder / f"{name}.trace.json.gz"
            if traces.edited(name):
                run_room.write_trace(file, traces[name])
            else:
                shutil.copyfile(recorded.RECORDED / file.name, file)
        (folder / run_room.RUN_FILE).write_text(json.dumps(run), encoding="utf-8")
        if self.perturbation.floored:
            noise = recorded.floor()
            if self.perturbation.floor:
                self.perturbation.floor(noise)
            (folder / "noise.json").write_text(json.dumps(noise), encoding="utf-8")
        return folder

    @property
    def content(self) -> dict[str, object]:
        """What `run.json` holds, for the oracle."""
        return json.loads((self.folder / run_room.RUN_FILE).read_text(encoding="utf-8"))

    @property
    def noise(self) -> dict[str, object] | None:
        file = self.folder / "noise.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    @cached_property
    def run(self) -> run_room.Run:
        return run_room.load(self.folder)

    @cached_property
    def facts(self) -> RunFacts:
        with _known_probes():
            return analysis.build(self.run)

    @cached_property
    def outcomes(self) -> Mapping[str, Outcome]:
        return findings.outcomes(self.facts)

    @cached_property
    def answers(self) -> Mapping[str, Outcome]:
        return readings.answers(self.facts)

    @cached_property
    def pages(self) -> Mapping[str, str]:
        """Path → text of every page; the charts are not drawn, their alt texts are on the pages."""
        with _charts_not_drawn():
            files = pages.render_facts([self.facts], self.facts.slot)
        return {name: content for name, content in files.items() if isinstance(content, str)}

    def drawn(self) -> dict[str, str | bytes]:
        """Every file, charts drawn: seconds."""
        return pages.render_facts([self.facts], self.facts.slot)

    @property
    def front(self) -> str:
        return self.pages["index.md"]

    @property
    def run_page(self) -> str:
        return self.pages[f"runs/{self.facts.slot}/index.md"]

    @cached_property
    def readme(self) -> str:
        return readme.section(self.facts, self.outcomes)

    @cached_property
    def terminal(self) -> str:
        return summary(self.facts, self.outcomes, {"profile": 60.0}, "make serve")

    def on(self, place: str) -> str:
        """The text of a place, as `sentences` names them."""
        if place in self.pages:
            return self.pages[place]
        return {
            "front": lambda: self.front,
            "head": lambda: self.front.split("\n| ")[0],
            "readme": lambda: self.readme,
            "terminal": lambda: self.terminal,
            "terminal head": lambda: "\n".join(self.terminal.split("\n")[:6]),
            "run page": lambda: self.run_page,
            "findings": lambda: "\n".join(text for name, text in self.pages.items() if name.startswith(FINDINGS)),
            "pages": lambda: "\n".join(self.pages.values()),
            "everywhere": lambda: "\n".join([*self.pages.values(), self.readme, self.terminal]),
        }[place]()

    @property
    def refusal(self) -> str | None:
        """The text of the error with which the copy is refused, or `None` where it loads."""
        try:
            run_room.load(self.folder)
        except ReportError as error:
            return str(error)
        return None


@contextmanager
def _charts_not_drawn() -> Iterator[None]:
    real, site.charts.svg = site.charts.svg, lambda form, data, alt="": BLANK
    try:
        yield
    finally:
        site.charts.svg = real


@contextmanager
def _known_probes() -> Iterator[None]:
    """Copies hold the probes of `probe_doubles`, whichever the program has."""
    real, probes.load = probes.load, lambda: probe_doubles.KNOWN
    try:
        yield
    finally:
        probes.load = real


class Harness:
    """All copies by name; each is made when it is first asked for."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._copies: dict[str, Copy] = {}

    def __getitem__(self, name: str) -> Copy:
        if name not in self._copies:
            self._copies[name] = Copy(PERTURBATIONS[name], self._root / name)
        return self._copies[name]
