"""What is asked beside the timings, in two lists: what times nothing, and what does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from variants import Variant

from . import trying
from .evidence import OWN_CURES, Task


@dataclass(frozen=True)
class Agenda:
    """gpu: on a GPU; alive: variants whose forwards were timed; slow: those that are compiled and timed here; training: forward and backward as well; quick: see `CaptureRequest`."""

    gpu: bool
    alive: Sequence[Variant]
    slow: Sequence[str]
    training: bool
    quick: bool

    def _trained(self) -> list[str]:
        """Extras are not trained."""
        return [variant.id for variant in self.alive if not variant.brief] if self.training else []

    def untimed(self) -> list[Task]:
        """What times nothing: whatever runs beside it disturbs nothing. What poisons the device ends the process, and another one does the rest."""
        tasks: list[Task] = [(task, variant.id) for variant in self.alive for task in ("numerics", "masked_row", "memory")]
        tasks += [("own_mask", name) for name in self._trained()]
        return tasks if self.quick else [*tasks, ("picks", None), *_probes(with_compiler=False)]

    def timed(self, cures: Sequence[Task] = ()) -> list[Task]:
        """The rest, in an order that starts the profiler after everything that is timed, but for what is compiled. cures: see `trying.cures`."""
        names = self._trained()
        tasks: list[Task] = [("ceilings", None), *(("training", name) for name in names), *cures]
        tasks += [] if self.quick else [*_probes(with_compiler=True), OWN_CURES]
        tasks += [("profiler", None)]
        tasks += [("trace", variant.id) for variant in self.alive]
        if self.gpu:
            tasks += [("training_kernels", name) for name in names]
        return [*tasks, ("probes", None), *((task, name) for name in self.slow for task in ("compiled", "numerics", "masked_row", "memory", "trace"))]


def _probes(with_compiler: bool) -> list[Task]:
    return [(task, step) for task, step in trying.steps() if (step.split()[0] in trying.WITH_COMPILER) is with_compiler]
