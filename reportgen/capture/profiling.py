"""The recorded trace: a few annotated forwards of one variant under torch's profiler."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from variants import Variant

from ..run.workload import Workload
from ..saying.units import Bytes
from ..trace import FORWARD
from . import operands
from .patience import LONG_TRACE, TraceSteps


def trace(variant: Variant, device: str, workload: Workload, steps: TraceSteps = LONG_TRACE) -> dict[str, Any]:
    """The Kineto trace of `steps.active` forwards, each inside a range named `trace.FORWARD`.

    The device is waited for before every step, so that no activity of one step is recorded in the
    next. Shapes and stacks are off: recording them makes ops slower. The first start of the
    profiler in a process takes seconds.

    Raises:
        ValueError: torch wrote a trace that is not JSON. Otherwise what the variant raises.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile, record_function, schedule

    gpu = operands.is_gpu(device)
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if gpu else [])]
    arguments = operands.make(device, workload)
    documents: list[dict[str, Any]] = []
    with torch.no_grad(), variant.pinned():
        for _ in range(steps.warm_calls):
            variant.bare(*arguments)
        operands.synchronize(device)
        with profile(activities=activities, schedule=schedule(wait=steps.wait, warmup=steps.warm_up, active=steps.active, repeat=1),
                     on_trace_ready=lambda profiler: documents.append(export(profiler)),
                     record_shapes=False, with_stack=False) as profiler:
            for _ in range(steps.wait + steps.warm_up + steps.active):
                with record_function(FORWARD):
                    variant.bare(*arguments)
                operands.synchronize(device)
                profiler.step()
    return documents[0]


def export(profiler: Any) -> dict[str, Any]:
    """The profiler's trace as a document in memory.

    Raises:
        ValueError: it is not JSON. OSError: torch wrote none.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(file))
        if not file.is_file():  # torch says nothing of a disk that took no file
            raise OSError(f"the profiler wrote no trace; the disk of the temporary folder has room for {Bytes(shutil.disk_usage(folder).free)}")
        return json.loads(file.read_text(encoding="utf-8", errors="replace"), strict=False)


def start(device: str) -> None:
    """Starts the profiler for the first time in this process, which takes seconds, and stops it again.

    Nothing else may be imported meanwhile: the profiler's own start imports parts of the compiler,
    and two threads that import it at once leave both with half a module.
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if operands.is_gpu(device) else [])]):
        torch.ones(1, device=device)
        operands.synchronize(device)
