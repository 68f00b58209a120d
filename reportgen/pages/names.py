"""The kernel-name decoder as a page: every name in the recorded runs, part by part."""

from __future__ import annotations

from ..hardware.kernel_names import KernelName
from ..saying.markup import code
from ..saying.tables import Code, Link, Table, columns
from .cells import Marked, Sentence
from .environment import page
from .site import Site

PATH = "kernel-names.md"


def render(site: Site) -> str:
    """One section per family, one table per name."""
    seen: dict[str, tuple[KernelName, dict[str, Link]]] = {}
    for facts in site.runs:
        for variant in facts.variants.values():
            for activity in variant.activities:
                if activity.decoded and activity.kind == "kernel":
                    _, where = seen.setdefault(activity.name, (activity.decoded, {}))
                    where.setdefault(variant.id, Link(variant.title, f"variants/{variant.id}.md"))
    families: dict[str, list[tuple[KernelName, list[Link], Table]]] = {}
    overview = []
    for name in sorted(seen, key=lambda n: (seen[n][0].family.lower(), n)):
        decoded, where = seen[name]
        families.setdefault(decoded.family, []).append((decoded, list(where.values()), parts(decoded)))
        unknown = [code(part.text) for part in decoded.parts if not part.known]
        overview.append((Code(decoded.short), decoded.family, decoded.tensor_cores, Marked(" ".join(unknown)) if unknown else "none"))
    table = Table(columns("Name, shortened", "Family", "Tensor Cores", "Parts that nobody explains"), tuple(overview))
    return page("kernel_names.md.j2", PATH, families=families, overview=table, long=LONG)


LONG = 160
"""A name with more characters is folded away: it fills a screen and says no more than its parts."""


def parts(decoded: KernelName | None) -> Table:
    """The parts of a name with their meanings and where each meaning comes from."""
    rows = tuple((Code(part.text), Sentence(part.meaning), Sentence(part.source)) for part in decoded.parts) if decoded else ()
    return Table(columns("Part", "Meaning", "Where that comes from"), rows)
