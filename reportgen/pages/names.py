"""The kernel-name decoder as a page: every name in the recorded runs, part by part."""

from __future__ import annotations

import re

from ..hardware.kernel_names import KernelName, decode
from ..saying.markup import code
from ..saying.tables import Code, Link, Table, columns
from .cells import Marked, Sentence
from .environment import page
from .site import Site

PATH = "kernel-names.md"


def render(site: Site) -> str:
    """One section per family, one table per name."""
    seen: dict[str, tuple[KernelName, dict[str, Link]]] = {}
    for row in site.rows:
        for variant, ran in row.variants.items():
            for name in ran.names:
                _, where = seen[name] if name in seen else seen.setdefault(name, (decode(name), {}))
                where.setdefault(variant, Link(ran.title, f"variants/{variant}.md"))
    families: dict[str, list[tuple[KernelName, list[Link], Table]]] = {}
    overview = []
    sources: dict[str, int] = {}
    for name in sorted(seen, key=lambda n: (seen[n][0].family.lower(), n)):
        decoded, where = seen[name]
        families.setdefault(decoded.family, []).append((decoded, list(where.values()), parts(decoded, sources)))
        unknown = [code(part.text) for part in decoded.parts if not part.known]
        overview.append((Code(decoded.short), decoded.family, decoded.tensor_cores, Marked(" ".join(unknown)) if unknown else "none"))
    table = Table(columns("Name, shortened", "Family", "Tensor Cores", "Parts that nobody explains"), tuple(overview))
    return page("kernel_names.md.j2", PATH, families=families, anchor=anchor, overview=table, long=LONG, sources=list(sources))


def anchor(family: str) -> str:
    """By which other pages link to a family's names."""
    return re.sub(r"[^a-z0-9]+", "-", f"names of {family}".lower()).strip("-")


LONG = 160
"""A name with more characters is folded away: it fills a screen and says no more than its parts."""


def parts(decoded: KernelName | None, sources: dict[str, int]) -> Table:
    """The parts of a name with their meanings and the numbers of what each meaning was read from. sources: source → number, which grows."""
    rows = []
    for part in decoded.parts if decoded else ():
        known = f"[{sources.setdefault(part.source, len(sources) + 1)}](#sources)" if part.known else None
        rows.append((Code(part.text), Sentence(part.meaning), Marked(known) if known else None))
    return Table(columns("Part", "Meaning", "Source"), tuple(rows))
