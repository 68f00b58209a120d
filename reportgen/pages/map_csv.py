"""Every call of a map with every backend's time, as CSV beside the map: what its page draws conclusions from, a line per call."""

from __future__ import annotations

from variants.backends import BACKENDS

from ..analysis.maps import Default, MapFacts, Spot, Standing
from ..questions import map_words as words
from ..saying.units import significant
from .charts import numbers

FILE = "map.csv"
_CALL = ("batch", "heads", "kv heads", "queries", "keys", "head dim", "v's head dim", "type", "mask", "stored", "gradients")


def path(slug: str) -> str:
    """Below the docs root."""
    return f"runs/{slug}/{FILE}"


def text(facts: MapFacts) -> str:
    """A head and a line per call, in the order in which they were measured, so that a map that goes on adds lines and changes none.

    Times are medians in µs with three significant digits; a backend without one has the reason in a word. An empty field is not known.
    """
    head = (*_CALL, *(f"{words.title(name)} (µs)" for name in BACKENDS), "fastest", "torch picks", "torch's pick takes longer by (%)",
            "the CPU's time to queue the fastest (µs)", "the fastest's TFLOP/s", "the fastest's peak memory (MiB)")
    return numbers.written([head, *(_line(spot) for spot in facts.spots)])


def _line(spot: Spot) -> tuple[str, ...]:
    call, best = spot.call, spot.best
    reading = spot.point.reading(best.backend) if best else None
    picked = spot.point.picked
    return (*map(str, (call.batch, call.heads, call.kv_heads, call.queries, call.keys, call.head_dim, call.value_dim, call.dtype, call.mask, call.layout, "yes" if call.gradients else "no")),
            *(_time(spot, name) for name in BACKENDS), _fastest(spot), words.title(picked) if picked else "nothing",
            _lost(spot), _number(best.host * 1e6 if best and best.host is not None else None),
            _number(call.flop / best.median / 1e12 if best else None), _number(reading.peak_bytes / 2**20 if reading and reading.peak_bytes is not None else None))


def _fastest(spot: Spot) -> str:
    """Nobody where a right backend has no time, for it may be faster; more than one where the first are not told apart."""
    return "undecided" if spot.standing is Standing.UNDECIDED else " or ".join(map(words.title, spot.leaders))


def _lost(spot: Spot) -> str:
    """What torch's pick takes longer than the fastest; 0 where it is that or not told apart from it."""
    if spot.default is Default.WRONG:
        return "wrong result"
    if spot.standing is Standing.UNDECIDED:
        return ""
    return _number(100 * (spot.loss or 0.0)) if spot.default is Default.LOSES else "0" if spot.default is Default.BEST else ""


def _time(spot: Spot, backend: str) -> str:
    if timed := spot.timed(backend):
        return _number(timed.median * 1e6)
    reading = spot.point.reading(backend)
    return "" if reading is None else "no time" if reading.state == "ok" else reading.state


def _number(value: float | None) -> str:
    return "" if value is None else significant(value).replace(",", "")
