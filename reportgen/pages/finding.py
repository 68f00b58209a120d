"""A finding's page: mechanism from its template, evidence from the featured run, a row per other device."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..facts import RunFacts
from ..findings.base import Chart, Claim, Finding, Outcome
from ..tables import Link, Table, columns
from .cells import Badge, Sentence
from .environment import page
from .site import Site, device_name


@dataclass(frozen=True)
class Said:
    """A claim with its outcome on one run."""

    claim: Claim
    outcome: Outcome


def path(finding: Finding) -> str:
    return f"findings/{finding.slug}.md"


def render(site: Site, finding: Finding, number: int) -> str:
    """The page of `finding`; `number` is its place in the book, from 1."""
    facts = site.featured
    following = site.findings[number] if number < len(site.findings) else None
    return page(finding.template, path(finding), finding=finding, number=number, count=len(site.findings), device=device_name(facts),
                folder=f"runs/{facts.slot}/index.md", evidence=evidence(site, facts, finding, path(finding)), advice=advice(site, facts, finding),
                others=others(site, finding), following=following, workload=facts.workload)


def said(site: Site, facts: RunFacts, finding: Finding) -> list[Said]:
    return [Said(claim, site.outcomes[facts.slot][claim.id]) for claim in finding.claims]


def evidence(site: Site, facts: RunFacts, finding: Finding, at: str) -> str:
    """Claims with their outcomes, then tables, then charts, as Markdown for the page `at`."""
    shown = site.evidence[facts.slot][finding.slug]
    charts = [site.chart(facts, _named(chart, finding), at) for chart in shown.charts]
    return page("evidence.md.j2", at, said=said(site, facts, finding), tables=shown.tables, charts=charts).strip("\n")


def _named(chart: Chart, finding: Finding) -> Chart:
    """The chart with its finding's slug in its name: names are unique on a page only, and a run's charts share a folder."""
    return chart if chart.name.startswith(finding.slug) else replace(chart, name=f"{finding.slug}-{chart.name}")


def advice(site: Site, facts: RunFacts, finding: Finding) -> list[str]:
    """Each piece of advice once, in the claims' order."""
    return list(dict.fromkeys(item.outcome.advice for item in said(site, facts, finding) if item.outcome.advice))


def others(site: Site, finding: Finding) -> Table | None:
    """One row per other device: a verdict and a headline per claim would be many, so the first claim leads and all verdicts follow."""
    rows = []
    for facts in site.others:
        outcomes = [site.outcomes[facts.slot][claim.id] for claim in finding.claims]
        verdicts = " ".join(str(Badge(outcome.verdict)) for outcome in outcomes)
        rows.append((Link(device_name(facts), f"runs/{facts.slot}/findings.md#{finding.slug}"), facts.workload.name, _Marked(verdicts), Sentence(outcomes[0].headline)))
    return Table(columns("Device", "Workload", "Verdicts, in the order above", "First claim"), tuple(rows)) if rows else None


def of_run(site: Site, facts: RunFacts) -> str:
    """`runs/<slot>/findings.md`: every finding's evidence on this run."""
    at = f"runs/{facts.slot}/findings.md"
    sections = [(finding, evidence(site, facts, finding, at), advice(site, facts, finding)) for finding in site.findings]
    return page("run_findings.md.j2", at, device=device_name(facts), sections=sections, workload=facts.workload)


@dataclass(frozen=True)
class _Marked:
    """Markup that is ours already."""

    text: str

    def __str__(self) -> str:
        return self.text
