"""A finding's page: mechanism from its template, evidence from the featured run, a row per other device."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..analysis import RunFacts
from ..questions import caveats
from ..questions.model import Advised, Chart, Finding, Outcome, Question, Verdict
from ..saying.markup import sentence
from ..saying.tables import Column, Link, Table, columns
from ..saying.units import listed
from . import crowd, marks, rows
from .cells import Badge, Sentence
from .environment import page
from .site import Site, device_said, root, same_device, stands

NOT: Verdict = "not measurable"
SAME, ALIKE = "as above", "same verdicts, other numbers"
"""What stands in place of an answer that comes out as the one above it: in every word and number, or in its verdicts alone."""


@dataclass(frozen=True)
class Said:
    """A claim with its outcome on one run."""

    claim: Question
    outcome: Outcome


def path(finding: Finding) -> str:
    return f"findings/{finding.slug}.md"


def render(site: Site, finding: Finding, number: int) -> str:
    """The page of `finding`; `number` is its place in the book, from 1."""
    facts, at = site.featured, path(finding)
    following = site.findings[number] if number < len(site.findings) else None
    return page(finding.template, at, pictures=pictures(site, facts, finding, at), finding=finding, number=number, count=len(site.findings), device=device_said(facts), stands=stands(facts), folder=f"runs/{facts.slot}/index.md",
                run_caveats=caveats.travelling(facts), answer=(first := answer(site, facts, finding)).headline, verdicts=verdicts(said(site, facts, finding), root(at), finding, first), advice=advice(site, facts, finding), steps=finding.steps(facts) if finding.steps else None,
                others=others(site, finding), on_others=crowd.on_others(site, finding.claims) if crowd.many(site) else [], following=following, workload=facts.workload, unsafe_at="is-it-right.md#what-to-do-in-your-code", **evidence(site, facts, finding, at))


def pictures(site: Site, facts: RunFacts, finding: Finding, at: str) -> Mapping[str, str]:
    """The pictures that the template places, by name; nothing under a name whose picture this run cannot draw."""
    shown = site.evidence[facts.slot][finding.slug].pictures
    return defaultdict(str, {chart.name.removeprefix(f"{finding.slug}-"): site.chart(facts, chart, at) for chart in shown})


def said(site: Site, facts: RunFacts, finding: Finding) -> list[Said]:
    return [Said(claim, site.outcomes[facts.slot][claim.id]) for claim in finding.claims]


def answer(site: Site, facts: RunFacts, finding: Finding) -> Outcome:
    """What the page says first: the finding's own answer, or its first claim's outcome."""
    return rows.answer(facts, site.outcomes[facts.slot], finding)


def _is_answer(item: Said, finding: Finding, first: Outcome | None) -> bool:
    """Whether the answer is this claim's outcome, or came out as the same case of it."""
    if finding.answer is None or first is None:
        return item.outcome is first
    same = not first.gate and finding.answer.cases.get(first.case) is item.claim.cases.get(item.outcome.case)
    return same and not item.outcome.gate and first.args == item.outcome.args


def evidence(site: Site, facts: RunFacts, finding: Finding, at: str, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """What `evidence.md.j2` shows on the page `at`: what stands behind each verdict, tables with the line that opens each, charts, code.

    Caveats `above` have been said already.
    """
    shown = site.evidence[facts.slot][finding.slug]
    items = said(site, facts, finding)
    shared = [caveat for caveat, times in Counter(c for item in items for c in item.outcome.caveats).items() if times > 1]
    own = [(item, [c for c in item.outcome.caveats if c not in shared and c not in above]) for item in items]
    details = [(item, caveats) for item, caveats in own if item.outcome.because or caveats]
    return {"tables": [folded(table) for table in marks.timed(facts, shown.tables)], "charts": [site.chart(facts, _named(chart, finding), at) for chart in shown.charts], "folds": shown.folds,
            "shared": [c for c in shared if c not in above], "details": details, "claims": len(items)}


def folded(table: Table) -> tuple[str, Table]:
    """The line that opens a table, and the table without it: its caption, or its heads where it has none."""
    return (table.caption or listed([column.title for column in table.columns]), replace(table, caption=""))


def verdicts(items: list[Said], to_root: str, finding: Finding, first: Outcome | None) -> list[str]:
    """A line per claim, as Markdown: the badge, what this device shows, and the claim's id, with the anchor that other pages link to.

    Where the answer `first`, if there is one above, says the same already, the claim stands there in its own words.
    """
    return [f'<a id="{item.claim.id}"></a>{Badge(item.outcome.verdict)} {sentence(item.claim.statement) if item.outcome.verdict != NOT and _is_answer(item, finding, first) else _shown(item)} [`{item.claim.id}`]({to_root}claims.md#{item.claim.id})' for item in items]


def _shown(item: Said) -> str:
    """What came out; where nothing did, the claim stands before the reason."""
    reason = sentence(item.outcome.reason)
    return f"{sentence(item.claim.statement)} {reason}" if item.outcome.verdict == "not measurable" else reason


def _named(chart: Chart, finding: Finding) -> Chart:
    """The chart with its finding's slug in its name: names are unique on a page only, and a run's charts share a folder."""
    return chart if chart.name.startswith(finding.slug) else replace(chart, name=f"{finding.slug}-{chart.name}")


def advice(site: Site, facts: RunFacts, finding: Finding) -> list[Advised]:
    """Each piece of advice once: what saves most first, then in the claims' order."""
    pieces = {piece.says: piece for item in said(site, facts, finding) for piece in item.outcome.pieces}
    return sorted(pieces.values(), key=worth)


def worth(piece: Advised) -> float:
    """By which advice is sorted: what it saves per forward; what saves nothing of that kind comes last."""
    return -piece.saves.seconds if piece.saves and piece.saves.per == "forward" else 0.0


def others(site: Site, finding: Finding) -> Table | None:
    """One row per other device: a badge per claim, then that device's answer."""
    heads = (*columns("Device", "Workload"), *(Column(claim.id, target=f"claims.md#{claim.id}") for claim in finding.claims), *columns("Answer there"))
    cells = tuple((Link(row.name, f"runs/{row.slot}/findings.md#{finding.slug}"), row.workload.name, *(Badge(row.claims[claim.id].verdict) for claim in finding.claims),
                   (SAME if _same(site, row.slot, finding) else ALIKE) if _alike(site, row.slot, row.slug, finding) else Sentence(row.answers[finding.slug])) for row in site.others)
    return Table(heads, cells) if cells else None


def of_run(site: Site, facts: RunFacts) -> str:
    """`runs/<slot>/findings.md`, of a run that the shared pages do not show: its evidence; of the featured device itself only where a claim comes out otherwise."""
    at = f"runs/{facts.slot}/findings.md"
    throughout = _throughout(site, facts)
    same = [finding for finding in site.findings if _alike(site, facts.slot, facts.device.slug, finding)]
    sections = [(finding, verdicts(said(site, facts, finding), root(at), finding, None), advice(site, facts, finding), finding.steps(facts) if finding.steps else None, evidence(site, facts, finding, at, throughout))
                for finding in site.findings if finding not in same]
    lines = [(finding, [claim.id for claim in finding.claims]) for finding in same]
    return page("run_findings.md.j2", at, device=device_said(facts), workload=facts.workload.name, featured=site.first.said, sections=sections, alike=lines, run_caveats=caveats.travelling(facts), stands=stands(facts),
                throughout=throughout, unsafe_at="#is-it-right")


def _alike(site: Site, slot: str, slug: str, finding: Finding) -> bool:
    """Whether a run of the featured run's device shows of this finding what the featured run shows."""
    if not same_device(site, slug):
        return False
    here, there = site.outcomes[slot], site.first.claims
    same = all(here[claim.id].case == there[claim.id].case for claim in finding.claims)
    return same and (finding.steps is None or finding.steps(site.runs[slot]) == finding.steps(site.featured))


def _same(site: Site, slot: str, finding: Finding) -> bool:
    """Whether a run's page of this finding would differ in nothing from the featured run's."""
    def told(outcome: Outcome) -> tuple[object, ...]:
        return outcome.headline, outcome.because, outcome.caveats, outcome.pieces

    here, there = site.outcomes[slot], site.outcomes[site.shown]
    return all(told(here[claim.id]) == told(there[claim.id]) for claim in finding.claims) and site.evidence[slot][finding.slug] == site.evidence[site.shown][finding.slug]


def _throughout(site: Site, facts: RunFacts) -> tuple[str, ...]:
    """The caveats that more than three findings share: the page says them once, at its top."""
    counted = Counter(caveat for finding in site.findings for caveat in {c for item in said(site, facts, finding) for c in item.outcome.caveats})
    return tuple(sorted(caveat for caveat, times in counted.items() if times > 3))
