"""Which pages exist, and how runs become them. Rendering is a pure function of the recorded runs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from .. import analysis as facts_room
from ..analysis import RunFacts
from ..analysis import maps as maps_room
from ..analysis.maps import MapFacts
from ..questions.model import Finding
from ..readings import READINGS
from ..run import Run
from ..shapes import folder, record
from ..shapes.folder import Folder
from . import beside, bill, claims, compare, device, finding, front, guides, history, names, navigation, reading, scripts, shape_map, site, tree, upgrade, variant, why

ASSETS = "assets"


def render_facts(all_facts: Sequence[RunFacts], featured: str, findings: Sequence[Finding] | None = None,
                 maps: Sequence[MapFacts] = (), folders: Sequence[Folder] = ()) -> dict[str, str | bytes]:
    """Every generated file: path below the docs root → Markdown, SVG, Python or JSON.

    Args:
        featured: slot of the run that shared pages show in full.
        findings: all of them where not given; tests give fewer.
        maps: of devices that have one; folders: what lies beside the maps.
    Raises:
        ValueError: no run is in that slot.
    """
    if findings is None:
        from ..findings import FINDINGS

        findings = FINDINGS
    all_pages = site.build(all_facts, featured, findings, maps, folders)
    found = of_maps(all_pages)
    found |= shared(all_pages, found)
    for row in all_pages.others:
        found |= of_run(all_pages, row.slot)
    return site.by_path(found)


def of_maps(all_pages: site.Site) -> dict[str, str | bytes]:
    """The pages of the maps and of what lies beside them. Of the runs they ask the featured one, and those of the maps' devices."""
    return {path: content for room in (shape_map, why, bill, beside, upgrade, history) for path, content in room.files(all_pages).items()}


def shared(all_pages: site.Site, from_maps: Mapping[str, str | bytes]) -> dict[str, str | bytes]:
    """The pages that show the featured run and have a row for each other one, the featured run's own page, and what they draw.

    Args:
        from_maps: the pages of the maps, which the navigation has a place for.
    """
    all_pages.files.update(from_maps)
    found = all_pages.files
    found[front.INDEX] = front.index(all_pages)
    for number, item in enumerate(all_pages.findings, start=1):
        found[finding.path(item)] = finding.render(all_pages, item, number)
    for one in READINGS:
        found[reading.path(one)] = reading.render(all_pages, one)
    for name in all_pages.featured.variants:
        found[variant.path(name)] = variant.render(all_pages, name)
    found[front.BEYOND] = front.beyond(all_pages)
    found[compare.PATH] = compare.render(all_pages)
    found[claims.PATH] = claims.render(all_pages)
    found[names.PATH] = names.render(all_pages)
    for path in front.READING:
        found[path] = front.reading(all_pages, path)
    found[device.path(all_pages.featured)] = device.render(all_pages, all_pages.featured)
    for path in guides.TITLES:
        found[path] = guides.render(all_pages, path)
    found |= scripts.render(all_pages)
    found[tree.NAVIGATION] = navigation.render(all_pages)
    return {path: content for path, content in found.items() if path not in from_maps}


def of_run(all_pages: site.Site, slot: str) -> dict[str, str | bytes]:
    """The pages of a run that the shared pages do not show, and what they draw."""
    found, facts = all_pages.files, all_pages.runs[slot]
    found[device.path(facts)] = device.render(all_pages, facts)
    found[f"runs/{slot}/findings.md"] = finding.of_run(all_pages, facts)
    found[reading.run_path(slot)] = reading.of_run(all_pages, facts)
    found[f"runs/{slot}/variants.md"] = variant.of_run(all_pages, facts)
    return found


def render(runs: Sequence[Run], out: Path, featured: str, source: Path, maps: Sequence[Path] = ()) -> None:
    """Writes the docs tree `out`, with its `nav.yml`, from recorded runs.

    Pages and charts that no run renders to any more are removed. Where `out` is not `source` (the
    committed docs folder), the evidence and the style sheets are copied, so that `out` builds alone.

    Args:
        maps: files of recorded maps, and of what lies beside them.
    """
    tree.write(files(runs, featured, maps), out)
    tree.copy_evidence({run.slot: run.path for run in runs}, out, maps)
    if out.resolve() != source.resolve():
        tree.drop_evidence({run.slot for run in runs}, out, maps)
        shutil.copytree(source / ASSETS, out / ASSETS, dirs_exist_ok=True)


def files(runs: Sequence[Run], featured: str, maps: Iterable[Path] = ()) -> dict[str, str | bytes]:
    """As `render_facts`, from recorded runs, the files of recorded maps, and what lies beside them."""
    own = [file for file in maps if file.name == record.MAP_FILE]
    read = [maps_room.build(record.read(file), file.parent.name) for file in own]
    return render_facts([facts_room.build(run) for run in runs], featured, maps=read, folders=folder.read([file for file in maps if file not in own]))


def check(runs: Sequence[Run], docs: Path, featured: str) -> list[str]:
    """Where committed pages differ from what the committed runs render to, as `path:line: expected …, found …`."""
    return tree.differences(files(runs, featured), docs)


__all__ = ["check", "files", "of_maps", "of_run", "render", "render_facts", "shared"]
