"""Tables and charts of the ranking page: hot, cold and wall times, and which pin answered."""

from __future__ import annotations

from ..analysis import SIX, RunFacts, VariantFacts, published
from ..analysis.pins import PINNED, own_op
from ..questions.bar_charts import time_bars
from ..questions.model import Chart, Evidence
from ..questions.needs import refusal
from ..saying.tables import Code, Table, columns
from ..saying.units import Ratio, Seconds
from .rankings import Quantity, deciding, interval, measured, quickest, time_of

_CLOCKS: tuple[tuple[Quantity, str, str], ...] = (
    ("gpu_time", "GPU time per forward, hot caches", "hot"),
    ("gpu_time_cold", "GPU time per forward, cold caches", "cold"),
    ("wall_time", "Wall time per forward in an eager loop", "wall"),
)


def evidence(facts: RunFacts) -> Evidence:
    charts = [chart for quantity, what, suffix in _CLOCKS for chart in _bars(facts, quantity, what, suffix)]
    return Evidence(tables=(*_times_table(facts), *_pin_table(facts)), charts=tuple(charts))


def _bars(facts: RunFacts, quantity: Quantity, what: str, suffix: str) -> tuple[Chart, ...]:
    shown = measured(facts, SIX, quantity)
    marks = [published.of(variant.id, "gpu_time") for variant in shown] if quantity == "gpu_time" else None
    caption = f"{what}; bars are medians over fresh processes, whiskers the smallest and the largest" + ("; marks are the article's averages under the profiler." if marks else ".")
    return time_bars(f"fastest-{suffix}", [(variant, time_of(variant, quantity)) for variant in shown], what, caption, reference=marks)


def _times_table(facts: RunFacts) -> tuple[Table, ...]:
    quantity, words = deciding(facts)
    first = quickest(facts, SIX, quantity)
    if first is None:
        return ()
    best = time_of(first, quantity).median  # type: ignore[union-attr]
    rows = tuple(_row(variant, quantity, best) for variant in facts.six)
    titles = columns("Variant", "#GPU time, hot", "#GPU time, cold", "#Wall time", f"#÷ fastest ({words})", "#The article's GPU time", "Why it did not run")
    return (Table(titles, rows, caption="Time of one forward: the median of the processes, with the smallest and the largest.",
                  notes=("The article's times are averages under the profiler; GPU times here are medians of graph replays without it.",)),)


def _row(variant: VariantFacts, quantity: Quantity, best: float) -> tuple[object, ...]:
    time, article = time_of(variant, quantity), published.of(variant.id, "gpu_time")
    return (variant.title, interval(variant.gpu_time), interval(variant.gpu_time_cold), interval(variant.wall_time),
            Ratio(time.median / best) if time else None, None if article is None else Seconds(article),
            None if variant.ok else refusal(variant.reason or variant.state.value))


def _pin_table(facts: RunFacts) -> tuple[Table, ...]:
    """One line per backend: which op its pin put into the trace, and whether it is the choice of an unpinned call."""
    default = facts.probes.default_backend.op if facts.probes.default_backend else None
    rows = []
    for name, backend in PINNED.items():
        variant = facts.variants.get(name)
        if variant is not None:
            seen = own_op(variant) if variant.ok else None
            rows.append((variant.title, Code(seen or backend.ops[0]), "did not run" if not variant.ok else "yes" if seen else "no",
                         None if default is None else "yes" if default in backend.ops else "no"))
    if not rows:
        return ()
    return (Table(columns("Pinned", "The backend's own op", "In the trace", "Picked unpinned"), tuple(rows), caption="What each pin put into the trace."),)
