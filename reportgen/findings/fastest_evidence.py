"""Tables and charts of the ranking page: hot, cold and wall times, and which pin answered."""

from __future__ import annotations

from ..analysis import SIX, RunFacts, VariantFacts, published
from ..analysis.pins import PINNED, own_op
from ..analysis.ranking import Ranking, rank
from ..questions import pipe_words
from ..questions.bar_charts import time_bars
from ..questions.model import Chart, Evidence
from ..questions.needs import refusal
from ..questions.ranked import interval, timers_used
from ..questions.right_words import ON_ITS_PAGE, listed_notes, mark
from ..saying.tables import Code, Table, columns
from ..saying.units import Ratio, Seconds

_CLOCKS = (
    ("gpu_time", "GPU time per forward, hot caches", "hot"),
    ("gpu_time_cold", "GPU time per forward, cold caches", "cold"),
    ("wall_time", "Wall time per forward in an eager loop", "wall"),
)


def evidence(facts: RunFacts) -> Evidence:
    charts = [chart for quantity, what, suffix in _CLOCKS for chart in _bars(facts, quantity, what, suffix)]
    return Evidence(tables=(*_times_table(facts), *pipe_words.table(facts), *_pin_table(facts)), charts=tuple(charts[:1]))  # the table has the other clocks beside


def _bars(facts: RunFacts, quantity: str, what: str, suffix: str) -> tuple[Chart, ...]:
    shown = [variant for variant in facts.six if variant.ok and variant.time(quantity)]
    marks = [published.of(variant.id, "gpu_time") for variant in shown] if quantity == "gpu_time" and published.same_workload(facts) else None
    caption = f"{what}; bars are medians over fresh processes, whiskers the smallest and the largest" + ("; in grey the article's averages under the profiler." if marks else ".")
    return time_bars(f"fastest-{suffix}", [(variant, variant.time(quantity)) for variant in shown], what, caption, reference=marks, reference_label="the article" if marks else None, reference_as="beside")


def _times_table(facts: RunFacts) -> tuple[Table, ...]:
    ranking = rank(facts)
    if not ranking.order:
        return ()
    words = "wall time on the CPU" if facts.device.kind == "cpu" else ranking.quantity.label
    beside = published.same_workload(facts)
    heads = ["Variant", "#GPU time, hot", "#GPU time, cold", "#Wall time", f"#÷ {'fastest' if ranking.winner else 'the smallest'} ({words})",
             *(["#The article's GPU time"] if beside else []), "Why it is not ranked"]
    rows = tuple(_row(variant, ranking, beside, mark(facts, variant.id)) for variant in facts.six)
    return (Table(columns(*heads), rows, caption="Time of one forward: the median of the processes, with the smallest and the largest where they read otherwise.", notes=(*_notes(facts, beside), *listed_notes(facts, ranking.order, ON_ITS_PAGE))),)


def _notes(facts: RunFacts, beside: bool) -> tuple[str, ...]:
    timers = timers_used(facts, SIX)
    some = ", where there are any," if any(variant.ok and not variant.gpu_time for variant in facts.six) else ""
    without = "without it" if beside else "without the profiler"
    mixed = rank(facts, "gpu_time").mixed_timers
    here = (f"GPU times here{some} are medians taken {without}: {timers}" if mixed else f"GPU times here{some} are medians of {timers} {without}") if timers else None
    said = [*(["The article's times are averages under the profiler"] if beside else []), *([here] if here else [])]
    return ("; ".join(said) + ".",) if said else ()


def _row(variant: VariantFacts, ranking: Ranking, beside: bool, marked: str) -> tuple[object, ...]:
    ratio = ranking.ratio(variant.id, ranking.order[0]) if variant.id in ranking.order and _comparable(ranking, variant.id) else None
    article = published.of(variant.id, "gpu_time")
    return (f"{variant.title}{marked}", interval(variant.gpu_time), interval(variant.gpu_time_cold), interval(variant.wall_time), None if ratio is None else Ratio(ratio),
            *([None if article is None else Seconds(article)] if beside else []), _why(variant, ranking))


def _comparable(ranking: Ranking, name: str) -> bool:
    return name == ranking.order[0] or ranking.pair(name, ranking.order[0]).comparable


def _why(variant: VariantFacts, ranking: Ranking) -> str | None:
    """Why a variant has no place: torch's own words, what was wrong, or what kept its time from being taken."""
    if not variant.ok:
        return refusal(variant.reason or variant.state.value)
    rival = next((rival for rival in ranking.rivals if rival.variant == variant.id), None)
    return (rival.reason or f"no {ranking.quantity.label}").rstrip(".") if rival else None


def _pin_table(facts: RunFacts) -> tuple[Table, ...]:
    """One line per backend: which op its pin put into the trace, and whether it is the choice of an unpinned call."""
    default = facts.probes.default_backend.op if facts.probes.default_backend else None
    rows = []
    for name, backend in PINNED.items():
        variant = facts.variants.get(name)
        if variant is not None:
            seen = own_op(variant) if variant.ops else None
            rows.append((variant.title, Code(seen or backend.ops[0]), variant.state.value if not (variant.ok or variant.ops) else "yes" if seen else "no",
                         None if default is None else "yes" if default in backend.ops else "no"))
    if not rows:
        return ()
    return (Table(columns("Pinned", "The backend's own op", "In the trace", "Picked unpinned"), tuple(rows), caption="What each pin put into the trace."),)
