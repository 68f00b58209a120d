"""`nav.yml`: the order of the pages, which `mkdocs.yml` inherits."""

from __future__ import annotations

import json

from ..readings import READINGS
from ..saying import markup
from . import beside, bill, crowd, guides, history, per_device, reading, shape_map, upgrade, why
from .site import Site

RUN_PAGES = (("The run", "index"), ("Findings", "findings"), (reading.SECTION, reading.FOLDER), ("Traces", "variants"))
"""Title and file of a run's pages, which name the run behind it: tabs, bookmarks and search hits show the title alone; the evidence of the featured run is on the shared ones."""
NOT_IN_IT = ("# So many runs have no place each in the navigation of every page: they are found by the page of devices, and by their names.", "not_in_nav: |", "  /runs/")
LONGEST = 160
"""Letters of a title."""


def render(site: Site) -> str:
    """One line per page, so that a new device adds lines and changes none. Of many runs the featured one alone is in it."""
    lines = ["# Generated from the recorded runs by `make render`.", "nav:", _entry(1, "Start here", "index.md")]
    lines += ["  - At your shapes:", _entry(2, "Which backend, at which shape?", shape_map.PATH), _entry(2, "Why not flash?", why.PATH), _entry(2, "What does a new length cost?", bill.PATH)]
    lines += [*([_entry(2, "And beside SDPA?", beside.PATH)] if beside.PATH in site.files else []), "  - Your own code:", *(_entry(2, title, path) for path, title in guides.TITLES.items())]
    lines += ["  - Findings:", *(_entry(2, finding.title, f"findings/{finding.slug}.md") for finding in site.findings)]
    lines += [f"  - {reading.SECTION}:", *(_entry(2, one.title, reading.path(one)) for one in READINGS)]
    lines += ["  - Variants:", *(_entry(2, _short(v.title), f"variants/{v.id}.md") for v in site.featured.variants.values())]
    lines += [_entry(1, "Beyond the article", "beyond.md"), _entry(1, "All claims", "claims.md"), "  - Devices:", _entry(2, "Side by side", "compare.md")]
    for row in (row for row in site.rows if row.slot == site.shown or not crowd.many(site)):
        run = _short(f"{row.name}, {row.workload.name}")
        lines.append(f"      - {json.dumps(run, ensure_ascii=False)}:")
        lines += [_entry(4, f"{title}: {run}", f"runs/{row.slot}/{name}.md") for title, name in (RUN_PAGES[:1] if row.slot == site.shown else RUN_PAGES)]
    if not crowd.many(site):
        lines += [_entry(2, _short(f"The map of {one.header.device.name}"), shape_map.device_path(one)) for one in site.maps if one is not shape_map.shown(site)]
        lines += [_entry(2, _short(f"{title}: {name}"), path) for path, title, name in _further(site)]
    lines += ["  - How to read it:", _entry(2, "Reading a trace", "reading-a-trace.md"), _entry(2, "Method", "method.md"),
              _entry(2, "Kernel names", "kernel-names.md"), _entry(2, "Glossary", "glossary.md"), _entry(2, "Reviewing a regenerated report", "reviewing.md")]
    return "\n".join([*lines, *(NOT_IN_IT if crowd.many(site) else ())]) + "\n"


def _further(site: Site) -> list[tuple[str, str, str]]:
    """Path, title and device of what lies beside the maps of devices that the shared pages do not show."""
    rooms = ((why, "Why not flash?"), (bill, "A new length"), (beside, "Beside SDPA"), (upgrade, "What an upgrade changes"), (history, "What each version changed"))
    return [(path, title, per_device.name(one)) for one in site.folders for room, title in rooms if (path := room.device_path(one.slug)) in site.files]


def _short(title: str) -> str:
    """Somebody else's words as a title; YAML takes no key above 1,024 letters, and an escape has five."""
    return markup.title(title if len(title) <= LONGEST else f"{title[:LONGEST - 1]}…")


def _entry(depth: int, title: str, path: str) -> str:
    """A quoted title: device names and findings may hold colons."""
    indent = {1: 2, 2: 6, 4: 10}[depth]
    return f"{' ' * indent}- {json.dumps(title, ensure_ascii=False)}: {path}"
