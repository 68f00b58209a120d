"""What Nsight Compute watches: one annotated forward per variant, after two to warm up.

    python -m reportgen.capture.counter_target DEVICE WORKLOAD_JSON VARIANT…

The profiler of torch stays off here; two tools cannot hold the counters at once. A variant that
does not run is left out: the timed processes have recorded why.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..run.workload import Workload
from . import operands
from .counter_report import RANGE_PREFIX
from .refusal import listening

if TYPE_CHECKING:
    import variants

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
                _annotated(variant, device, inputs)
    return 0


def _annotated(variant: variants.Variant, device: str, inputs: operands.Operands) -> None:
    """One forward in its range; the range closes only when the GPU has finished."""
    import torch

    torch.cuda.nvtx.range_push(f"{RANGE_PREFIX}{variant.id}")
    variant.forward(*inputs)
    operands.synchronize(device)
    torch.cuda.nvtx.range_pop()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
