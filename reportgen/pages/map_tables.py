"""The tables of a map's page: winners by length, one series, what torch's default loses, the models' calls, torch's refusals."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.map_series import ModelCalls, Series, length
from ..analysis.maps import Default, MapFacts, Spot
from ..analysis.policy import Policy
from ..questions import map_words as words
from ..saying.tables import Column, Table, Url, columns
from ..saying.units import Count, Seconds
from ..shapes import answers
from .cells import Sentence


def winners(found: Sequence[Series]) -> Table:
    """Rows are families, columns lengths: who wins, and by how much."""
    wanted = sorted({length(spot.call) for one in found for spot in one.spots})
    rows = []
    for one in found:
        at = {length(spot.call): spot for spot in one.spots}
        rows.append((Sentence(_row_name(one)), *(words.outcome(at[n]) if n in at else None for n in wanted)))
    return Table(columns("Call", *(str(Count(n)) for n in wanted)), tuple(rows))


def _row_name(one: Series) -> str:
    call = one.family
    return words.kind(call, head=False) + (f", {words.heads(call)}" if call.grouped else "")


def _longer(by: float | None) -> str | None:
    return None if by is None else words.longer(by)


def _default(spot: Spot) -> str | None:
    """How much longer torch's pick takes; nothing where that is not told apart from the fastest."""
    if spot.default is Default.WRONG:
        return "wrong result"
    return _longer(spot.loss) if spot.default is Default.LOSES else "as long" if spot.default is Default.BEST else None


def losses(spots: Sequence[Spot]) -> Table:
    """Where torch's own pick is beaten, worst first."""
    rows = ((Sentence(words.said(spot.call)), words.longer(spot.loss or 0.0), words.title(spot.point.picked or ""), Seconds(spot.picked.median) if spot.picked else None,
             words.title(spot.order[0].backend), Seconds(spot.order[0].median), "yes" if spot.host_bound else "no") for spot in spots)
    return Table(columns("Call", "#The default takes", "torch picks", "#its time", "Fastest", "#its time", "Host is the limit"), tuple(rows))


def models(found: Sequence[ModelCalls], rules: Policy) -> Table:
    """A row per call of a model; a call that the map does not hold yet says so."""
    rows = []
    for one in found:
        for call, spot in one.spots:
            picked = words.title(spot.point.picked) if spot and spot.point.picked else None
            order = rules.order(call)
            advice = words.title(order[0]) if order else "leave it to torch"
            rows.append((Url(one.preset.name, one.preset.source), Sentence(words.said(call)), words.outcome(spot, pick=False) if spot else "not measured yet", picked,
                         _default(spot) if spot else None, advice, _advised(rules, spot) if spot else None, Seconds(spot.best.median) if spot and spot.best else None))
    notes = tuple(f"{one.preset.name}: {one.preset.note}" for one in found if one.preset.note)
    return Table(columns("Model", "Call", "Fastest", "torch picks", "#which takes", "What to write", "#which takes", "#Time of the fastest"), tuple(rows), notes=notes)


def _advised(rules: Policy, spot: Spot) -> str | None:
    """How much longer the call takes by the rules."""
    lost = rules.loses(spot)
    return None if lost is None else "as long" if lost == 0 or not rules.order(spot.call) and spot.default is Default.BEST else words.longer(lost)


def refusals(facts: MapFacts) -> Table:
    """What torch says of a backend where that takes a call not: each reason once, the most frequent first.

    What differs in the call's sizes alone is said once, with … in their place; one such call stands beside it.
    """
    seen: dict[tuple[str, str, str], list[Spot]] = {}
    for spot in facts.spots:
        for reading in spot.point.readings:
            if reading.state not in ("ok", "wrong"):
                reason = answers.own_words(reading.backend, reading.reason) or "no reason was recorded"
                seen.setdefault((reading.backend, reading.state, answers.without_sizes(reason)), []).append(spot)
    ordered = sorted(seen.items(), key=lambda item: (-len(item[1]), item[0]))
    rows = tuple((words.title(backend), state, Count(len(spots)), Sentence(reason), Sentence(words.said(spots[0].call))) for (backend, state, reason), spots in ordered)
    return Table(columns("Backend", "State", "#Calls", "In torch's words", "For one"), rows)


def wrong(facts: MapFacts) -> Table:
    """Results beyond what rounding excuses."""
    rows = tuple((Sentence(words.said(spot.call)), words.title(reading.backend), reading.tensor, words.share(reading.error) if reading.error is not None else "not finite",
                  words.share(reading.allowed) if reading.allowed is not None else None, "yes" if reading.backend == spot.point.picked else "no")
                 for spot in facts.spots for reading in spot.point.readings if reading.state == "wrong")
    return Table((*columns("Call", "Backend"), Column("Tensor"), *columns("#Relative error", "#Rounding excuses", "torch picks it")), rows)
