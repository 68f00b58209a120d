"""Devices side by side: rows are devices, beside the article's row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..analysis import SIX, RunFacts, State, VariantFacts, published
from ..analysis.ranking import rank
from ..questions import right_words
from ..run.workload import ARTICLE
from ..saying.tables import Link, Table, columns
from ..saying.units import Ratio, text
from . import board
from .cells import us
from .environment import page
from .glance import to_first
from .site import Site, device_name

PATH = "compare.md"


def render(site: Site) -> str:
    return page("compare.md.j2", PATH, devices=board.devices(site), gpu=times(site, "gpu_time", "gpu_time"), wall=times(site, "wall_time", None),
                host=times(site, "host_time", None), ratios=ratios(site), counts=counts(site), recorded_before=recorded_before(site))


def names(site: Site) -> tuple[str, ...]:
    """Every variant of any run, in the variants' order: `completed` gave each run an entry for all of them."""
    return tuple(site.featured.variants)


def _columns(site: Site, unit: str = "") -> tuple[Any, ...]:
    return columns("Device", "Workload", *(f"#{site.featured.variants[name].title}{unit}" for name in names(site)))


def _rows(site: Site, cell: Callable[[RunFacts, VariantFacts], Any], ranked: bool = False) -> list[tuple[object, ...]]:
    """A row per device. A variant without results shows why in a word: unavailable, failed, recorded before. ranked: the table ranks, so it shows who is not right everywhere."""
    def shown(facts: RunFacts, variant: VariantFacts) -> Any:
        found = cell(facts, variant) if variant.ok else variant.state.value
        return found if found is None or not ranked else f"{text(found)}{right_words.mark(facts, variant.id)}"

    return [(Link(device_name(facts), f"runs/{facts.slot}/index.md"), facts.workload.name, *(shown(facts, facts.variants[name]) for name in names(site)))
            for facts in site.runs]


def _article(site: Site, cell: Callable[[str], Any]) -> tuple[object, ...]:
    said = published.load()
    return (f"{said['device']['name']} (the article)", ARTICLE.name, *(cell(name) for name in names(site)))


def recorded_before(site: Site) -> bool:
    """True if some run is older than some variant, so that the words need explaining."""
    return any(variant.state is State.RECORDED_BEFORE for facts in site.runs for variant in facts.variants.values())


def times(site: Site, quantity: str, article: str | None) -> Table:
    """A quantity in µs, a row per device; the article's row first where it gives any."""
    rows = [_article(site, lambda name: us(published.of(name, article)))] if article else []
    rows += _rows(site, lambda _, variant: us(variant.time(quantity)), ranked=True)
    return Table(_columns(site, " (µs)"), tuple(rows))


def ratios(site: Site) -> Table:
    """Each variant's time over that of the fastest of the six on the same device: GPU time, or wall time where there is no GPU."""
    known = [published.of(name, "gpu_time") for name in SIX if published.of(name, "gpu_time")]

    def article(name: str) -> Any:
        value = published.of(name, "gpu_time")
        return Ratio(value / min(known)) if value and known else None

    def cell(facts: RunFacts, variant: VariantFacts) -> Any:
        return to_first(rank(facts), variant)

    notes = tuple(f"{device_name(facts)}: {note}" for facts in site.runs for note in right_words.mark_notes(facts, facts.variants))
    return Table(_columns(site), (_article(site, article), *_rows(site, cell, ranked=True)), notes=notes)


def counts(site: Site) -> Table:
    """Kernels + memcpys + memsets of one forward."""
    def cell(_: RunFacts, v: VariantFacts) -> str:
        return text(None) if v.kernels is None else f"{v.kernels} + {v.memcpys or 0} + {v.memsets or 0}"

    def article(name: str) -> str:
        kernels = published.of(name, "kernels")
        return text(None) if kernels is None else f"{kernels} + {published.of(name, 'memcpys') or 0}"

    return Table(_columns(site), (_article(site, article), *_rows(site, cell)))
