"""The verdict board: each claim, what the article says, what a run says."""

from __future__ import annotations

from ..analysis import RunFacts
from ..questions import sources
from ..questions.model import VERDICTS, Source, Verdict
from ..saying.markup import sentence
from ..saying.tables import Link, Table, columns
from ..saying.units import listed, plural
from .cells import Badge, Linked, Sentence
from .site import Site, root


def _target(site: Site, facts: RunFacts, slug: str, claim: str) -> str:
    return f"findings/{slug}.md#{claim}" if facts.slot == site.shown else f"runs/{facts.slot}/findings.md#{claim}"


def otherwise(site: Site, facts: RunFacts, page: str) -> tuple[Table | None, str]:
    """The claims that come out as another case than on the featured run, side by side, and a sentence about the rest."""
    there, here = site.first.claims, site.outcomes[facts.slot]
    apart = [(finding, claim) for finding in site.findings for claim in finding.claims if here[claim.id].case != there[claim.id].case]
    rows = tuple((Linked(claim.statement, _target(site, facts, finding.slug, claim.id), root(page)), Badge(there[claim.id].verdict), Badge(here[claim.id].verdict), Sentence(here[claim.id].reason))
                 for finding, claim in apart)
    alike = plural(len(here) - len(apart), "claim comes", "claims come")
    return (Table(columns("Claim", "There", "Here", "What this run shows"), rows) if rows else None, f"{alike} out alike on both.")


def counts(site: Site, facts: RunFacts) -> list[tuple[Verdict, str]]:
    """`(holds, 25 claims)` for each verdict that some claim has."""
    found = [outcome.verdict for outcome in site.outcomes[facts.slot].values()]
    return [(verdict, plural(found.count(verdict), "claim")) for verdict in VERDICTS if verdict in found]


def differing(site: Site, facts: RunFacts, page: str) -> list[str]:
    """A line per claim that does not hold here, as Markdown: the badge, the claim with the link to its finding, and what is so instead."""
    out = []
    for finding in site.findings:
        for claim in finding.claims:
            outcome = site.outcomes[facts.slot][claim.id]
            if outcome.verdict == "differs":
                statement = Linked(sources.statement(claim, True), _target(site, facts, finding.slug, claim.id), root(page))
                out.append(f"{Badge(outcome.verdict)} **{statement}** {sentence(outcome.reason)}")
    return out


def undecided(site: Site, facts: RunFacts) -> list[str]:
    """A line per reason for which claims are within noise or not measurable here, as Markdown: the badge, how many, why."""
    reasons: dict[tuple[Verdict, str], int] = {}
    for outcome in site.outcomes[facts.slot].values():
        if outcome.verdict in ("within noise", "not measurable"):
            reasons[outcome.verdict, outcome.reason] = reasons.get((outcome.verdict, outcome.reason), 0) + 1
    return [f"{Badge(verdict)} {plural(count, 'claim')}: {sentence(reason)}" for (verdict, reason), count in reasons.items()]


def tally(site: Site, facts: RunFacts, source: Source | None = None) -> str:
    """`Of 31 claims, 14 hold, 10 differ and 5 are not measurable.` source: of those that it states alone."""
    verdicts = [outcome.verdict for outcome in site.outcomes[facts.slot].values() if source in (None, outcome.source)]
    counts = {verdict: verdicts.count(verdict) for verdict in VERDICTS}
    words = {"holds": ("holds", "hold"), "differs": ("differs", "differ"), "within noise": ("is within noise", "are within noise"),
             "not measurable": ("is not measurable", "are not measurable")}
    return f"Of {plural(len(verdicts), 'claim')}, {listed([f'{n} {words[verdict][n != 1]}' for verdict, n in counts.items() if n])}."


def devices(site: Site) -> Table:
    """Every recorded run as a row, with its software and how its verdicts fall."""
    rows = []
    for row in site.rows:
        verdicts = [claim.verdict for claim in row.claims.values()]
        rows.append((Link(row.name, row.page), row.workload.name, row.torch, *(verdicts.count(v) for v in VERDICTS)))
    return Table(columns("Device", "Workload", "torch", *(f"#{verdict[0].upper()}{verdict[1:]}" for verdict in VERDICTS)), tuple(rows))
