"""Forward and backward on pages: a time stands only beside gradients that are right."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import RunFacts, State, VariantFacts
from ..analysis.correctness import Gradients, masked_gradients, own_gradients
from ..questions.right_words import came_out
from ..run import Compared
from ..saying.tables import Table, columns
from .cells import error, us
from .summaries import NOTHING_IN, variant_link, without_empty

HEADS = ("Variant", "Status", "#GPU time (µs)", "#Wall time (µs)", "#Kernels", "#Peak memory (MiB)")
LARGEST = "#Largest error of a gradient"


def training(facts: RunFacts) -> Table | None:
    """Forward and backward of each variant, or `None` where no run recorded it. A wrong result has its error and no time."""
    held = [variant for variant in facts.variants.values() if variant.training is not None]
    if not held:
        return None
    checked = any(variant.training.compared for variant in held if variant.training)
    rows = tuple(_row(variant) if checked else _row(variant)[:-1] for variant in held)
    notes = tuple(f"{variant.title}: {said}" for variant in held if (said := _why(variant)))
    beside = " A gradient's error is ‖gradient − exact‖ ÷ ‖exact‖, with the exact one in FP64." if checked else ""
    return without_empty(Table(columns(*HEADS, *([LARGEST] if checked else [])), rows, f"One forward and backward; every variant that refuses says why.{beside}", notes), NOTHING_IN)


def _row(variant: VariantFacts) -> tuple[object, ...]:
    record = variant.training
    assert record is not None
    if variant.state is State.WRONG or own_gradients(variant) is Gradients.WRONG:
        return (variant_link(variant), State.WRONG.value, None, None, None, None, _largest(record.compared))
    memory = None if record.peak_memory_bytes is None else f"{record.peak_memory_bytes / 2**20:,.0f}"
    return (variant_link(variant), record.status, us(record.gpu_time), us(record.wall_time), record.kernels, memory, _largest(record.compared))


def _largest(compared: Sequence[Compared]) -> str | None:
    if any(one.not_finite for one in compared):
        return "not finite"
    return error(max((one.error for one in compared if one.error is not None), default=None))


def _why(variant: VariantFacts) -> str | None:
    """What a variant's row is to be read with; nothing beside a variant whose output is wrong, which is told elsewhere."""
    if variant.state is State.WRONG or variant.training is None:
        return None
    return wrong_gradients(variant) or variant.training.reason


def wrong_gradients(variant: VariantFacts) -> str | None:
    """`wrong result: gradient of k: relative error 1.01 %, allowed 0.69 %`, or `None` where no gradient is known to be wrong."""
    if own_gradients(variant) is not Gradients.WRONG or variant.training is None:
        return None
    if not variant.training.compared and variant.training.reason:
        return variant.training.reason
    return f"{State.WRONG.value}: {came_out(variant.training.compared)}"


def own_mask(variant: VariantFacts) -> str | None:
    """What came of the variant's mask given as a mask, in words; `None` where it was not tried."""
    found = masked_gradients(variant)
    if variant.own_mask is None or found is Gradients.NOT_COMPARED:
        return None
    if found is Gradients.WRONG:
        return f"{State.WRONG.value}: {came_out(variant.own_mask.compared)}"
    reason = variant.own_mask.reason if found in (Gradients.REFUSED, Gradients.FAILED) else None
    return f"{found.value}: {reason}" if reason else found.value
