"""Charts that pages draw themselves: the overview and one forward's lanes."""

from __future__ import annotations

from ..analysis import SIX, OpFacts, RunFacts, VariantFacts, published
from ..analysis.ranking import Ranking, Standing, drawn, rank
from ..numbers.quantities import heading
from ..questions import drawings
from ..questions.model import Chart
from ..questions.ranked import titles_said
from ..saying.units import Seconds, listed, plural
from .site import device_name

US = 1e6


def overview(facts: RunFacts) -> Chart | None:
    """The decisive time of every variant, the shortest first, with the article's values beside."""
    ranking, row = rank(facts), drawn(facts)
    quantity = row.name
    shown = [v for v in facts.variants.values() if v.ok]
    known = sorted([(v, time) for v in shown if (time := v.time(quantity))], key=lambda pair: pair[1].median)
    if not known:
        return None
    article = [published.of(v.id, "gpu_time") if quantity == "gpu_time" and published.same_workload(facts) else None for v, _ in known]
    data = {"labels": [v.title for v, _ in known], "ids": [v.id for v, _ in known], "unit": "µs",
            "values": [t.median * US for _, t in known], "low": [t.low * US for _, t in known], "high": [t.high * US for _, t in known]}
    if any(article):
        data["reference"] = [None if value is None else value * US for value in article]
        data["reference_label"] = f"the article, on its {published.load()['device']['name']}"
        data["reference_as"] = "beside"
    times = listed([f"{v.title} {Seconds(t.median)}" for v, t in known])
    caption = f"{heading(row.label)} of one forward; whiskers, where wide enough to be seen, span the processes."
    return Chart("overview", "bars", data, f"{_first(facts, ranking)}{heading(row.label)} of one forward: {times}.", caption)


def _first(facts: RunFacts, ranking: Ranking) -> str:
    """Who leads, where somebody may be called so: among how many."""
    if ranking.standing not in (Standing.ONE, Standing.TIE):
        return ""
    of = "the six" if len(ranking.order) == len(SIX) else f"the {len(ranking.order)} that are ranked"
    return f"{titles_said(facts, ranking.leaders)} {'is' if len(ranking.leaders) == 1 else 'are'} the fastest of {of} on {device_name(facts)}. "


def forwards(facts: RunFacts) -> Chart | None:
    """The GPU lanes of all variants under each other, the shortest first; `None` without a GPU lane."""
    shown = sorted([v for v in facts.variants.values() if v.ok and v.activities], key=lambda v: sum(a.duration for a in v.activities))
    caption = "One forward of each on one time axis, under the profiler; without the profiler the gaps differ."
    return next(iter(drawings.forwards("forwards", shown, caption)), None)


def lanes(variant: VariantFacts) -> Chart | None:
    """CPU ops and GPU activities of one typical forward, or `None` without a trace."""
    if not variant.ops and not variant.activities:
        return None
    data = {"ops": [(op.name, op.start * US, op.duration * US, depth) for op, depth in _depths(variant.ops)],
            "launches": [a.launch_start * US for a in variant.activities],
            "activities": [(a.role, a.kind, a.start * US, a.duration * US, a.launch_start * US) for a in variant.activities]}
    top = sum(1 for _, depth in _depths(variant.ops) if depth == 0)
    gpu = f"the GPU runs {plural(len(variant.activities), 'activity', 'activities')}" if variant.activities else "what the GPU ran is not known"
    return Chart(f"lanes-{variant.id}", "lanes", data,
                 f"One forward of {variant.title}: the CPU dispatches {plural(len(variant.ops), 'op')}, {top} at the top level; {gpu}.",
                 "One forward under the profiler" + (", onto an empty queue: without the profiler the gaps differ." if variant.activities else "."))


def _depths(ops: tuple[OpFacts, ...]) -> list[tuple[OpFacts, int]]:
    """Each op with its depth below the outermost recorded one."""
    shallowest = min((len(op.path) for op in ops), default=1)
    return [(op, len(op.path) - shallowest) for op in ops]
