"""What Nsight Compute watches: one annotated forward per variant, after two to warm up, and each op of the mask step.

    python -m reportgen.capture.counter_target DEVICE WORKLOAD_JSON GATE VARIANT…

It imports torch and then waits until the file GATE is there (`-`: waits for nothing): starting under the tool takes seconds in
which no GPU is touched, and something else may have it. The profiler of torch stays off here; two tools cannot hold the counters at once. A variant that
does not run is left out: the timed processes have recorded why.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..run.workload import Workload
from . import mask_step, operands
from .counter_report import MASK_STEP, RANGE_PREFIX
from .refusal import listening

WARM_UP = 2
NO_GATE = "-"
GATE_LOOK = 0.02


def main(arguments: Sequence[str]) -> int:
    import torch

    import variants

    device, workload, gate, *names = arguments
    _wait_for(gate)
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


def _wait_for(gate: str) -> None:
    """Returns when the file is there; ends this process when whoever started it is gone, for then nobody makes it."""
    parent = os.getppid()
    while gate != NO_GATE and not Path(gate).exists():
        if os.getppid() != parent:
            sys.exit(1)
        time.sleep(GATE_LOOK)


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
