"""The verdict board: each claim, what the article says, what a run says."""

from __future__ import annotations

from ..facts import RunFacts
from ..findings.base import VERDICTS
from ..tables import Link, Table, columns
from ..units import plural
from .cells import Badge, Linked, Sentence
from .site import Site, device_name, root


def board(site: Site, facts: RunFacts, page: str) -> Table:
    """One row per claim, in the order of the findings; the statement links to its page."""
    outcomes = site.outcomes[facts.slot]
    rows = []
    for finding in site.findings:
        for claim in finding.claims:
            outcome = outcomes[claim.id]
            target = f"findings/{finding.slug}.md#{claim.id}" if facts is site.featured else f"runs/{facts.slot}/findings.md#{claim.id}"
            rows.append((Linked(claim.statement, target, root(page)), Badge(outcome.verdict), Sentence(outcome.headline)))
    return Table(columns("The article says", "Here", "What this device shows"), tuple(rows))


def tally(site: Site, facts: RunFacts) -> str:
    """`Of 31 claims, 14 hold, 10 differ, 2 are within noise and 5 are not measurable.`"""
    verdicts = [outcome.verdict for outcome in site.outcomes[facts.slot].values()]
    counts = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
    words = (f"{counts['holds']} {'holds' if counts['holds'] == 1 else 'hold'}", f"{counts['differs']} {'differs' if counts['differs'] == 1 else 'differ'}",
             f"{counts['within noise']} {'is' if counts['within noise'] == 1 else 'are'} within noise",
             f"{counts['not measurable']} {'is' if counts['not measurable'] == 1 else 'are'} not measurable")
    return f"Of {plural(len(verdicts), 'claim')}, {words[0]}, {words[1]}, {words[2]} and {words[3]}."


def devices(site: Site) -> Table:
    """Every recorded run as a row, with its software and how its verdicts fall."""
    rows = []
    for facts in site.runs:
        verdicts = [outcome.verdict for outcome in site.outcomes[facts.slot].values()]
        rows.append((Link(device_name(facts), f"runs/{facts.slot}/index.md"), facts.workload.name, facts.software.get("torch"), *(verdicts.count(v) for v in VERDICTS)))
    return Table(columns("Device", "Workload", "torch", *(f"#{verdict[0].upper()}{verdict[1:]}" for verdict in VERDICTS)), tuple(rows))


def by_finding(site: Site, slug: str, page: str) -> Table:
    """A finding's claims as columns, devices as rows."""
    finding = next(f for f in site.findings if f.slug == slug)
    rows = tuple((Link(device_name(facts), f"runs/{facts.slot}/findings.md#{slug}"), facts.workload.name,
                  *(Badge(site.outcomes[facts.slot][claim.id].verdict) for claim in finding.claims)) for facts in site.runs)
    return Table(columns("Device", "Workload", *(f"[{claim.id}]({root(page)}findings/{slug}.md#{claim.id})" for claim in finding.claims)), rows)
