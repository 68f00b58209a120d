"""What Nsight Compute watches: one annotated forward per variant, after two to warm up, and each op of the mask step.

    python -m reportgen.capture.counter_target DEVICE WORKLOAD_JSON VARIANT…

The profiler of torch stays off here; two tools cannot hold the counters at once. A variant that
does not run is left out: the timed processes have recorded why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..run.workload import Workload
from . import mask_step, operands
from .counter_report import MASK_STEP, RANGE_PREFIX
from .refusal import listening

WARM_UP = 2


def main(arguments: Sequence[str]) -> int:
    import torch

    import variants

    device, workload, *names = arguments
    inputs = operands.make(device, Workload(**json.loads(workload)))
    with torch.no_grad():
        for variant in variants.load(tuple(names)):
            with listening() as heard:
                for _ in range(WARM_UP):
                    variant.forward(*inputs)
                operands.synchronize(device)
            if heard.error is None:
                _annotated(variant.id, partial(variant.forward, *inputs), device)
        if operands.is_gpu(device):
            _mask_step(device, Workload(**json.loads(workload)))
    return 0


def _mask_step(device: str, workload: Workload) -> None:
    """Each op alone; where there is no room for the mask of full size nothing is counted."""
    with listening():
        for name, step in mask_step.steps(device, workload).items():
            for _ in range(WARM_UP):
                step()
            operands.synchronize(device)
            _annotated(f"{MASK_STEP}{name}", step, device)


def _annotated(name: str, work: Callable[[], Any], device: str) -> None:
    """`work` in its range; the range closes only when the GPU has finished."""
    import torch

    torch.cuda.nvtx.range_push(f"{RANGE_PREFIX}{name}")
    work()
    operands.synchronize(device)
    torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
