"""Devices side by side: rows are devices, beside the article's row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..analysis import SIX, State, published
from ..run.workload import ARTICLE
from ..saying.tables import Link, Table, columns
from ..saying.units import Ratio, text
from . import board, crowd, history
from .cells import us
from .environment import page
from .rows import VariantRow
from .site import Site

PATH = "compare.md"


def render(site: Site) -> str:
    return page("compare.md.j2", PATH, devices=board.devices(site), gpu=times(site, lambda variant: variant.gpu_time, "gpu_time"), wall=times(site, lambda variant: variant.wall_time, None),
                host=times(site, lambda variant: variant.host_time, None), ratios=ratios(site), counts=counts(site), recorded_before=recorded_before(site), histories=history.links(site))


def names(site: Site) -> tuple[str, ...]:
    """Every variant of any run, in the variants' order: `completed` gave each run an entry for all of them."""
    return tuple(site.featured.variants)


def _columns(site: Site, unit: str = "") -> tuple[Any, ...]:
    return columns("Device", "Workload", *(f"#{site.featured.variants[name].title}{unit}" for name in names(site)))


def _rows(site: Site, cell: Callable[[VariantRow], str | None], ranked: bool = False) -> list[tuple[object, ...]]:
    """A row per device. A variant without results shows why in a word: unavailable, failed, recorded before. ranked: the table ranks, so it shows who is not right everywhere."""
    def shown(variant: VariantRow | None) -> str | None:
        if variant is None:
            return State.RECORDED_BEFORE.value
        found = cell(variant) if variant.ok else variant.state
        return found if found is None or not ranked else f"{found}{variant.mark}"

    return [(Link(row.name, row.page), row.workload.name, *(shown(row.variants.get(name)) for name in names(site))) for row in site.rows]


def _article(site: Site, cell: Callable[[str], Any]) -> tuple[object, ...]:
    said = published.load()
    return (f"{said['device']['name']} (the article)", ARTICLE.name, *(cell(name) for name in names(site)))


def recorded_before(site: Site) -> bool:
    """True if some run is older than some variant, so that the words need explaining."""
    return any(name not in row.variants for row in site.rows for name in names(site))


def times(site: Site, time: Callable[[VariantRow], str | None], article: str | None) -> Table:
    """A quantity in µs, a row per device; the article's row first where it gives any."""
    rows = [_article(site, lambda name: us(published.of(name, article)))] if article else []
    rows += _rows(site, time, ranked=True)
    return Table(_columns(site, " (µs)"), tuple(rows))


def ratios(site: Site) -> Table:
    """Each variant's time over that of the fastest of the six on the same device: GPU time, or wall time where there is no GPU."""
    known = [published.of(name, "gpu_time") for name in SIX if published.of(name, "gpu_time")]

    def article(name: str) -> Any:
        value = published.of(name, "gpu_time")
        return Ratio(value / min(known)) if value and known else None

    notes = crowd.shared_notes(site.rows) if crowd.many(site) else tuple(f"{row.name}: {note}" for row in site.rows for note in row.notes)
    return Table(_columns(site), (_article(site, article), *_rows(site, lambda variant: variant.ratio, ranked=True)), notes=notes)


def counts(site: Site) -> Table:
    """Kernels + memcpys + memsets of one forward."""
    def cell(v: VariantRow) -> str:
        return text(None) if v.kernels is None else f"{v.kernels} + {v.memcpys or 0} + {v.memsets or 0}"

    def article(name: str) -> str:
        kernels = published.of(name, "kernels")
        return text(None) if kernels is None else f"{kernels} + {published.of(name, 'memcpys') or 0}"

    return Table(_columns(site), (_article(site, article), *_rows(site, cell)))
