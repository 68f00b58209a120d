"""The map's page: which backend at which shape, what torch picks by itself, and what that loses on this device."""

from __future__ import annotations

from variants.backends import BACKENDS

from ..analysis import policy
from ..analysis.map_series import Along, Series, crossovers, host_limits, length, models, series
from ..analysis.maps import Default, MapFacts
from ..analysis.unseen import unseen
from ..questions import map_words as words
from ..questions import policy_words
from ..saying.markup import alt, label
from ..saying.tables import Link, Table, columns
from ..saying.units import Count, plural
from ..shapes.record import ShapeMap
from . import map_csv, map_tables, per_device, policy_files
from .environment import page
from .site import Draw, Site, drawn, marked, root

PATH = "map.md"
PICTURE = "map.svg"
HEAD = 6
"""Lines of a list, or rows of the losses, that stand open; the rest is folded."""


def device_path(facts: MapFacts) -> str:
    return f"runs/{facts.slug}/{PATH}"


def shown(site: Site) -> MapFacts | None:
    """The map of the featured run's device, else the first there is."""
    return next((one for one in site.maps if one.slug == site.featured.device.slug), site.maps[0] if site.maps else None)


def files(site: Site) -> dict[str, str | bytes]:
    """The shared page, and one per further device with a map; beside each map its picture and what programs read of it."""
    first = shown(site)
    rest = [one for one in site.maps if one is not first]
    if first is None:
        return {PATH: page("map_none.md.j2", PATH, device=label(site.featured.device.name))}
    found: dict[str, str | bytes] = {}
    for facts in site.maps:
        path = PATH if facts is first else device_path(facts)
        rules = policy.build(facts)
        picture = curve(facts, site.draw)
        if picture:
            found[f"runs/{facts.slug}/{PICTURE}"] = picture[0]
        found |= {map_csv.path(facts.slug): map_csv.text(facts).encode(), **policy_files.files(rules)}
        found[path] = _render(site, facts, rules, path, rest if facts is first else [], f"![{alt(picture[1])}]({root(path)}runs/{facts.slug}/{PICTURE})" if picture else "")
    return found


def further(site: Site, facts: MapFacts) -> ShapeMap | None:
    """The calls that judge the map's advice."""
    return next((one.unseen for one in site.folders if one.slug == facts.slug), None)


def curve(facts: MapFacts, draw: Draw = drawn) -> tuple[bytes, str] | None:
    """The rate of every backend along the longest series, and what the picture shows in words; the first measured among equals."""
    found = [one for one in series(facts) if one.along is not Along.CACHE]
    if not found:
        return None
    one = max(found, key=lambda one: len(one.spots))
    rates = {name: [spot.call.flop / timed.median / 1e12 if (timed := spot.timed(name)) else None for spot in one.spots] for name in BACKENDS}
    drawn = [(words.title(name), f"sdpa_{name}", values) for name, values in rates.items() if any(values)]
    if not drawn:
        return None
    said = f"TFLOP/s of each backend by length: {words.family(one)}."
    data = {"sizes": [length(spot.call) for spot in one.spots], "size": "queries and keys", "series": drawn, "unit": "TFLOP/s", "title": words.kind(one.family),
            "foot": f"{words.heads(one.family)}, {facts.header.device.name}"}
    return marked(draw("curve", data, said)), said


def _render(site: Site, facts: MapFacts, rules: policy.Policy, path: str, others: list[MapFacts], picture: str) -> str:
    found = series(facts)
    loses = facts.default_is(Default.LOSES)
    run = per_device.run_of(site, facts.slug, facts.header)
    pieces = policy_words.pieces(rules, run)
    return page("map.md.j2", path, device=label(facts.header.device.name), stands=stands(facts), on_gpu=facts.on_gpu, answer=words.answer(facts), picture=picture,
                pieces=[_piece(one) for one in pieces], head=HEAD, leave=policy_words.leave(rules, unseen(rules, further(site, facts))), files=f"runs/{facts.slug}/" if rules.rules else "",
                policy_file=policy_files.POLICY_FILE, python_file=policy_files.PYTHON_FILE,
                unsafe_at=per_device.right_at(site, run) if any(one.unless for one in pieces) else "",
                winners=[(title, map_tables.winners(some)) for title, some in grids(found)],
                losses=map_tables.losses(loses[:HEAD]) if loses else None, more_losses=map_tables.losses(loses[HEAD:]) if loses[HEAD:] else None,
                crossings=[words.crossing(one) for one in crossovers(found)], hosts=[words.host_bound(one) for one in host_limits(found)],
                every=map_csv.path(facts.slug), models=_some(map_tables.models(models(facts), rules)), wrong=_some(map_tables.wrong(facts)), refusals=_some(map_tables.refusals(facts)),
                threshold=words.share(facts.threshold), floor=words.share(facts.floor),
                rounds=facts.header.rounds, others=devices(others) if others else None)


def _piece(one: policy_words.Piece) -> str:
    return f"**{one.call[:1].upper()}{one.call[1:]}**: `{one.code}` {one.evidence} {one.unless}".rstrip()


def _some(table: Table) -> Table | None:
    return table if table.rows else None


def grids(found: tuple[Series, ...]) -> list[tuple[str, list[Series]]]:
    """The series of one head dimension and one product, batch or cache together."""
    groups: dict[str, list[Series]] = {}
    for one in found:
        same = {Along.TOKENS: f"{Count(one.fixed)} tokens", Along.BATCH: f"batch {one.fixed}", Along.CACHE: f"batch {one.fixed}, {plural(one.queries, 'query', 'queries')} on a cache"}[one.along]
        title = f"Head dim {words.dim(one.family)}, {same}, {'keys' if one.along is Along.CACHE else 'queries and keys'} in the head"
        groups.setdefault(title, []).append(one)
    return list(groups.items())


def stands(facts: MapFacts) -> str:
    """Size, versions and day of a map, as Markdown: said once."""
    return per_device.stands(facts.header, f"{Count(len(facts.spots))} calls", recorded="begun")


def devices(maps: list[MapFacts]) -> Table:
    """A row per device with a map."""
    rows = ((Link(one.header.device.name, device_path(one)), Count(len(one.spots)), Count(len(one.default_is(Default.LOSES))),
             None if one.regret is None else words.longer(one.regret)) for one in maps)
    return Table(columns("Device", "#Calls", "#torch's pick loses at", "#on average"), tuple(rows))
