"""The front page's first sentences: who wins here, by how much, and what it costs. Each picks a case from facts.

No sentence is typed for a device. Every function returns an empty string where the run cannot say it.
"""

from __future__ import annotations

import re

from ..analysis import SIX, RunFacts, VariantFacts
from ..numbers.statistics import Estimate, compare
from ..saying.units import Ratio, Seconds, extent, listed
from .site import Site, device_name, software
from .summaries import fused_by_host_time

QUANTITIES = {"gpu_time": "GPU time", "wall_time": "wall time", "host_time": "CPU time"}


def decisive(facts: RunFacts) -> str:
    """The quantity that ranks variants here: GPU time where there is any, else wall time."""
    return "gpu_time" if any(v.gpu_time for v in facts.six) else "wall_time"


def ranked(facts: RunFacts, quantity: str) -> list[tuple[VariantFacts, Estimate]]:
    """The article's six that ran and have the quantity, fastest first; ties keep the variants' order."""
    known = [(facts.variants[n], facts.variants[n].time(quantity)) for n in SIX if facts.ok(n) and facts.variants[n].time(quantity)]
    return sorted(known, key=lambda pair: pair[1].median)


def fastest(facts: RunFacts) -> list[VariantFacts]:
    """The fastest of the six by the decisive quantity, and those that cannot be told apart from it."""
    quantity = decisive(facts)
    order = ranked(facts, quantity)
    return [v for index, (v, time) in enumerate(order) if index == 0 or compare(order[0][1], time, facts.floor_of(quantity, order[0][0].id, v.id)).winner == "tie"]


def winner(facts: RunFacts) -> str:
    """Which implementation is fastest, and how far the next and the naive one are behind."""
    quantity = decisive(facts)
    order = ranked(facts, quantity)
    if not order:
        return "No variant ran on this device, so there is no winner."
    name, (best, least) = QUANTITIES[quantity], order[0]
    if len(order) == 1:
        return f"Only **{best.title}** ran here: {Seconds(least.median)} of {name} per forward."
    alike = [v.title for v in fastest(facts)]
    if len(alike) > 1:
        first = f"**{listed(alike)}** are the fastest here and cannot be told apart: {Seconds(least.median)} of {name} per forward."
    else:
        second, time = order[1]
        first = (f"**{best.title} is the fastest here**: {Seconds(least.median)} of {name} per forward. "
                 f"{second.title} needs {Seconds(time.median)}, {_times(least, time)} as long.")
    naive = next((time for v, time in order if v.id == "naive"), None)
    return f"{first} Naive attention needs {Seconds(naive.median)}, {_times(least, naive)} as long." if naive and best.id != "naive" else first


def wall(facts: RunFacts) -> str:
    """Whether the winner on the GPU still wins when Python launches it."""
    if decisive(facts) != "gpu_time":
        return ""
    on_gpu, in_loop = ranked(facts, "gpu_time"), ranked(facts, "wall_time")
    if len(on_gpu) < 2 or len(in_loop) < 2:
        return ""
    best, first = on_gpu[0][0], in_loop[0][0]
    time = facts.variants[best.id].wall_time
    if time is None:
        return ""
    cost = f"called back to back from Python it takes {Seconds(time.median)} of wall time per forward"
    level = [v.title for v, other in in_loop if v.id != best.id and compare(time, other, facts.floor_of("wall_time", best.id, v.id)).winner == "tie"]
    if level:
        return f"When Python does the launching it cannot be told apart from {listed(level)}: {cost}."
    if first.id == best.id:
        return f"It stays in front when Python does the launching: {cost}."
    return f"The order changes when Python does the launching: {cost}, and {first.title} takes {Seconds(in_loop[0][1].median)}.{_pace(facts.variants[best.id])}"


def _pace(variant: VariantFacts) -> str:
    """That the CPU sets the pace, where a call costs it more than the GPU works."""
    host, gpu = variant.host_time, variant.gpu_time
    if host is None or gpu is None or host.median <= gpu.median:
        return ""
    return f" A call keeps the CPU {Seconds(host.median)}, longer than the GPU works, so the CPU sets that pace."


def cpu_cost(facts: RunFacts) -> str:
    """Host time of the fused backends, cheapest and dearest."""
    order = fused_by_host_time(facts)
    if len(order) < 2 or facts.device.kind == "cpu":
        return ""
    cheap, dear = order[0], order[-1]
    assert cheap.host_time and dear.host_time
    if compare(cheap.host_time, dear.host_time, facts.floor_of("host_time", cheap.id, dear.id)).winner == "tie":
        return f"Their cost on the CPU cannot be told apart: about {Seconds(cheap.host_time.median)} per call for {listed([v.title for v in order])}."
    calls = ", ".join(f"{Seconds(v.host_time.median)} for {v.title}" for v in order if v.host_time)
    level = [f"{a.title} and {b.title}" for a, b in zip(order, order[1:])
             if a.host_time and b.host_time and compare(a.host_time, b.host_time, facts.floor_of("host_time", a.id, b.id)).winner == "tie"]
    return f"A call costs the CPU {calls}" + (f" ({listed(level)} cannot be told apart)." if level else ".")


def first_call(facts: RunFacts) -> str:
    """The dearest first call of a fused backend, where it is far above the steady state in every process."""
    known = [v for v in fused_by_host_time(facts) if v.first_call and v.host_time]
    if not known:
        return ""
    worst = max(known, key=lambda v: v.first_call.low if v.first_call else 0.0)
    assert worst.first_call and worst.host_time
    if worst.first_call.low < 20 * worst.host_time.median:
        return ""
    again = worst.first_call_new_shape
    shape = f", and {extent(again.low, again.high)} at a new shape" if again and again.low >= 20 * worst.host_time.median else ""
    return f"The first call in a process is another matter: {extent(worst.first_call.low, worst.first_call.high)} for {worst.title}{shape}."


def default_backend(facts: RunFacts) -> str:
    """What PyTorch picks when nothing is pinned, beside the fastest."""
    chosen, order = _default(facts), ranked(facts, decisive(facts))
    if chosen is None or not order:
        return ""
    best = order[0][0]
    if picks_the_fastest(facts):
        return f"Unpinned, PyTorch picks {chosen.title} for this shape, so there is nothing to pin for speed."
    if not best.id.startswith("sdpa_"):
        return f"Unpinned, PyTorch picks {chosen.title} here."
    return f"Unpinned, PyTorch picks {chosen.title} here. Pin {best.title} to get the fastest."


def _default(facts: RunFacts) -> VariantFacts | None:
    probe = facts.probes.default_backend
    return facts.variants.get(f"sdpa_{probe.name}") if probe else None


def picks_the_fastest(facts: RunFacts) -> bool:
    """True if PyTorch's own choice is the fastest here, or not to be told apart from it."""
    chosen, order = _default(facts), ranked(facts, decisive(facts))
    if chosen is None or not order:
        return False
    best, least = order[0]
    time = chosen.time(decisive(facts))
    return chosen.id == best.id or bool(time and compare(least, time, facts.floor_of(decisive(facts), chosen.id, best.id)).winner == "tie")


def introduction(facts: RunFacts) -> str:
    """Where the numbers on the page come from."""
    return f"{device_name(facts)}, {software(facts)}; {facts.workload.describe()}."


def by_hand(facts: RunFacts) -> str:
    """What the one call gives over attention written by hand, where this run shows that it is faster."""
    chosen, quantity = _default(facts), decisive(facts)
    naive = facts.variants.get("naive")
    if chosen is None or naive is None or not chosen.ok or not naive.ok:
        return ""
    time, by_itself = chosen.time(quantity), naive.time(quantity)
    if time is None or by_itself is None or compare(time, by_itself, facts.floor_of(quantity, chosen.id, naive.id)).winner != "first":
        return ""
    return (f"Where attention is written by hand, call `F.scaled_dot_product_attention(q, k, v, is_causal=True)`: left alone it runs {chosen.title} here, "
            f"and naive attention takes {_times(time, by_itself)} its {QUANTITIES[quantity]}.")


ACTIONABLE = ("flash-fastest", "sdpa-pin", "cudnn-cpu-cost", "math-slower", "memcpy-hidden", "math-mask-rebuilt", "math-safe-softmax")
"""The claims whose advice a busy engineer can act on today, in that order; the rest is on the findings' pages."""


def advice(site: Site, facts: RunFacts) -> list[tuple[str, str, str]]:
    """What to change in one's code: (the advice's first sentence, finding's title, page), each once.

    Nobody is told to pin what PyTorch picks by itself.
    """
    outcomes = site.outcomes[facts.slot]
    out: dict[str, tuple[str, str, str]] = {}
    hand = by_hand(facts)
    if hand and any(finding.slug == "fastest" for finding in site.findings):
        out[hand] = (hand, site.finding_of("flash-fastest").title, "findings/fastest.md#what-to-do-in-your-code")
    for claim in ACTIONABLE:
        if claim == "flash-fastest" and picks_the_fastest(facts):
            continue
        if claim in outcomes and outcomes[claim].advice:
            finding = site.finding_of(claim)
            first = first_sentence(outcomes[claim].advice)
            out.setdefault(first, (first, finding.title, f"findings/{finding.slug}.md#what-to-do-in-your-code"))
    return list(out.values())


def first_sentence(text: str) -> str:
    """The first sentence of a text whose code may hold full stops."""
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", text, maxsplit=1)[0]


def _times(least: Estimate, other: Estimate) -> Ratio:
    return Ratio(other.median / least.median)
