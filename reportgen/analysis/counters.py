"""Brings hardware counters to the trace's kernels, by order and name; a mismatch is said, not guessed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..run import KernelCounters
from ..trace import TraceLoss
from .model import ActivityFacts, CounterFacts

METRICS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "l2_bytes": "lts__t_bytes.sum",
    "theoretical_pct": "sm__maximum_warps_per_active_cycle_pct",
    "achieved_pct": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "registers": "launch__registers_per_thread",
    "duration": "gpu__time_duration.sum",
    "instructions": "sm__inst_executed.sum",
    "issue_pct": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "tensor_pct": "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active",
    "xu_pct": "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active",
    "alu_pct": "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active",
}
"""Field of `CounterFacts` → the metric's name in Nsight Compute."""
_TENSOR = "sm__ops_path_tensor_src_"
_SOURCES = {"bfloat16": "bf16", "float16": "fp16", "float32": "tf32"}
NOT_SEEN = "the counter tool saw no kernel of it"
NOT_ASKED = "kernels of extras are not counted"


def attach(activities: tuple[ActivityFacts, ...], rows: Sequence[KernelCounters] | None, dtype: str) -> tuple[ActivityFacts, ...]:
    """Activities with the counters of the kernel that stands at the same place under the same name.

    Copies and memsets are not seen by the counter tool; they keep `None`. If the kernels differ in
    number or name, nothing is attached (`mismatch` says why).
    """
    if not rows or mismatch(activities, rows):
        return activities
    remaining = iter(rows)
    return tuple(replace(activity, counters=of_kernel(next(remaining), dtype)) if activity.kind == "kernel" else activity
                 for activity in activities)


def mismatch(activities: Sequence[ActivityFacts], rows: Sequence[KernelCounters]) -> str | None:
    """Why counters cannot be matched to these activities, or `None`."""
    kernels = [activity for activity in activities if activity.kind == "kernel"]
    if len(kernels) != len(rows):
        return f"the trace shows {len(kernels)} kernels, the counter tool {len(rows)}"
    for place, (kernel, row) in enumerate(zip(kernels, rows), start=1):
        if _stem(kernel.name) != _stem(row.kernel):
            return f"kernel {place} is {_stem(kernel.name)} in the trace and {_stem(row.kernel)} for the counter tool"
    return None


LOST = "its trace has no whole forward to match them with"


def why_none(activities: Sequence[ActivityFacts], rows: Sequence[KernelCounters] | None, loss: TraceLoss | None = None, extra: bool = False) -> str | None:
    """Why a variant of a run with counters has none; `None` where it has some, or launches no kernel. extra: of it only the deciding time was taken."""
    if loss is not None:
        return LOST
    if not any(activity.kind == "kernel" for activity in activities):
        return None
    return mismatch(activities, rows) if rows else NOT_ASKED if extra else NOT_SEEN


def _stem(name: str) -> str:
    """The part of a kernel's name on which every demangler agrees."""
    name = name.removeprefix("void ").replace("(anonymous namespace)", "<unnamed>")
    for namespace in ("at::native::", "at::", "<unnamed>::"):
        name = name.replace(namespace, "")
    return name.split("<")[0].split("(")[0].strip()


def of_kernel(row: KernelCounters, dtype: str) -> CounterFacts:
    """The counters of one kernel in our own names. dtype: of the workload."""
    metrics = row.metrics
    values: dict[str, Any] = {field: metrics.get(metric) for field, metric in METRICS.items()}
    shared = [metrics.get(f"launch__shared_mem_per_block_{kind}") for kind in ("static", "dynamic")]
    if values["registers"] is not None:
        values["registers"] = int(values["registers"])
    return CounterFacts(**values, tensor_core_flop=_tensor_flop(metrics, dtype),
                        shared_memory=int(sum(filter(None, shared))) if any(v is not None for v in shared) else None)


def _tensor_flop(metrics: Mapping[str, float | None], dtype: str) -> float | None:
    """Operations on Tensor Cores over all source types.

    `None` if the type of the workload was not counted, or if TF32 was asked for and the chip has no
    count of it: a sum without it could read 0 for a kernel that uses them. Where FP32 matmuls may not
    use TF32, the capture does not ask for it.
    """
    by_source = {name.removeprefix(_TENSOR): value for name, value in metrics.items() if name.startswith(_TENSOR)}
    own = [value for name, value in by_source.items() if name.startswith(_SOURCES[dtype])]
    tf32 = [value for name, value in by_source.items() if name.startswith(_SOURCES["float32"])]
    if not own or None in (*own, *tf32):
        return None
    return sum(value for value in by_source.values() if value is not None)
