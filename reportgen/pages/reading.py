"""Memory and arithmetic: pages without verdicts, in full for the featured run, a row per other device."""

from __future__ import annotations

from typing import Any

from ..analysis import RunFacts
from ..questions import caveats
from ..questions.evaluate import evaluate, shown
from ..questions.model import Finding
from ..readings import COUNTING, READINGS
from ..saying.markup import sentence
from ..saying.tables import Link, Table, columns
from . import marks
from .cells import Lines, Sentence
from .environment import page
from .finding import folded
from .site import Site, device_said, same_device, stands

ALIKE = "same answers, other numbers"
"""What stands in place of answers that come out as those above them; the numbers are a click away."""
SECTION = "Memory and arithmetic"
FOLDER = "hardware"


def path(reading: Finding) -> str:
    return f"{FOLDER}/{reading.slug}.md"


def run_path(slot: str) -> str:
    return f"runs/{slot}/{FOLDER}.md"


def render(site: Site, reading: Finding) -> str:
    """The page of one reading."""
    facts, at, place = site.featured, path(reading), READINGS.index(reading)
    return page(reading.template, at, reading=reading, number=place + 1, count=len(READINGS), section=SECTION, device=device_said(facts), folder=f"runs/{facts.slot}/index.md",
                counting=evaluate(COUNTING, facts), stands=stands(facts), run_caveats=caveats.travelling(facts), others=others(site, reading),
                following=READINGS[place + 1] if place + 1 < len(READINGS) else None, **parts(site, facts, reading, at))


def parts(site: Site, facts: RunFacts, reading: Finding, at: str) -> dict[str, Any]:
    """What `answers.md.j2` shows on the page `at`: the answers with the anchors that other pages link to, charts, tables with the line that opens each, what stands behind an answer."""
    answers = [(question, evaluate(question, facts)) for question in reading.questions]
    found = shown(reading, facts)
    return {"answers": [f'<a id="{question.id}"></a>{sentence(said.headline)}' for question, said in answers], "tables": [folded(table) for table in marks.timed(facts, found.tables)],
            "charts": [site.chart(facts, chart, at) for chart in found.charts], "details": [(question, said) for question, said in answers if said.because or said.caveats], "questions": len(answers)}


def others(site: Site, reading: Finding) -> Table | None:
    """One row per other device: whether it counted, then each answer."""
    rows = []
    for row in site.others:
        lines = Lines(tuple(dict.fromkeys(str(Sentence(text)) for text in row.readings[reading.slug])))
        rows.append((Link(row.name, f"{run_path(row.slot)}#{reading.slug}"), row.workload.name, ALIKE if _alike(site, row.slot, row.slug, reading) else lines))
    return Table(columns("Device", "Workload", "What it shows, question by question"), tuple(rows)) if rows else None


def of_run(site: Site, facts: RunFacts) -> str:
    """`runs/<slot>/hardware.md`, of a run that the shared pages do not show: every reading's evidence; of the featured device itself only where an answer comes out otherwise."""
    at = run_path(facts.slot)
    same = [reading for reading in READINGS if _alike(site, facts.slot, facts.device.slug, reading)]
    return page("run_hardware.md.j2", at, device=device_said(facts), workload=facts.workload.name, featured=site.first.said, section=SECTION, counting=evaluate(COUNTING, facts), run_caveats=caveats.travelling(facts), stands=stands(facts),
                sections=[(reading, path(reading), parts(site, facts, reading, at)) for reading in READINGS if reading not in same],
                alike=[(reading, path(reading)) for reading in same])


def _alike(site: Site, slot: str, slug: str, reading: Finding) -> bool:
    """Whether a run of the featured run's device answers each question by the same case, with the same causes and caveats behind it."""
    def told(facts: RunFacts) -> list[tuple[str, tuple[str, ...]]]:
        return [(said.case, said.grounds) for said in (evaluate(question, facts) for question in reading.questions)]

    return same_device(site, slug) and told(site.runs[slot]) == told(site.featured)
