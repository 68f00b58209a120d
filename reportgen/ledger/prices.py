"""What a recorded run of the same device lets one expect: torch's answers about calls (`why.jsonl`), looked up for a call of the trace."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .causes import TYPES
from .model import Arguments, Backend

WHY_FILE = "why.jsonl"
FURTHEST = 64.0
"""Times as many numbers in the scores as the recorded call has, or as few: beyond, nothing is scaled."""


@dataclass(frozen=True)
class Prices:
    """device, slug: of the recorded run; answers: `shapes.answers.Answer`s"""

    device: str
    slug: str
    answers: Sequence[Any]


@dataclass(frozen=True)
class Asked:
    """What of a call decides which recorded one is like it. mask: `none`, `causal`, `bool` or `float`; scores: numbers in its scores"""

    type: str
    mask: str
    head_dim: int
    grouped: bool
    dropout: bool
    gradients: bool
    strided: bool
    learns: bool
    scores: int


def read(root: Path, device: str | None) -> Prices | None:
    """The answers recorded for a device of this name below a folder of devices, or `None`. A file that cannot be read counts for nothing."""
    from ..errors import ReportError

    for file in sorted(root.glob(f"*/{WHY_FILE}")) if device else ():
        try:
            with file.open(encoding="utf-8") as opened:
                if json.loads(opened.readline())["device"]["name"] != device:
                    continue
            from ..shapes import answers

            return Prices(str(device), file.parent.name, answers.read(file).answers)
        except (OSError, ValueError, KeyError, TypeError, ReportError):
            continue
    return None


def asked(given: Arguments, gradients: bool, learns: bool = False) -> Asked | None:
    """`None` where shapes or the type are missing."""
    query, key = given.query, given.key
    if query is None or key is None or len(query.dims) != 4 or len(key.dims) != 4 or query.type not in TYPES:
        return None
    mask = "causal" if given.causal else "none" if given.mask is None else "bool" if given.mask.type == "bool" else "float"
    strided = bool(query.strides) and query.strides is not None and query.strides[-1] != 1
    return Asked(TYPES[query.type], mask, query.dims[-1], query.dims[1] != key.dims[1], bool(given.dropout), gradients, strided, learns,
                 math.prod(query.dims[:3]) * key.dims[2])


def like(prices: Prices, call: Asked) -> list[Any]:
    """Recorded answers about calls like this one, the nearest in size first."""
    found = [one for one in prices.answers if _same(one.asked, call) and abs(math.log(call.scores / one.asked.call.score_elements)) <= math.log(FURTHEST)]
    return sorted(found, key=lambda one: abs(math.log(call.scores / one.asked.call.score_elements)))


def _same(recorded: Any, call: Asked) -> bool:
    own = recorded.call
    forms = {"strided"} if call.strided else {"learned bias"} if call.learns else {"plain", "bias per head", "padding", "padding bias"}
    return (own.dtype, own.mask, own.head_dim, own.grouped, own.gradients, recorded.dropout > 0) == (
        call.type, call.mask, call.head_dim, call.grouped, call.gradients, call.dropout) and recorded.form in forms and own.queries > 1


NAMES = {Backend.MATH: "math", Backend.EFFICIENT: "efficient", Backend.FLASH: "flash", Backend.CUDNN: "cudnn"}


def kept(prices: Prices, call: Asked, backend: Backend | None, change: str) -> float | None:
    """The share of its time that a call keeps after a change, by the nearest recorded call that ran on the same backend."""
    from ..shapes import answers

    for one in like(prices, call):
        own = answers.price(answers.reading(one.readings, one.picked))
        after = next((answers.price(answers.reading(changed.readings, changed.picked)) for changed in one.changed if changed.change == change), None)
        if backend in NAMES and one.picked == NAMES[backend] and own and after:
            return after / own
    return None


def seconds(prices: Prices, call: Asked) -> float | None:
    """Of one such call as torch runs it by itself, scaled by the numbers in its scores."""
    from ..shapes import answers

    return next((price * call.scores / one.asked.call.score_elements for one in like(prices, call) if (price := answers.price(answers.reading(one.readings, one.picked)))), None)


def wrong(prices: Prices, backend: Backend | None, form: str) -> bool:
    """Whether a recorded call of this form came out wrong on this backend."""
    return any(reading.state == "wrong" for one in prices.answers if one.asked.form == form for reading in _of(one, backend))


def _of(answer: Any, backend: Backend | None) -> Iterator[Any]:
    return (reading for reading in answer.readings if backend in NAMES and reading.backend == NAMES[backend])
