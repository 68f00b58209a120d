"""The six at a glance: what a reader in a hurry compares, in one small table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

from ..analysis import RunFacts, VariantFacts
from ..analysis.ranking import Ranking, Standing, drawn, rank
from ..numbers.quantities import heading
from ..questions import right_words
from ..questions.ranked import too_few
from ..saying.tables import Link, Table, columns
from ..saying.units import Seconds, listed, plural
from . import scripts
from .cells import Bar, error, us
from .rows import to_first
from .summaries import variant_link, without_empty

_BESIDE = "—: an extra beside the article's six is not ranked among them, and not everything is measured of it."

Notes = Callable[[RunFacts, Iterable[str]], tuple[str, ...]]


def table(facts: RunFacts, marked: Notes = right_words.listed_notes, with_scripts: bool = False) -> Table:
    """The deciding time with a bar, its ratio to the first, what a call costs the CPU, the kernels, the error; a row per variant, the quickest first.

    A variant without a right result shows its state, and its error where it has one; what nobody measured is no column.
    marked: what is said of variants with a mark; the page that shows the list of unsafe calls says less.
    with_scripts: of the featured run, whose bars have scripts.
    """
    row, ranking = drawn(facts), rank(facts)
    titles = columns("Variant", f"#{heading(row.label)} (µs)", f"#{to_first_head(ranking)}", "To scale", "#A call costs the CPU (µs)", "#Kernels", "#Error")
    notes = _fewer(facts, row.name, ranking.processes)
    longest = max((median for v in facts.variants.values() if (median := _median(v, row.name)) < math.inf), default=0.0)
    shown = sorted(facts.variants.values(), key=lambda v: _median(v, row.name))
    beside = any(v.ok and v.time(row.name) and v.id not in ranking.order for v in facts.variants.values())
    notes = (*notes, *((_BESIDE,) if beside else ()), *marked(facts, facts.variants))
    rows = tuple(_row(facts, variant, row.name, ranking, longest) for variant in shown)
    found = [_script(facts, variant) for variant in shown] if with_scripts else []
    if any(found):
        titles, rows = (*titles, *columns("Run it yourself")), tuple((*cells, script) for cells, script in zip(rows, found))
    return without_empty(Table(titles, rows, notes=notes))


def _fewer(facts: RunFacts, quantity: str, processes: int) -> tuple[str, ...]:
    """Whose time is from fewer processes than the others', and that no verdict follows from so few; nothing where all have as many."""
    counts: dict[int, list[str]] = {}
    for variant in facts.variants.values():
        if variant.ok and (time := variant.time(quantity)) and len(time.samples) < processes:
            counts.setdefault(len(time.samples), []).append(variant.title)
    said = " ".join(f"{listed(titles)}: {too_few(count)}." for count, titles in counts.items())
    return (f"{said} The others: medians over {plural(processes, 'fresh process', 'fresh processes')}.",) if said else ()


def _script(facts: RunFacts, variant: VariantFacts) -> Link | None:
    return Link("script", scripts.path(variant.id)) if scripts.has(facts, variant.id) else None


def _median(variant: VariantFacts, quantity: str) -> float:
    """Infinite for a variant without a right result or without a time, so that it comes last."""
    time = variant.time(quantity) if variant.ok else None
    return math.inf if time is None else time.median


def to_first_head(ranking: Ranking) -> str:
    """What the ratio's column is called: nobody is *the fastest* where the ranking calls nobody so."""
    return "× the fastest" if _has_fastest(ranking) else "× the smallest median"


def _has_fastest(ranking: Ranking) -> bool:
    return ranking.standing in (Standing.ONE, Standing.TIE, Standing.ALONE)


def _row(facts: RunFacts, variant: VariantFacts, quantity: str, ranking: Ranking, longest: float) -> tuple[object, ...]:
    if not variant.ok:
        return (variant_link(variant), variant.state.value, None, None, None, None, error(variant.relative_error))
    time = variant.time(quantity)
    bar = Bar(variant.id, time.median / longest) if time and longest else None
    return (variant_link(variant, right_words.mark(facts, variant.id)), us(time), to_first(ranking, variant), bar, us(variant.host_time), variant.kernels, error(variant.relative_error))


def sentence_of(facts: RunFacts, variant: VariantFacts) -> str:
    """One variant's row as a sentence: its time, how far it is from the first, what a call costs the CPU; empty without a time."""
    row, ranking = drawn(facts), rank(facts)
    time, ratio = variant.time(row.name) if variant.ok else None, to_first(ranking, variant)
    if time is None:
        return ""
    behind = f", {ratio} the {'fastest' if _has_fastest(ranking) else 'smallest median'}" if ratio and variant.id not in ranking.leaders else ""
    call = f" A call costs the CPU {Seconds(variant.host_time.median)}." if variant.host_time and facts.host_told and row.name != "wall_time" else ""
    return f"**{Seconds(time.median)}** of {row.label} per forward{behind}.{call}{right_words.marked(facts, [variant.id])}"
