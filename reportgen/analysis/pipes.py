"""What the SMs did while a kernel ran, counted: instructions, issue slots, pipes. Why one fused kernel is faster than another, and what keeps a step busy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from ..hardware.kernel_names import Implementation
from .bounds import ENOUGH, Bound, Limit
from .kernels import implementation, main_kernel, readable
from .model import FUSED, ActivityFacts, CounterFacts, RunFacts
from .ranking import rank

APART = 0.10
"""Two kernels were counted once each: what differs by less is called the same."""


class Busy(Enum):
    """What of the SMs a kernel kept busy. The value is the field of its counter."""

    ISSUE = "issue_pct"
    TENSOR = "tensor_pct"
    XU = "xu_pct"
    ALU = "alu_pct"


@dataclass(frozen=True)
class Pipes:
    """The counters of a fused variant's kernel. Percent of the slots or cycles; `None` where not counted."""

    variant: str
    kernel: ActivityFacts
    counters: CounterFacts
    instructions: float


@dataclass(frozen=True)
class Contrast:
    """Two fused variants, the one faster beyond noise, and what the counters show that makes it so.

    fewer: it executes fewer instructions; busier: it keeps the tensor pipe busier
    denser: its tensor pipe is no busier and yet does more operations per second, and the names say by which instruction
    """

    fast: Pipes
    slow: Pipes
    fewer: bool
    busier: bool
    denser: float | None

    @property
    def told(self) -> bool:
        return self.fewer or self.busier or self.denser is not None


def fused(facts: RunFacts) -> tuple[Pipes, ...]:
    """The fused variants whose kernel's instructions were counted, the fastest first."""
    by_id = {variant.id: variant for variant in readable(facts) if variant.id in FUSED}
    found = []
    for name in rank(facts, names=tuple(by_id)).order:
        kernel = main_kernel(by_id[name])
        if kernel and kernel.counters and kernel.counters.instructions:
            found.append(Pipes(name, kernel, kernel.counters, kernel.counters.instructions))
    return tuple(found)


def contrasts(facts: RunFacts) -> tuple[Contrast, ...]:
    """Each of the counted fused variants beside the next slower one, where they are told apart and the counters show a difference."""
    found, ranking = fused(facts), rank(facts, names=FUSED)
    pairs = [_contrast(fast, slow) for fast, slow in pairwise(found) if ranking.pair(fast.variant, slow.variant).winner == fast.variant]
    return tuple(pair for pair in pairs if pair.told)


def _contrast(fast: Pipes, slow: Pipes) -> Contrast:
    busier = _above(fast.counters.tensor_pct, slow.counters.tensor_pct)
    return Contrast(fast, slow, _above(slow.instructions, fast.instructions), busier, None if busier else _denser(fast, slow))


def _above(first: float | None, second: float | None) -> bool:
    return first is not None and second is not None and first > (1 + APART) * second


def _denser(fast: Pipes, slow: Pipes) -> float | None:
    """How many times the operations of a second on Tensor Cores, where the pipe is as busy in both and the names tell the two instructions."""
    first, second = fast.counters, slow.counters
    if first.tensor_pct is None or second.tensor_pct is None or _above(second.tensor_pct, first.tensor_pct):
        return None
    named = fast.kernel.decoded is not None and fast.kernel.decoded.instruction == "wgmma" and implementation(slow.kernel) is Implementation.FLASH_2
    if not named or not first.tensor_core_flop or not second.tensor_core_flop:
        return None
    rates = [pipes.counters.tensor_core_flop / pipes.kernel.duration for pipes in (fast, slow) if pipes.counters.tensor_core_flop]
    return rates[0] / rates[1] if _above(rates[0], rates[1]) else None


def busy(activity: ActivityFacts) -> tuple[Busy, float] | None:
    """What the kernel kept busiest, in percent, where that is as much as counts as reaching a limit; `None` where nothing is, or nothing was counted."""
    counters = activity.counters
    if counters is None:
        return None
    found = [(part, value) for part in Busy if (value := getattr(counters, part.value)) is not None and value >= 100 * ENOUGH]
    return max(found, key=lambda pair: pair[1], default=None)


PIPES = (Busy.TENSOR, Busy.XU, Busy.ALU)
"""What of `Busy` is a pipe: issue slots feed all of them."""


def busiest(pipes: Pipes) -> tuple[Busy, float] | None:
    """The pipe that the kernel kept busiest, and how much in percent; `None` where no pipe was counted."""
    found = [(part, value) for part in PIPES if (value := getattr(pipes.counters, part.value)) is not None]
    return max(found, key=lambda pair: pair[1], default=None)


def kept_busy(found: tuple[Bound, ...]) -> dict[Busy, float]:
    """Of the time that neither memory nor arithmetic explains: what was busy instead → its share of the whole time."""
    total = sum(one.activity.duration for one in found)
    out: dict[Busy, float] = {}
    for one in found:
        part = busy(one.activity) if one.limit is Limit.NEITHER else None
        if part and total:
            out[part[0]] = out.get(part[0], 0.0) + one.activity.duration / total
    return out
