"""What to do about a cause, and what it saves where a recorded run of the same device lets that be scaled."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from . import prices as recorded
from .causes import TYPES
from .model import Advice, Arguments, Backend, CallSite, Cause, Cure, DragKind, Modelled, Reason
from .prices import Asked, Prices

CHANGES = {
    Cure.CAUSAL_FLAG: "is_causal", Cure.SIXTEEN_BITS: "bfloat16", Cure.CONTIGUOUS_HEADS: "contiguous", Cure.PAD_HEAD: "padded", Cure.NO_DROPOUT: "no dropout",
    Cure.REPEAT_KV: "repeated", Cure.FOUR_DIMENSIONS: "four dimensions", Cure.FREEZE_MASK: "detached bias", Cure.MASK_TYPE: "mask in the type of q",
}
"""Cure → the change of the recorded answers (`shapes.asked.CHANGES`)."""
PAGES = {
    Cure.CALL_SDPA: "by-hand", Cure.NO_WEIGHTS: "by-hand", Cure.CONTIGUOUS_HEADS: "math-slowdown", Cure.SIXTEEN_BITS: "math-cuda-cores", Cure.REPEAT_KV: "math-slowdown",
    Cure.FOUR_DIMENSIONS: "math-slowdown", Cure.CAUSAL_FLAG: "mask-step", Cure.MASK_ONCE: "mask-rebuilt", Cure.FREEZE_MASK: "mask-step", Cure.NO_DROPOUT: "is-it-right",
    Cure.MASK_TYPE: "is-it-right", Cure.NO_COPIES: "hidden-memcpy", Cure.ENABLE_GQA: "hidden-memcpy", Cure.PAD_HEAD: "efficient-kernel", Cure.COMPILE_FLEX: "by-hand",
    Cure.FIXED_SHAPES: "cudnn-launch",
}
"""Cure → the finding whose page shows the mechanism."""
DRAGS = {Cause.REPEATED_KV: DragKind.REPEATED_KV, Cause.COPIES: DragKind.COPY, Cause.MASK_PER_LAYER: DragKind.MASK, Cause.NEW_SHAPES: DragKind.FIRST_CALL}
_ONE: dict[Cause, tuple[Cure, ...]] = {
    Cause.TYPE: (Cure.SIXTEEN_BITS,), Cause.STRIDE: (Cure.CONTIGUOUS_HEADS,), Cause.DIMENSIONS: (Cure.FOUR_DIMENSIONS,), Cause.DROPOUT: (Cure.NO_DROPOUT,),
    Cause.GQA_TYPE: (Cure.SIXTEEN_BITS, Cure.REPEAT_KV), Cause.GQA: (Cure.REPEAT_KV,), Cause.MASK_GRADIENT: (Cure.FREEZE_MASK,), Cause.MASK_TYPE: (Cure.MASK_TYPE,),
    Cause.MASK_PER_LAYER: (Cure.MASK_ONCE,), Cause.WEIGHTS: (Cure.NO_WEIGHTS,), Cause.BY_HAND: (Cure.CALL_SDPA,), Cause.NOT_COMPILED: (Cure.COMPILE_FLEX,),
    Cause.NEW_SHAPES: (Cure.FIXED_SHAPES,), Cause.REPEATED_KV: (Cure.ENABLE_GQA,), Cause.COPIES: (Cure.NO_COPIES,), Cause.NOT_RECORDED: (Cure.RECORD_MORE,),
}


def advise(site: CallSite, prices: Prices | None, total: float) -> tuple[Advice, ...]:
    """What to do, the greatest saving first, where none can be told the order of the reasons. total: seconds of GPU time in the trace."""
    found = [(Advice(cure, reason, PAGES.get(cure), _saving(site, reason, cure, prices, total)), reason) for reason in site.reasons for cure in _cures(site, reason)]
    if {one.cure for one, _ in found} >= {Cure.CAUSAL_FLAG, Cure.FREEZE_MASK}:
        found = [pair for pair in found if pair[0].cure is not Cure.CAUSAL_FLAG]
    order = sorted(range(len(found)), key=lambda at: (-_worth(site, *found[at]), at))
    return tuple(found[at][0] for at in order)


def _cures(site: CallSite, reason: Reason) -> Iterator[Cure]:
    if reason.cause is Cause.MASK:
        if any(_square(shape.arguments) for shape in site.shapes):
            yield Cure.CAUSAL_FLAG
    elif reason.cause is Cause.HEAD_DIM:
        if any(shape.arguments is not None and shape.arguments.query is not None and shape.arguments.query.dims[-1] % 8 for shape in site.shapes):
            yield Cure.PAD_HEAD
    else:
        yield from _ONE.get(reason.cause, ())


def _square(given: Arguments | None) -> bool:
    """Whether the mask can be the triangle: as many keys as queries, the same for every batch entry and head."""
    if given is None or given.mask is None or given.query is None or given.key is None or len(given.mask.dims) < 2:
        return False
    sizes = given.mask.dims
    return sizes[-2:] == (given.query.dims[-2], given.key.dims[-2]) and sizes[-2] == sizes[-1] > 1 and math.prod(sizes[:-2]) == 1


def _worth(site: CallSite, advice: Advice, reason: Reason) -> float:
    """Seconds, for the order: what is modelled, else what the drag takes, else all of the site's time, where no fused or no faster backend took the call."""
    if advice.saving is not None:
        return advice.saving.seconds
    kind = DRAGS.get(reason.cause)
    if kind is not None:
        return sum(max(drag.gpu.seconds, drag.host) for drag in site.drags if drag.kind is kind and not drag.inside)
    return 0.0 if reason.cause in (Cause.MASK, Cause.DROPOUT) else site.time.seconds


def _saving(site: CallSite, reason: Reason, cure: Cure, prices: Prices | None, total: float) -> Modelled | None:
    if prices is None or not total:
        return None
    saved = _fused(site, prices) if cure in (Cure.CALL_SDPA, Cure.NO_WEIGHTS) else _changed(site, reason, cure, prices)
    return None if saved is None or saved <= 0 else Modelled(saved, saved / total, prices.device, prices.slug)


def _changed(site: CallSite, reason: Reason, cure: Cure, prices: Prices) -> float | None:
    """Each shape's time, less the share of it that a recorded call like it keeps."""
    change = CHANGES.get(cure)
    saved = 0.0
    for shape in site.shapes:
        call = recorded.asked(shape.arguments, site.backward.activities > 0, reason.cause is Cause.MASK_GRADIENT) if shape.arguments else None
        share = recorded.kept(prices, call, site.backend, change) if call and change else None
        if share is None:
            return None
        saved += shape.time.seconds * (1 - share)
    return saved


def _fused(site: CallSite, prices: Prices) -> float | None:
    """The site's time, less what torch's pick takes for calls of the same sizes with a mask, which is never less than without one."""
    rest = 0.0
    for shape in site.shapes:
        call = _sizes(shape.arguments, site.backward.activities > 0)
        price = recorded.seconds(prices, call) if call else None
        if price is None:
            return None
        rest += shape.calls * price
    return site.time.seconds - rest


def _sizes(given: Arguments | None, gradients: bool) -> Asked | None:
    """Of attention that is written by hand: batch and heads may be one size there."""
    if given is None or given.query is None or given.key is None or given.query.type not in TYPES or len(given.query.dims) < 3:
        return None
    return Asked(TYPES[given.query.type], "bool", given.query.dims[-1], False, False, gradients, False, False, math.prod(given.query.dims[:-1]) * given.key.dims[-2])


def wrong(site: CallSite, prices: Prices | None) -> tuple[str, ...]:
    """Probes of *Is it right?* that these calls are like, by their recorded arguments alone."""
    found = set()
    for shape in site.shapes:
        given = shape.arguments
        if given is None or given.query is None or given.key is None or site.backend is None:
            continue
        if given.dropout and not site.backward.activities and site.backend is not Backend.CPU_FLASH:
            found.add("dropout-eval")
        if given.causal and given.query.dims[-2] < given.key.dims[-2]:
            found.add("causal-alignment")
        if given.mask is not None and given.mask.type not in ("bool", given.query.type) and prices and recorded.wrong(prices, site.backend, "bias in fp32"):
            found.add("mask-type")
    return tuple(sorted(found))


def explained(site: CallSite, prices: Prices | None, total: float) -> CallSite:
    """The site with its advice and what is wrong with calls like its own. Its reasons are there."""
    site = replace(site, wrong=wrong(site, prices))
    return replace(site, advice=advise(site, prices, total))
