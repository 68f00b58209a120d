"""The map's page: which backend at which shape, what torch picks by itself, and what that loses on this device."""

from __future__ import annotations

from ..analysis.map_series import Along, Series, crossovers, host_limits, models, series
from ..analysis.maps import Default, MapFacts
from ..questions import map_words as words
from ..saying.markup import escaped, label
from ..saying.tables import Link, Table, columns
from ..saying.units import Count, day
from . import map_tables
from .environment import page
from .site import Site

PATH = "map.md"
HEAD = 6
"""Rows of the losses that stand open; the rest is folded."""


def device_path(facts: MapFacts) -> str:
    return f"runs/{facts.slug}/{PATH}"


def shown(site: Site) -> MapFacts | None:
    """The map of the featured run's device, else the first there is."""
    return next((one for one in site.maps if one.slug == site.featured.device.slug), site.maps[0] if site.maps else None)


def files(site: Site) -> dict[str, str]:
    """The shared page, and one per further device with a map."""
    first = shown(site)
    rest = [one for one in site.maps if one is not first]
    if first is None:
        return {PATH: page("map_none.md.j2", PATH, device=label(site.featured.device.name))}
    return {PATH: _render(first, PATH, rest), **{device_path(one): _render(one, device_path(one), []) for one in rest}}


def _render(facts: MapFacts, path: str, others: list[MapFacts]) -> str:
    found = series(facts)
    loses = facts.default_is(Default.LOSES)
    return page("map.md.j2", path, device=label(facts.header.device.name), stands=stands(facts), on_gpu=facts.on_gpu, answer=words.answer(facts),
                winners=[(title, map_tables.winners(some)) for title, some in grids(found)],
                losses=map_tables.losses(loses[:HEAD]) if loses else None, more_losses=map_tables.losses(loses[HEAD:]) if loses[HEAD:] else None,
                crossings=[words.crossing(one) for one in crossovers(found)], hosts=[words.host_bound(one) for one in host_limits(found)],
                host=_some(map_tables.host(facts)), models=_some(map_tables.models(models(facts))), wrong=_some(map_tables.wrong(facts)), refusals=_some(map_tables.refusals(facts)),
                series=[(words.family(one), map_tables.one_series(facts, one)) for one in found], threshold=words.share(facts.threshold), floor=words.share(facts.floor),
                rounds=facts.header.rounds, others=devices(others) if others else None)


def _some(table: Table) -> Table | None:
    return table if table.rows else None


def grids(found: tuple[Series, ...]) -> list[tuple[str, list[Series]]]:
    """The series of one product, batch or cache together, those with most rows first among equals."""
    groups: dict[str, list[Series]] = {}
    for one in found:
        title = {Along.TOKENS: f"{Count(one.fixed)} tokens, the length in the head", Along.BATCH: f"Batch {one.fixed}, the length in the head",
                 Along.CACHE: f"Batch {one.fixed}, {one.queries} {'query' if one.queries == 1 else 'queries'}, the keys in the head"}[one.along]
        groups.setdefault(title, []).append(one)
    return list(groups.items())


def stands(facts: MapFacts) -> str:
    """Device, versions, day and size of a map, as Markdown: said once."""
    software = [f"{name} {facts.header.software[key]}" for key, name in (("torch", "torch"), ("cuda", "CUDA"), ("cudnn", "cuDNN"), ("hip", "ROCm")) if facts.header.software.get(key)]
    recorded = day(facts.header.recorded_on)
    return " · ".join(escaped(part) for part in (f"{Count(len(facts.spots))} calls", ", ".join(software), f"begun {recorded}" if recorded else "") if part)


def devices(maps: list[MapFacts]) -> Table:
    """A row per device with a map."""
    rows = ((Link(one.header.device.name, device_path(one)), Count(len(one.spots)), Count(len(one.default_is(Default.LOSES))),
             None if one.regret is None else f"+{words.share(one.regret)}") for one in maps)
    return Table(columns("Device", "#Calls", "#torch's pick loses at", "#on average"), tuple(rows))
