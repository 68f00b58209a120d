"""Forwards in a row, the output of one being the queries of the next: what a saving per layer adds up to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

from variants import Variant

from . import patience
from .refusal import listening

LAYERS = (1, 24)
CHAINED = ("naive", "naive_inplace")
REPEATS = 2


def measure(bench: Any, variants: Mapping[str, Variant], arguments: tuple[Any, ...], forward_seconds: float,
            most_seconds: float, late: Callable[[], bool]) -> dict[str, Any]:
    """Seconds for 1 and 24 forwards of each of `CHAINED`, or `{"reason": why not}`.

    Args:
        bench: see `timing`.
        arguments: q, k, v and the mask.
        forward_seconds: what one forward takes here; chains that would take longer than `most_seconds` are not taken.
        late: whether the process has used up its time; asked between repetitions.
    """
    fill = patience.chain_fill(forward_seconds, max(LAYERS))
    per_turn = len(CHAINED) * sum(max(layers, fill if bench.timer == "cuda-graph" else 0) for layers in LAYERS)
    turns = patience.chain_turns(forward_seconds, per_turn, 2 * len(CHAINED) * len(LAYERS), REPEATS, most_seconds)
    if not turns:
        return {"reason": f"chains of {max(LAYERS)} forwards would take longer than {most_seconds:g} s in each process"}
    q, k, v, mask = arguments
    with listening() as heard:
        blocks = {(name, layers): bench.chain(_step(variants[name], k, v, mask), q, layers, fill) for name in CHAINED for layers in LAYERS}
        found: dict[tuple[str, int], list[float]] = {key: [] for key in blocks}
        for turn in range(turns):
            if turn and late():
                break
            for key, block in blocks.items():
                found[key].append(block())
    if heard.error is not None:
        return {"reason": f"chains of forwards could not be timed ({(heard.reason or 'unknown').rstrip('.')})"}
    return {name: {str(layers): median(found[name, layers]) for layers in LAYERS} for name in CHAINED}


def _step(variant: Variant, k: Any, v: Any, mask: Any) -> Callable[[Any], Any]:
    return lambda q: variant.bare(q, k, v, mask)
