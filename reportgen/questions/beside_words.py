"""What lies beside SDPA's backends, in words."""

from __future__ import annotations

from variants import backends

from ..saying.units import listed, plural
from ..shapes import answers
from ..shapes.record import Point, ShapeMap

TITLES = {"flex": "flex_attention", "varlen": "varlen_attn", "fa3": "FlashAttention-3", "fa4": "FlashAttention-4", "cudnn_frontend": "cuDNN frontend", "xformers": "xformers"}


def title(name: str) -> str:
    return TITLES.get(name, backends.title(name))


def extras(found: ShapeMap) -> list[str]:
    """Whatever is none of the backends, in the order of the readings."""
    return list(dict.fromkeys(reading.backend for point in found.points for reading in point.readings if reading.backend not in backends.BACKENDS))


def names(found: ShapeMap) -> list[str]:
    """Backends and extras that ran at some call."""
    ran = {reading.backend for point in found.points for reading in point.readings if reading.state in ("ok", "wrong")}
    return [name for name in (*backends.BACKENDS, *extras(found)) if name in ran]


def leaders(point: Point) -> list[str]:
    """The fastest right one, and whatever it does not beat."""
    best = answers.best(point.readings)
    if best is None:
        return []
    return [best.backend, *(one.backend for one in point.readings if one is not best and answers.price(one) is not None and not answers.beats(best, one))]


def fastest(point: Point) -> str:
    known = leaders(point)
    return "none" if not known else title(known[0]) if len(known) == 1 else f"~ {', '.join(title(name) for name in known)}"


def sentences(found: ShapeMap) -> list[str]:
    """The page's first sentences: where something beside the backends is the fastest, and what is wrong."""
    beside = extras(found)
    wrong = sorted({title(one.backend) for point in found.points for one in point.readings if one.state == "wrong"})
    won = {name: sum(leaders(point) == [name] for point in found.points) for name in beside}
    winners = [f"{title(name)} at {count}" for name, count in won.items() if count]
    of = plural(len(found.points), "call")
    said = [f"**Beside SDPA's backends, the fastest right one is {listed(winners)} of {of}.**" if winners else f"**At none of {of} is anything beside SDPA's backends the fastest right one.**"]
    return [*said, f"Wrong somewhere: {listed(wrong)}."] if wrong else said


def absent(found: ShapeMap) -> list[tuple[str, str]]:
    """What ran at no call, with the reason."""
    ran = set(names(found))
    return [(title(name), reason) for name in extras(found) if name not in ran for reason in _reasons(found, name)[:1]]


def declined(found: ShapeMap) -> list[tuple[str, str]]:
    """What runs at some calls and not at others, with each reason."""
    return [(title(name), reason) for name in extras(found) if name in names(found) for reason in _reasons(found, name)]


def _reasons(found: ShapeMap, name: str) -> list[str]:
    readings = (answers.reading(point.readings, name) for point in found.points)
    return list(dict.fromkeys(one.reason for one in readings if one is not None and one.reason))
