"""Pages that one device fills at a time: the shared one, and one per further device below its folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..analysis import RunFacts
from ..saying.markup import escaped, label
from ..saying.units import day
from ..shapes.folder import Folder
from ..shapes.record import Header
from .site import Site

Others = Sequence[tuple[str, str]]
"""The further devices that have the page: name as Markdown, and path."""
Render = Callable[[Folder, str, Others], str]
"""A device's folder, the page's path, and the others if it is the shared page → the page."""


def device_path(slug: str, path: str) -> str:
    """Where a further device's page lies. path: the shared page's"""
    return f"runs/{slug}/{path}"


def files(site: Site, known: Sequence[Folder], path: str, render: Render) -> dict[str, str | bytes]:
    """The shared page at `path`, of the featured run's device if it is in `known`, else of the first; nothing where nobody is."""
    first = next((one for one in known if one.slug == site.featured.device.slug), known[0] if known else None)
    if first is None:
        return {}
    rest = [one for one in known if one is not first]
    others = [(label(name(one)), device_path(one.slug, path)) for one in rest]
    return {path: render(first, path, others), **{place: render(one, place, []) for one, (_, place) in zip(rest, others)}}


def run_of(site: Site, slug: str, header: Header) -> RunFacts | None:
    """The run that knows what comes out wrong on a device: with the same torch, the featured one before others."""
    slot = next((row.slot for row in (site.first, *site.rows) if row.slug == slug and row.torch == header.software.get("torch")), None)
    return None if slot is None else site.runs[slot]


def right_at(site: Site, run: RunFacts | None) -> str:
    """The page with the list of calls that come out wrong on the device of this run, from the docs root; empty without one."""
    return "" if run is None else "findings/is-it-right.md" if run.slot == site.shown else f"runs/{run.slot}/findings.md"


def name(folder: Folder) -> str:
    """The device, from whichever of its files there is."""
    headers = [part.header for part in (folder.answers, folder.bill, folder.extras) if part is not None]
    if not headers and folder.upgrade is None and folder.history is not None:
        return folder.history.header.device
    return (headers[0] if headers else folder.upgrade).device.name  # type: ignore[union-attr]


def stands(header: Header, *more: str, recorded: str = "recorded") -> str:
    """Versions, day, and what else there is to say once, as Markdown."""
    software = [f"{name} {header.software[key]}" for key, name in (("torch", "torch"), ("cuda", "CUDA"), ("cudnn", "cuDNN"), ("hip", "ROCm")) if header.software.get(key)]
    on = day(header.recorded_on)
    return " · ".join(escaped(part) for part in (*more, ", ".join(software), f"{recorded} {on}" if on else "") if part)
