"""What the map shows, in words: a call, who wins it, what torch's default loses, where the winner changes."""

from __future__ import annotations

from variants import backends

from ..analysis.map_series import Along, Crossover, HostLimit, Series, length
from ..analysis.maps import Default, MapFacts, Spot, Standing
from ..saying.units import Count, Seconds, listed, plural, significant
from ..shapes import Call
from ..shapes.call import SHORT, WINDOW

MASKS = {"none": "no mask", "causal": "causal", "bool": "bool mask", "float": "float mask", "window": f"window of {WINDOW}"}
"""A call's mask, as sentences name it."""


def title(backend: str) -> str:
    return backends.title(backend)


def titles(names: tuple[str, ...]) -> str:
    return listed([title(name) for name in names])


def share(value: float) -> str:
    """A share as percent with two figures: 0.312 is `31 %`.

    >>> share(0.312), share(1.845), share(0.004), share(0.0)
    ('31 %', '180 %', '0.40 %', '0 %')
    """
    return f"{significant(100 * value, 2)} %"


def longer(by: float) -> str:
    """How much longer something takes than the fastest, for a cell: `+31 %`, `2.9×` from twice as long on.

    >>> longer(0.312), longer(1.9), longer(29.0)
    ('+31 %', '2.9×', '30×')
    """
    return f"+{share(by)}" if by < 1 else f"{significant(1 + by, 2)}×"


def takes(by: float) -> str:
    """The same in a sentence.

    >>> takes(0.312), takes(1.9)
    ('31 % longer', '2.9 times as long')
    """
    return f"{share(by)} longer" if by < 1 else f"{significant(1 + by, 2)} times as long"


def heads(call: Call) -> str:
    return f"{plural(call.heads, 'head')}" if not call.grouped else f"{call.heads} heads over {call.kv_heads}"


def dim(call: Call) -> str:
    """`64`, or `192/128` where v is narrower than q and k."""
    return f"{call.head_dim}" if call.head_dim == call.value_dim else f"{call.head_dim}/{call.value_dim}"


def kind(call: Call, head: bool = True) -> str:
    """What of a call is no length and no number of heads: `causal, head dim 128, bf16, with gradients`. head: whether to name the head dimension."""
    parts = [MASKS[call.mask], *([f"head dim {dim(call)}"] if head else []), SHORT[call.dtype]]
    return ", ".join([*parts, *(["stored BSHD"] if call.layout == "bshd" else []), *(["with gradients"] if call.gradients else [])])


def lengths(call: Call) -> str:
    """`1,024 queries and keys`, `1 query on 4,096 keys`."""
    if call.queries == call.keys:
        return f"{Count(call.keys)} queries and keys"
    return f"{plural(call.queries, 'query', 'queries')} on {plural(call.keys, 'key')}"


def said(call: Call) -> str:
    """All of a call: `batch 16, 16 heads, 1,024 queries and keys, causal, head dim 128, bf16`."""
    return f"batch {call.batch}, {heads(call)}, {lengths(call)}, {kind(call)}"


def family(one: Series) -> str:
    """What the points of a series share."""
    same = {Along.TOKENS: f"{Count(one.fixed)} tokens", Along.BATCH: f"batch {one.fixed}",
            Along.CACHE: f"batch {one.fixed}, {plural(one.queries, 'query', 'queries')} on a cache"}[one.along]
    return f"{kind(one.family)}, {heads(one.family)}, {same}"


def outcome(spot: Spot, pick: bool = True) -> str:
    """Who wins a point, for a cell: `cuDNN +80 %`, `cuDNN 2.4×`, `~ flash, cuDNN`, `math only`; with torch's pick where that loses or is wrong, if wanted."""
    names = ", ".join(title(name) for name in spot.leaders)
    found = {Standing.WINNER: f"{names} {longer(spot.margin or 0.0)}", Standing.TIE: f"~ {names}", Standing.ALONE: f"{names} only",
             Standing.UNDECIDED: f"{names}?", Standing.NOBODY: "none"}[spot.standing]
    if not pick:
        return found
    if spot.default is Default.LOSES:
        return f"{found}, torch picks {title(spot.point.picked or '')}"
    return f"{found}, torch picks {title(spot.point.picked or '')}: wrong" if spot.default is Default.WRONG else found


def answer(facts: MapFacts) -> tuple[str, ...]:
    """At most two sentences: who wins where, and what torch's default loses; a wrong default first."""
    count = len(facts.spots)
    if not count:
        return ("The map has no point yet; `make map` goes on with it.",)
    if not any(spot.order for spot in facts.spots):
        return (f"**At none of {plural(count, 'call')} does a backend give a right result in a known time.**",)
    return tuple(text for text in (_wrong_default(facts), f"{_winners(facts)} {_default(facts)}") if text)


def _winners(facts: MapFacts) -> str:
    count = len(facts.spots)
    won = sorted(((facts.won(name), title(name)) for name in backends.BACKENDS if facts.won(name)), reverse=True)
    parts = [f"{name} at {Count(number)}" for number, name in won[1:]]
    ties, open_, nobody = (len(facts.at(one)) for one in (Standing.TIE, Standing.UNDECIDED, Standing.NOBODY))
    parts += [text for number, text in ((ties, f"at {Count(ties)} the first are not told apart"), (open_, f"at {Count(open_)} a right one has no time"),
                                        (nobody, f"at {Count(nobody)} none gives a right result")) if number]
    if not won:
        return f"No backend wins any of {plural(count, 'call')} here: {listed(parts)}."
    first = f"**{won[0][1]} is the fastest right backend at {Count(won[0][0])} of {plural(count, 'call')}**" if count > 1 else f"**{won[0][1]} is the fastest right backend at the one call of this map**"
    return f"{first}{'; ' if parts else ''}{listed(parts)}."


def _wrong_default(facts: MapFacts) -> str:
    wrong = facts.default_is(Default.WRONG)
    if not wrong:
        return ""
    return f"**What torch picks by itself gives a wrong result at {plural(len(wrong), 'call')}**, as with {said(wrong[0].call)}."


def _default(facts: MapFacts) -> str:
    loses, regret = facts.default_is(Default.LOSES), facts.regret
    if regret is None:
        return "What torch picks by itself has no time to compare at any of them."
    if not loses:
        return "Torch's own pick loses at none of them."
    worst = loses[0]
    return (f"Torch's own pick loses at {Count(len(loses))}, at worst by {longer(worst.loss or 0.0)} ({title(worst.point.picked or '')} where {title(worst.order[0].backend)} is faster: "
            f"{said(worst.call)}), and takes {takes(regret)} on average over all.")


def crossing(one: Crossover) -> str:
    """`From cuDNN to flash between 512 and 1,024: causal, head dim 64, …`."""
    before, after = one.before, one.after
    return (f"Up to {Count(length(before.call))} {title(before.winner or '')} wins, from {Count(length(after.call))} on {title(after.winner or '')}: {family(one.series)}.")


def host_bound(one: HostLimit) -> str:
    best = one.until.best
    assert best is not None and best.host is not None
    reach = "At every measured length" if one.whole else f"Up to {Count(length(one.until.call))}"
    return (f"{reach}: {family(one.series)}. At {Count(length(one.until.call))} the CPU takes {Seconds(best.host)} to queue {title(best.backend)}, "
            f"the GPU {Seconds(best.median)} to run it.")
