"""The first sentences of front page, README and terminal: who wins here, by how much, and what it costs. Each says what the ranking decided.

No sentence is typed for a device. Every function returns an empty string where the run cannot say it.
"""

from __future__ import annotations

from itertools import combinations

from ..analysis import FUSED, RunFacts, State, VariantFacts
from ..analysis.correctness import wrong
from ..analysis.first_calls import elsewhere
from ..analysis.pins import PINNED
from ..analysis.ranking import DefaultIs, Ranking, Standing, default, rank
from ..analysis.savings import saving
from ..numbers.statistics import PROCESSES
from ..run import DEFAULT
from ..saying.units import Count, Ratio, Saving, Seconds, extent, listed, plural
from .model import Leads
from .ranked import rivals_said, titles_said, wrong_said
from .right_words import CAUSAL, PLAIN, marked, unless

DEAR_FIRST_CALL = 20
"""A first call is worth a sentence from this multiple of the steady state on, in every process."""


def _time(facts: RunFacts, name: str, quantity: str) -> Seconds:
    return Seconds(facts.variants[name].times[quantity].median)


def _ratio(ranking: Ranking, slow: str, fast: str) -> str:
    """`, 1.58× as long`: the pair's one ratio; empty where the two share no processes."""
    ratio = ranking.ratio(slow, fast)
    return "" if ratio is None else f", {Ratio(ratio)} as long"


def leader(facts: RunFacts) -> str:
    """Which implementation is fastest, in the first sentence of `winner` where one is, and all of it else."""
    ranking = rank(facts)
    if ranking.standing is not Standing.ONE:
        return winner(facts)
    best, second = ranking.order[:2]
    return (f"{facts.variants[best].title} is the fastest here: {_time(facts, best, ranking.quantity.name)} of {ranking.quantity.label} per forward; "
            f"{facts.variants[second].title} needs {_time(facts, second, ranking.quantity.name)}{_ratio(ranking, second, best)}.{marked(facts, ranking.leaders)}")


def winner(facts: RunFacts) -> str:
    """Which implementation is fastest, and how far the next and the naive one are behind; or why nobody may be called so."""
    ranking = rank(facts)
    said = _SAID[ranking.standing](facts, ranking)
    wrong = ranking.out.get(State.WRONG, ())
    said += marked(facts, ranking.leaders)
    return said + (f" Not ranked, because the result is wrong: {listed([wrong_said(facts.variants[name]) for name in wrong])}." if wrong else "")


def _nobody(facts: RunFacts, ranking: Ranking) -> str:
    if ranking.rivals:
        return f"Nobody can be called the fastest here: {rivals_said(facts, ranking, ranking.rivals)}."
    return "No variant gave a right result on this device, so there is no winner." if ranking.out.get(State.WRONG) else "No variant ran on this device, so there is no winner."


def _alone(facts: RunFacts, ranking: Ranking) -> str:
    only = ranking.order[0]
    done = "gave a right result" if ranking.out.get(State.WRONG) else "ran"
    return f"Only **{facts.variants[only].title}** {done} here: {_time(facts, only, ranking.quantity.name)} of {ranking.quantity.label} per forward."


def _few(facts: RunFacts, ranking: Ranking) -> str:
    first = ranking.order[0]
    return (f"With {plural(ranking.processes, 'process', 'processes')} for each variant nobody can be called the fastest; {Count(PROCESSES)} are needed. "
            f"{facts.variants[first].title} has the smallest median: {_time(facts, first, ranking.quantity.name)} of {ranking.quantity.label} per forward.")


def _open(facts: RunFacts, ranking: Ranking) -> str:
    first = ranking.order[0]
    return (f"Who is fastest here cannot be decided: {rivals_said(facts, ranking, ranking.open)}. Of those that can be compared, "
            f"{facts.variants[first].title} needs least: {_time(facts, first, ranking.quantity.name)} of {ranking.quantity.label} per forward.")


def _medians(facts: RunFacts, ranking: Ranking) -> str:
    medians = [facts.variants[name].times[ranking.quantity.name].median for name in ranking.leaders]
    low, high = Seconds(min(medians)), Seconds(max(medians))
    return str(low) if str(low) == str(high) else extent(low, high)


def _tie(facts: RunFacts, ranking: Ranking) -> str:
    return (f"**{titles_said(facts, ranking.leaders)}** are the fastest here and cannot be told apart: {_medians(facts, ranking)} of {ranking.quantity.label} per forward."
            f"{_naive(facts, ranking)}")


def _unsteady(facts: RunFacts, ranking: Ranking) -> str:
    return (f"Who is fastest here cannot be told: the processes disagree by up to {Ratio(ranking.apart)} about {titles_said(facts, ranking.leaders)}, "
            f"whose medians are {_medians(facts, ranking)} of {ranking.quantity.label} per forward.")


def _one(facts: RunFacts, ranking: Ranking) -> str:
    best, second = ranking.order[:2]
    return (f"**{facts.variants[best].title} is the fastest here**: {_time(facts, best, ranking.quantity.name)} of {ranking.quantity.label} per forward. "
            f"{facts.variants[second].title} needs {_time(facts, second, ranking.quantity.name)}{_ratio(ranking, second, best)}.{_naive(facts, ranking, second)}")


def _naive(facts: RunFacts, ranking: Ranking, said: str | None = None) -> str:
    """How far naive attention is behind, where it is ranked, behind, and not told already."""
    if "naive" not in ranking.order or "naive" in ranking.leaders or said == "naive":
        return ""
    return f" Naive attention needs {_time(facts, 'naive', ranking.quantity.name)}{_ratio(ranking, 'naive', ranking.order[0])}."


_SAID = {Standing.NOBODY: _nobody, Standing.ALONE: _alone, Standing.FEW: _few, Standing.OPEN: _open, Standing.TIE: _tie, Standing.UNSTEADY: _unsteady, Standing.ONE: _one}


def alarm(facts: RunFacts) -> str:
    """That what an unpinned call gets here is wrong: the first thing that a reader must know."""
    chosen = default(facts, rank(facts))
    if chosen.standing is not DefaultIs.WRONG or chosen.variant is None:
        return ""
    right = [name for name in rank(facts).order if name in PINNED]
    cure = f" Pin another backend until that is mended: `sdpa_kernel({PINNED[right[0]].pin})` gives a right result here." if right else ""
    return f"**Unpinned, PyTorch picks {facts.variants[chosen.variant].title} here, and its result is wrong**: {wrong_said(facts.variants[chosen.variant])}.{cure}"


def wall(facts: RunFacts) -> str:
    """Whether the winner on the GPU still wins when Python launches it."""
    on_gpu, in_loop = rank(facts), rank(facts, "wall_time")
    best = on_gpu.winner
    if facts.device.kind == "cpu" or on_gpu.standing is not Standing.ONE or best is None or best not in in_loop.order or len(in_loop.order) < 2 or in_loop.processes < PROCESSES:
        return ""
    place = in_loop.place(best)
    cost = f"called back to back from Python it takes {_time(facts, best, 'wall_time')} of wall time per forward"
    if place.faster:
        first = in_loop.order[0]
        return f"The order changes when Python does the launching: {cost}, and {facts.variants[first].title} takes {_time(facts, first, 'wall_time')}.{_pace(facts, facts.variants[best])}"
    if place.ties:
        return f"When Python does the launching it cannot be told apart from {titles_said(facts, place.ties)}: {cost}."
    return f"It stays in front when Python does the launching: {cost}."


def _pace(facts: RunFacts, variant: VariantFacts) -> str:
    """That the CPU sets the pace, where a call costs it more than the GPU works."""
    host, gpu = variant.host_time, variant.gpu_time
    if not facts.host_told or host is None or gpu is None or host.median <= gpu.median:
        return ""
    return f" A call keeps the CPU {Seconds(host.median)}, longer than the GPU works, so the CPU sets that pace."


def cpu_cost(facts: RunFacts) -> str:
    """Host time of the fused backends, cheapest first; those told apart by no pair share one sentence."""
    ranking = rank(facts, "host_time", FUSED)
    if not facts.host_told or len(ranking.order) < 2 or ranking.processes < PROCESSES or facts.device.kind == "cpu":
        return ""
    ties = [(a, b) for a, b in combinations(ranking.order, 2) if ranking.pair(a, b).winner is None]
    medians = [facts.variants[name].times["host_time"].median for name in ranking.order]
    if len(ties) == len(list(combinations(ranking.order, 2))):
        if any(ranking.pair(a, b).unsteady for a, b in ties):
            return f"What a call costs the CPU cannot be told for {titles_said(facts, ranking.order)}: the processes disagree by up to {Ratio(ranking.apart)} (medians {extent(medians[0], medians[-1])})."
        about = str(Seconds(medians[0])) if str(Seconds(medians[0])) == str(Seconds(medians[-1])) else extent(medians[0], medians[-1])
        return f"Their cost on the CPU cannot be told apart: about {about} per call for {titles_said(facts, ranking.order)}."
    calls = ", ".join(f"{_time(facts, name, 'host_time')} for {facts.variants[name].title}" for name in ranking.order)
    level = "; ".join(titles_said(facts, pair) for pair in ties)
    return f"A call costs the CPU {calls}" + (f" ({level} cannot be told apart)." if level else ".")


def first_call(facts: RunFacts) -> str:
    """The dearest first call of a fused backend, where it is far above the steady state in every process."""
    known = [v for name in FUSED if facts.host_told and facts.ok(name) and (v := facts.variants[name]).first_call and v.host_time]
    worst = max(known, key=lambda v: v.times["first_call"].low, default=None)
    if worst is None or worst.first_call is None or worst.host_time is None or worst.first_call.low < DEAR_FIRST_CALL * worst.host_time.median:
        return ""
    again = worst.first_call_new_shape
    shape = f", and {extent(again.low, again.high)} at a new shape" if again and again.low >= DEAR_FIRST_CALL * worst.host_time.median else ""
    rest = elsewhere(worst)
    opening = f" ({Seconds(worst.first_call.samples[0])} in the run's first process)" if rest else ""
    usual = rest or worst.first_call
    return f"The first call in a process is another matter: {extent(usual.low, usual.high)} for {worst.title}{opening}{shape}."


def default_backend(facts: RunFacts) -> str:
    """What PyTorch picks when nothing is pinned, beside the fastest."""
    ranking = rank(facts)
    chosen = default(facts, ranking)
    if chosen.variant is None or chosen.standing in (DefaultIs.UNKNOWN, DefaultIs.WRONG):
        return ""
    title = facts.variants[chosen.variant].title
    picks = f"Unpinned, PyTorch picks {title}"
    if chosen.standing in (DefaultIs.WINNER, DefaultIs.LEVEL):
        return _nothing_to_pin(facts, picks) if ranking.standing is not Standing.ALONE else f"{picks} here."
    if chosen.standing is DefaultIs.UNRANKED:
        return f"{picks} here, and this run has no {ranking.quantity.label} of it to compare."
    best = ranking.order[0]
    if chosen.standing is DefaultIs.SLOWER and best in PINNED:
        limits = unless(facts, Leads("pinned", this_shape=True), {"pinned": best.removeprefix("sdpa_")})
        return f"{picks} here. Pin {facts.variants[best].title} to get the fastest. {limits}".strip() if ranking.winner == best else f"{picks} here; {titles_said(facts, ranking.leaders)} are faster."
    return f"{picks} here."


def call(facts: RunFacts) -> str:
    """The call to write, and what PyTorch picks for it: the call alone stands where nothing is to be pinned."""
    written = f"Call `F.scaled_dot_product_attention(q, k, v{', is_causal=True' if facts.workload.causal else ''})`. " if picks_the_fastest(facts) else ""
    return f"{written}{default_backend(facts)}"


def _nothing_to_pin(facts: RunFacts, picks: str) -> str:
    """Said with the conditions under which the unpinned call is right, where it is not right for every call on this device."""
    if not wrong(facts):
        return f"{picks} for this shape, so there is nothing to pin for speed."
    limits = unless(facts, Leads(DEFAULT, PLAIN, this_shape=True), {})
    return f"{picks} for this shape; with no `attn_mask` and no gradients there is nothing to pin for speed. {limits}".strip()


def picks_the_fastest(facts: RunFacts) -> bool:
    """True if PyTorch's own choice is the fastest here, or not to be told apart from it."""
    return default(facts, rank(facts)).standing in (DefaultIs.WINNER, DefaultIs.LEVEL)


def by_hand_saves(facts: RunFacts) -> Saving | None:
    """What the call of `by_hand` saves over attention written by hand."""
    chosen = default(facts, rank(facts)).variant
    return saving(facts, "naive", chosen) if chosen else None


def by_hand(facts: RunFacts) -> str:
    """What the one call gives over attention written by hand, where this run shows that it is faster and right."""
    ranking = rank(facts)
    chosen = default(facts, ranking)
    if chosen.variant not in ranking.order or "naive" not in ranking.order or ranking.pair(chosen.variant, "naive").winner != chosen.variant:
        return ""
    in_a_loop = facts.compare("wall_time", chosen.variant, "naive")
    if in_a_loop is not None and in_a_loop.winner != "first":  # where the CPU sets the pace nothing is gained
        return ""
    ratio = ranking.ratio("naive", chosen.variant)
    return (f"Where attention is written by hand and there are as many queries as keys, call `F.scaled_dot_product_attention(q, k, v, is_causal=True)`: left alone it runs {facts.variants[chosen.variant].title} here, "
            f"and naive attention takes {Ratio(ratio or 1.0)} its {ranking.quantity.label}. {unless(facts, Leads(DEFAULT, CAUSAL), {})}").strip()
