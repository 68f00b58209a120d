"""Memory and arithmetic: pages without verdicts, in full for the featured run, a row per other device."""

from __future__ import annotations

from ..analysis import RunFacts
from ..questions import caveats
from ..questions.evaluate import evaluate, shown
from ..questions.model import Finding, Outcome
from ..readings import COUNTING, READINGS
from ..saying.tables import Link, Table, columns
from . import marks
from .cells import Anchored, Lines, Sentence
from .environment import page
from .site import Site, device_name, device_said

SECTION = "Memory and arithmetic"
FOLDER = "hardware"


def path(reading: Finding) -> str:
    return f"{FOLDER}/{reading.slug}.md"


def run_path(facts: RunFacts) -> str:
    return f"runs/{facts.slot}/{FOLDER}.md"


def render(site: Site, reading: Finding) -> str:
    """The page of one reading."""
    facts, at, place = site.featured, path(reading), READINGS.index(reading)
    return page(reading.template, at, reading=reading, number=place + 1, count=len(READINGS), section=SECTION, device=device_said(facts), folder=f"runs/{facts.slot}/index.md",
                counting=evaluate(COUNTING, facts), evidence=evidence(site, facts, reading, at), run_caveats=caveats.travelling(facts), others=others(site, reading),
                following=READINGS[place + 1] if place + 1 < len(READINGS) else None, workload=facts.workload)


def evidence(site: Site, facts: RunFacts, reading: Finding, at: str) -> str:
    """The answers at a glance, the picture, the tables, then what stands behind each answer."""
    answers = [(question, evaluate(question, facts)) for question in reading.questions]
    found = shown(reading, facts)
    rows = tuple((Anchored(question.id, question.asks), Sentence(said.headline)) for question, said in answers)
    return page("answers.md.j2", at, answers=Table(columns("Question", "What this device shows"), rows), tables=marks.timed(facts, found.tables),
                charts=[site.chart(facts, chart, at) for chart in found.charts], details=[(question, said) for question, said in answers if said.because or said.caveats]).strip("\n")


def others(site: Site, reading: Finding) -> Table | None:
    """One row per other device: whether it counted, then each answer."""
    rows = []
    for facts in site.others:
        said = [_counted(evaluate(COUNTING, facts)), *(evaluate(question, facts).headline for question in reading.questions)]
        lines = Lines(tuple(dict.fromkeys(str(Sentence(text)) for text in said if text)))
        rows.append((Link(device_name(facts), f"{run_path(facts)}#{reading.slug}"), facts.workload.name, lines))
    return Table(columns("Device", "Workload", "What it shows, question by question"), tuple(rows)) if rows else None


def _counted(said: Outcome) -> str:
    """Only what is missing is worth a line in a row."""
    return "" if said.case == "counted" else said.headline


def of_run(site: Site, facts: RunFacts) -> str:
    """`runs/<slot>/hardware.md`: every reading's evidence on this run."""
    at = run_path(facts)
    return page("run_hardware.md.j2", at, device=device_said(facts), section=SECTION, counting=evaluate(COUNTING, facts), run_caveats=caveats.travelling(facts), workload=facts.workload,
                sections=[(reading, path(reading), evidence(site, facts, reading, at)) for reading in READINGS])
