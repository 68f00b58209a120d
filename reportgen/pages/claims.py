"""`claims.md`: every claim with its id, who states it, and its verdict on every run."""

from __future__ import annotations

from dataclasses import dataclass

from ..questions.model import Question, Source
from ..saying.markup import opening
from . import board, crowd
from .cells import Badge
from .environment import page
from .site import Site, device_said

PATH = "claims.md"


@dataclass(frozen=True)
class Row:
    """A claim in the matrix, in HTML: a cell per run stands on a line of its own, so that a new run adds lines and changes none."""

    claim: Question
    statement: str
    source: str
    cells: tuple[str, ...]


def render(site: Site) -> str:
    """The matrix of claims and runs, claims in the order of the findings; of many runs how often each verdict came out, and what each run has otherwise than most."""
    if crowd.many(site):
        return page("claims_of_many.md.j2", PATH, claims=crowd.claims(site), runs=crowd.otherwise(site), counted=crowd.counted(site), tally=board.tally(site, site.featured), device=device_said(site.featured))
    sections = [(finding, [_row(site, claim) for claim in finding.claims]) for finding in site.findings]
    heads = [opening(f"{row.name}, {row.workload.name}") for row in site.rows]
    return page("claims.md.j2", PATH, sections=sections, heads=heads, tally=board.tally(site, site.featured), device=device_said(site.featured))


def _row(site: Site, claim: Question) -> Row:
    cells = tuple(str(Badge(row.claims[claim.id].verdict)) for row in site.rows)
    return Row(claim, opening(claim.statement), "ours" if claim.source is Source.TEAM else "the article", cells)

