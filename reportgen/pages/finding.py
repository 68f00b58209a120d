"""A finding's page: mechanism from its template, evidence from the featured run, a row per other device."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..analysis import RunFacts
from ..questions import caveats, sources
from ..questions.model import Chart, Finding, Outcome, Question, Source
from ..saying.tables import Link, Table, columns
from . import marks
from .cells import Anchored, Badge, Lines, Sentence
from .environment import page
from .site import Site, device_name, device_said


@dataclass(frozen=True)
class Said:
    """A claim with its outcome on one run."""

    claim: Question
    outcome: Outcome


def path(finding: Finding) -> str:
    return f"findings/{finding.slug}.md"


def render(site: Site, finding: Finding, number: int) -> str:
    """The page of `finding`; `number` is its place in the book, from 1."""
    facts = site.featured
    following = site.findings[number] if number < len(site.findings) else None
    return page(finding.template, path(finding), finding=finding, number=number, ours=all(claim.source is Source.TEAM for claim in finding.claims), count=len(site.findings), device=device_said(facts),
                folder=f"runs/{facts.slot}/index.md", evidence=evidence(site, facts, finding, path(finding)), run_caveats=caveats.travelling(facts), advice=advice(site, facts, finding),
                others=others(site, finding), following=following, workload=facts.workload)


def said(site: Site, facts: RunFacts, finding: Finding) -> list[Said]:
    return [Said(claim, site.outcomes[facts.slot][claim.id]) for claim in finding.claims]


def evidence(site: Site, facts: RunFacts, finding: Finding, at: str, above: tuple[str, ...] = ()) -> str:
    """The verdicts at a glance, the picture, the tables, then what stands behind each verdict, as Markdown for the page `at`.

    Caveats `above` have been said already.
    """
    shown = site.evidence[facts.slot][finding.slug]
    charts = [site.chart(facts, _named(chart, finding), at) for chart in shown.charts]
    items = said(site, facts, finding)
    shared = [caveat for caveat, times in Counter(c for item in items for c in item.outcome.caveats).items() if times > 1]
    details = [(item, [c for c in item.outcome.caveats if c not in shared and c not in above]) for item in items]
    return page("evidence.md.j2", at, verdicts=verdicts(items), tables=marks.timed(facts, shown.tables), charts=charts, folds=shown.folds, shared=[c for c in shared if c not in above], alone=len(items) == 1,
                details=[(item, own) for item, own in details if item.outcome.because or own]).strip("\n")


def verdicts(items: list[Said]) -> Table:
    """One row per claim, with the anchor that other pages link to."""
    head = sources.head(item.claim for item in items)
    rows = tuple((Anchored(item.claim.id, sources.statement(item.claim, head == sources.MIXED)), Badge(item.outcome.verdict), Sentence(item.outcome.reason)) for item in items)
    return Table(columns(head, "Here", "What this device shows"), rows)


def _named(chart: Chart, finding: Finding) -> Chart:
    """The chart with its finding's slug in its name: names are unique on a page only, and a run's charts share a folder."""
    return chart if chart.name.startswith(finding.slug) else replace(chart, name=f"{finding.slug}-{chart.name}")


def advice(site: Site, facts: RunFacts, finding: Finding) -> list[str]:
    """Each piece of advice once, in the claims' order."""
    pieces = {piece.says: piece.text for item in said(site, facts, finding) for piece in item.outcome.pieces}
    return list(pieces.values())


def others(site: Site, finding: Finding) -> Table | None:
    """One row per other device: each claim's verdict and headline, in the order of the table above."""
    rows = []
    for facts in site.others:
        outcomes = [item.outcome for item in said(site, facts, finding)]
        shown = Lines(tuple(dict.fromkeys(f"{Badge(outcome.verdict)} {Sentence(outcome.reason)}" for outcome in outcomes)))
        rows.append((Link(device_name(facts), f"runs/{facts.slot}/findings.md#{finding.slug}"), facts.workload.name, shown))
    return Table(columns("Device", "Workload", "What it shows, claim by claim"), tuple(rows)) if rows else None


def of_run(site: Site, facts: RunFacts) -> str:
    """`runs/<slot>/findings.md`: every finding's evidence on this run."""
    at = f"runs/{facts.slot}/findings.md"
    throughout = _throughout(site, facts)
    sections = [(finding, evidence(site, facts, finding, at, throughout), advice(site, facts, finding)) for finding in site.findings]
    return page("run_findings.md.j2", at, device=device_said(facts), sections=sections, run_caveats=caveats.travelling(facts), workload=facts.workload, throughout=throughout)


def _throughout(site: Site, facts: RunFacts) -> tuple[str, ...]:
    """The caveats that more than three findings share: the page says them once, at its top."""
    counted = Counter(caveat for finding in site.findings for caveat in {c for item in said(site, facts, finding) for c in item.outcome.caveats})
    return tuple(sorted(caveat for caveat, times in counted.items() if times > 3))
