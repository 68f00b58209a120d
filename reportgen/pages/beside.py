"""The page of what lies beside SDPA's backends: prices, compile seconds, and what to install where one is absent."""

from __future__ import annotations

from ..questions import beside_words as words
from ..questions import map_words
from ..saying.markup import label
from ..saying.tables import Table, columns
from ..saying.units import Seconds
from ..shapes import answers
from ..shapes.folder import Folder
from ..shapes.record import Point, ShapeMap
from . import per_device
from .environment import page
from .site import Site

PATH = "beside.md"


def device_path(slug: str) -> str:
    return per_device.device_path(slug, PATH)


def files(site: Site) -> dict[str, str | bytes]:
    """The shared page, of the featured run's device if it was measured there, and one per further device; none where nobody measured."""
    return per_device.files(site, [one for one in site.folders if one.extras is not None and one.extras.points], PATH, _render)


def _render(folder: Folder, path: str, others: per_device.Others) -> str:
    found = folder.extras
    assert found is not None
    return page("beside.md.j2", path, device=label(found.header.device.name), stands=per_device.stands(found.header), answer=words.sentences(found), prices=prices(found),
                first=_some(first_calls(found)), absent=words.absent(found), declined=words.declined(found),
                others=others)


def _some(table: Table) -> Table | None:
    return table if table.rows else None


def prices(found: ShapeMap) -> Table:
    """A call per row; a backend or extra that ran somewhere per column."""
    names = words.names(found)
    rows = [(map_words.said(point.call), words.fastest(point), *(_price(point, name) for name in names)) for point in found.points]
    return Table(columns("Call", "Fastest", *(f"#{words.title(name)}" for name in names)), tuple(rows))


def _price(point: Point, name: str) -> object:
    reading = answers.reading(point.readings, name)
    if reading is None:
        return None
    price = answers.price(reading)
    return Seconds(price) if price is not None else reading.state if reading.state != "ok" else "not timed"


def first_calls(found: ShapeMap) -> Table:
    """What the first call took: building a mask's blocks, compiling."""
    rows = []
    for name in words.extras(found):
        known = [reading.first for point in found.points if (reading := answers.reading(point.readings, name)) and reading.first is not None]
        if known:
            rows.append((words.title(name), Seconds(min(known)), Seconds(max(known))))
    return Table(columns("Beside", "#First call, least", "#most"), tuple(rows))
