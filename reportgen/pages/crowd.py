"""What shared pages do where there are many runs: the same evidence, in rows that stay readable and bytes that do not grow with the square."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..questions.model import VERDICTS, Question, Source, Verdict
from ..saying.tables import Column, Link, Table, columns, markdown
from ..saying.units import Count, plural
from .cells import Anchored, Badge, Linked, Marked
from .rows import Row
from .site import Site

FEW = 12
"""So many runs, or devices with a map, have a place each in the navigation and a column each in the matrix of claims; with more a screen of 1,440 px is full."""


def many(site: Site) -> bool:
    """Whether shared pages count runs and let the reader choose, where they name each one otherwise."""
    return max(len(site.rows), len({*(one.slug for one in site.maps), *(one.slug for one in site.folders)})) > FEW


def fleet(table: Table, relative: str = "") -> str:
    """A table with a row per run, and perhaps the article's, as Markdown. One of many rows stands in a box that scrolls, may be filtered, and is in no search: a device is found by its own pages."""
    said = markdown(table, relative)
    return said if len(table.rows) <= FEW + 1 else f'<div class="fleet" data-search-exclude="" markdown="1">\n\n{said}\n\n</div>'


def devices(site: Site) -> Table:
    """A row per device, with a link to each of its runs."""
    by: dict[str, list[Row]] = {}
    for row in site.rows:
        by.setdefault(row.slug, []).append(row)
    return Table(columns("Device", "Runs"), tuple((of[0].device, Marked(", ".join(str(Linked(_run(row), row.page, "")) for row in of))) for of in by.values()))


def _run(row: Row) -> str:
    return f"{row.workload.name} ({row.label})" if row.label else row.workload.name


def counted(site: Site) -> str:
    """`200 runs of 100 devices`."""
    return f"{plural(len(site.rows), 'run')} of {plural(len({row.slug for row in site.rows}), 'device')}"


def usual(rows: Sequence[Row], claim: Question) -> Verdict | None:
    """The verdict that most of the runs have; of two that as many have, the one that comes first among `VERDICTS`."""
    found = Counter(row.claims[claim.id].verdict for row in rows)
    return max(found, key=lambda verdict: (found[verdict], -VERDICTS.index(verdict) if verdict in VERDICTS else -len(VERDICTS)))


def claims(site: Site) -> Table:
    """A row per claim: its verdict on the featured run, and on how many runs it has each."""
    heads = (*columns("Finding", "Claim", "Stated by"), Column(site.first.name), *columns(*(f"#{_titled(verdict)}" for verdict in VERDICTS)))
    rows = []
    for finding in site.findings:
        for claim in finding.claims:
            found = Counter(row.claims[claim.id].verdict for row in site.rows)
            said = Marked(f"{Anchored(claim.id, claim.statement)} `{claim.id}`")
            rows.append((Link(finding.title, f"findings/{finding.slug}.md#{claim.id}"), said, "ours" if claim.source is Source.TEAM else "the article",
                         Badge(site.first.claims[claim.id].verdict), *(Count(found[verdict]) for verdict in VERDICTS)))
    return Table(heads, tuple(rows))


def otherwise(site: Site) -> Table:
    """A row per run: the claims that have another verdict there than on most runs."""
    asked = [claim for finding in site.findings for claim in finding.claims]
    most = {claim.id: usual(site.rows, claim) for claim in asked}
    rows = []
    for row in site.rows:
        apart: dict[Verdict | None, list[str]] = {}
        for claim in asked:
            verdict = row.claims[claim.id].verdict
            if verdict != most[claim.id]:
                apart.setdefault(verdict, []).append(f"`{claim.id}`")
        said = "; ".join(f"{Badge(verdict)} {', '.join(names)}" for verdict, names in apart.items())
        rows.append((Link(row.name, row.page), row.workload.name, Count(sum(map(len, apart.values()))), Marked(said or "none")))
    return Table((*columns("Device", "Workload", "#Otherwise"), Column("Which claims")), tuple(rows))


def on_others(site: Site, asked: Sequence[Question]) -> list[str]:
    """A line per claim, as Markdown: on how many of the other runs it has each verdict."""
    out = []
    for claim in asked:
        found = Counter(row.claims[claim.id].verdict for row in site.others)
        out.append(f"`{claim.id}`: " + ", ".join(f"{Badge(verdict)} on {found[verdict]}" for verdict in VERDICTS if found[verdict]))
    return out


def shared_notes(rows: Sequence[Row]) -> tuple[str, ...]:
    """What signs beside times mean, each sentence once: whose it is where few have it, else on how many runs."""
    by: dict[str, list[str]] = {}
    for row in rows:
        for note in row.notes:
            by.setdefault(note, []).append(f"{row.name}, {row.workload.name}")
    return tuple(f"{'; '.join(names) if len(names) <= 3 else f'On {len(names)} runs'}: {note}" for note, names in by.items())


def _titled(verdict: str) -> str:
    return f"{verdict[0].upper()}{verdict[1:]}"

