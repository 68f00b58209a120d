"""Every quantity that a run measures, counts or models: one row each, for run, facts, floor, diff, JSON and pages.

A new quantity is a row here and its capture. `times()` are the quantities with a sample per process
(or per recorded forward); a run keeps those with `recorded`, under the same name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["measured", "counted", "modelled", "datasheet"]
Unit = Literal["s", "B", "B/s", "FLOP", "FLOP/s", "%", "1"]
Decides = Literal["ranking", "rerun"]


@dataclass(frozen=True)
class Quantity:
    """One quantity.

    name: its key in `run.json`, in facts and (with `_us` for times) in JSON
    label: how a sentence calls it (`GPU time`); head: the head of a column, without the unit
    unit: base unit of its values
    origin: measured (a clock, the allocator), counted (exact, from the trace or by hardware), modelled
        (arithmetic on shapes), datasheet
    recorded: a run keeps one value per fresh process
    decides: `ranking` where it may decide who is faster on a device, `rerun` where a change of it may replace a run
    has_floor: `make noise` keeps a same-code floor for it
    as_range: told from the smallest process to the largest, because a middle would say nothing (what a first call loads
        depends on what ran before)
    """

    name: str
    label: str
    head: str
    unit: Unit
    origin: Origin
    recorded: bool = False
    decides: tuple[Decides, ...] = ()
    has_floor: bool = False
    as_range: bool = False


_ROWS = (
    Quantity("gpu_time", "GPU time", "GPU, hot", "s", "measured", True, ("ranking", "rerun"), True),
    Quantity("gpu_time_cold", "GPU time, cold inputs", "GPU, cold", "s", "measured", True, ("rerun",), True),
    Quantity("wall_time", "wall time", "Wall", "s", "measured", True, ("ranking", "rerun"), True),
    Quantity("host_time", "host time", "Host", "s", "measured", True, (), True),
    Quantity("profiled_host_time", "CPU time under the profiler", "CPU, profiled", "s", "measured"),
    Quantity("first_call", "first call", "First call", "s", "measured", True, as_range=True),
    Quantity("first_call_alone", "first call, before all others", "First call, before all others", "s", "measured", as_range=True),
    Quantity("first_call_new_shape", "first call, new shape", "First call, new shape", "s", "measured", True, as_range=True),
    Quantity("peak_memory_bytes", "peak memory above the inputs", "Peak memory", "B", "measured"),
    Quantity("relative_error", "relative error against FP64", "Relative error", "1", "measured"),
    Quantity("copy_bytes_per_s", "copy ceiling", "Copy", "B/s", "measured"),
    Quantity("matmul_flop_per_s", "matmul ceiling", "Matmul", "FLOP/s", "measured"),
    Quantity("fp32_flop_per_s", "FP32 matmul ceiling", "FP32 matmul", "FLOP/s", "measured"),
    Quantity("kernels", "kernels", "Kernels", "1", "counted"),
    Quantity("memcpys", "memcpys", "Memcpys", "1", "counted"),
    Quantity("memsets", "memsets", "Memsets", "1", "counted"),
    Quantity("op_count", "CPU ops", "CPU ops", "1", "counted"),
    Quantity("dram_bytes", "DRAM traffic", "Counted DRAM bytes", "B", "counted"),
    Quantity("tensor_core_flop", "operations on Tensor Cores", "On Tensor Cores", "FLOP", "counted"),
    Quantity("achieved_pct", "achieved occupancy", "Achieved", "%", "counted"),
    Quantity("instructions", "warp instructions", "Warp instructions", "1", "counted"),
    Quantity("issue_pct", "issue slots busy", "Issue slots busy", "%", "counted"),
    Quantity("tensor_pct", "tensor pipe busy", "Tensor pipe busy", "%", "counted"),
    Quantity("xu_pct", "XU pipe used", "XU pipe", "%", "counted"),
    Quantity("alu_pct", "ALU pipe used", "ALU pipe", "%", "counted"),
    Quantity("requested_bytes", "requested bytes", "Requested bytes", "B", "modelled"),
    Quantity("flop", "work of the matrix products", "Work", "FLOP", "modelled"),
    Quantity("theoretical_pct", "theoretical occupancy", "Theoretical", "%", "modelled"),
    Quantity("peak_memory_bytes_per_s", "peak memory rate", "Peak memory rate", "B/s", "datasheet"),
    Quantity("peak_flop_per_s", "peak arithmetic rate", "Peak arithmetic rate", "FLOP/s", "datasheet"),
)
QUANTITIES: dict[str, Quantity] = {quantity.name: quantity for quantity in _ROWS}
"""Name → row, in the order of columns."""


def times() -> tuple[Quantity, ...]:
    """Quantities in seconds, in the order of columns."""
    return tuple(quantity for quantity in _ROWS if quantity.unit == "s")


def recorded() -> tuple[str, ...]:
    """Names of what a run keeps a value per process of."""
    return tuple(quantity.name for quantity in _ROWS if quantity.recorded)


def with_floor() -> tuple[str, ...]:
    """Names of what a same-code floor is kept for."""
    return tuple(quantity.name for quantity in _ROWS if quantity.has_floor)


def may_replace(name: str) -> bool:
    """Whether a change of this quantity alone may replace a recorded run."""
    return "rerun" in QUANTITIES[name].decides


def heading(text: str) -> str:
    """A label as the head of a column: `GPU time`, `Wall time`."""
    return text[:1].upper() + text[1:]
