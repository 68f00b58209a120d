"""How much of each ceiling the fused variants reach."""

from __future__ import annotations

from dataclasses import dataclass

from .kernels import main_kernel, readable, tensor_cores
from .model import FUSED, RunFacts, VariantFacts
from .round_trips import HALF
from .traffic import best, forward_traffic, forward_work, needed_flop


@dataclass(frozen=True)
class Reach:
    """A fused variant against the ceilings; shares of 1. of_copy: `None` where its bytes were not counted. done: by the FLOP really done."""

    variant: VariantFacts
    of_copy: float | None
    of_matmul: float
    done: float | None

    @property
    def reaches(self) -> bool:
        """By any of them at least the share from which `pace` calls memory or arithmetic the limit of a forward."""
        return any(share is not None and share >= HALF for share in (self.of_copy, self.of_matmul, self.done))


def reach(facts: RunFacts) -> list[Reach]:
    """The fused variants that ran on Tensor Cores, with the share of each ceiling; nothing without ceilings."""
    ceilings = facts.ceilings
    if best(facts) is None or ceilings is None:
        return []
    copy, matmul = ceilings.copy_bytes_per_s or 0.0, ceilings.matmul_flop_per_s or 0.0
    out = []
    for variant in readable(facts):
        seconds, kernel = variant.gpu_time.median if variant.gpu_time else None, main_kernel(variant)
        if variant.id not in FUSED or not seconds or kernel is None or tensor_cores(kernel) == "no":
            continue
        traffic, work = forward_traffic(variant), forward_work(variant)
        out.append(Reach(variant, traffic.total / seconds / copy if traffic else None, needed_flop(facts) / seconds / matmul,
                         work.flop / seconds / matmul if work and work.counted else None))
    return out
