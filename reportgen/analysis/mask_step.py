"""What the mask step costs with a broadcast mask and with one of full size, and what names and counters show of why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..hardware import kernel_names
from ..hardware.kernel_names import KernelName
from ..numbers.statistics import MINIMUM_EFFECT, Comparison, Estimate, compare
from ..run import Counters, MaskOp
from ..saying.units import Saving
from .counters import of_kernel
from .model import ActivityFacts, CounterFacts, RunFacts

PROBED = "naive_inplace"
"""The variant whose mask step is the one that is probed."""
ALIKE = 0.10
"""The step in the trace and the op alone may differ by so much and still count as the same work."""
INDEXED, WIDE = ("elementwise_kernel", "unrolled_elementwise_kernel", "legacy_elementwise_kernel"), "vectorized_elementwise_kernel"


@dataclass(frozen=True)
class Op:
    """One op on the whole score matrix. bytes: that it asks for; kernel: its name, decoded, or `None`; counters: `None` where not counted."""

    time: Estimate
    bytes: int | None
    kernel: KernelName | None
    counters: CounterFacts | None


@dataclass(frozen=True)
class MaskCost:
    """broadcast, full: `masked_fill_` with the mask of each kind; mul: a product over the same scores

    found: broadcast ÷ full; beside: broadcast ÷ mul
    by_name: the names show index arithmetic for each element where the mask is broadcast, and wide loads where it is not
    by_count: more warp instructions were counted with the broadcast mask
    traced: the step in the trace of naive in place, where it is one kernel; same: it takes as long there as alone
    """

    broadcast: Op
    full: Op
    mul: Op
    found: Comparison
    beside: Comparison
    by_name: bool
    by_count: bool
    traced: ActivityFacts | None
    same: bool


def counted(found: Counters | None, dtype: str) -> dict[str, CounterFacts]:
    """Op → its counters, where it launched one kernel."""
    return {name: of_kernel(kernels[0], dtype) for name, kernels in (found.mask_step if found else {}).items() if len(kernels) == 1}


def cost(facts: RunFacts) -> MaskCost | None:
    """What the probe found; `None` where it has no times."""
    probe = facts.probes.mask_step
    if probe is None or not probe.timed:
        return None
    broadcast, full, mul = (_op(probe.ops[name], facts.mask_step.get(name)) for name in ("broadcast", "full", "mul"))
    if len({len(one.time.samples) for one in (broadcast, full, mul)}) != 1:
        return None
    traced = _traced(facts)
    return MaskCost(broadcast, full, mul, compare(broadcast.time, full.time, facts.floor), compare(broadcast.time, mul.time, facts.floor),
                    _loop(broadcast) in INDEXED and _loop(full) == WIDE, _more(broadcast, full), traced,
                    traced is not None and abs(traced.duration - broadcast.time.median) <= ALIKE * broadcast.time.median)


def _op(recorded: MaskOp, counters: CounterFacts | None) -> Op:
    assert recorded.gpu_time is not None
    return Op(recorded.gpu_time, recorded.requested_bytes, kernel_names.decode(recorded.kernel) if recorded.kernel else None, counters)


def _loop(op: Op) -> str | None:
    """The first part of the kernel's name: which of torch's loops it is."""
    return op.kernel.parts[0].text if op.kernel and op.kernel.known and op.kernel.parts else None


def _more(first: Op, second: Op) -> bool:
    pair = [op.counters.instructions if op.counters else None for op in (first, second)]
    return pair[0] is not None and pair[1] is not None and pair[0] > (1 + MINIMUM_EFFECT) * pair[1]


def _traced(facts: RunFacts) -> ActivityFacts | None:
    variant = facts.variants.get(PROBED)
    steps = [activity for activity in variant.activities if activity.role == "mask"] if variant and variant.ok else []
    return steps[0] if len(steps) == 1 and steps[0].kind == "kernel" else None


def largest(facts: RunFacts, step: ActivityFacts) -> bool:
    """Whether no other activity of naive in place takes as long."""
    return all(other is step or other.duration < step.duration for other in facts.variants[PROBED].activities)


def saving(facts: RunFacts, found: MaskCost) -> Saving | None:
    """What a mask of full size saves per forward of naive in place; `None` where it is not faster, or where the step takes another time in the forward than alone."""
    variant = facts.variants.get(PROBED)
    time = variant.gpu_time if variant and variant.ok else None
    if time is None or found.found.winner != "second" or not found.same:
        return None
    seconds = found.broadcast.time.median - found.full.time.median
    return Saving(seconds, seconds / time.median, variant.title if variant else "")


def ops(found: MaskCost) -> Mapping[str, Op]:
    """By name, in the order of tables."""
    return {"broadcast": found.broadcast, "full": found.full, "mul": found.mul}
