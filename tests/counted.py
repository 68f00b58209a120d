"""Facts with hardware counters: a synthetic H200 with the table that Nsight Compute printed on a real one.

    h200()                        # all six variants counted
    h200(without=("sdpa_flash",)) # one of them missing from the table
    run(tmp_path, change=…)       # a run on disk with these counters, its `counters` edited by `change`
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from builders import facts
from run_builder import record

from reportgen import run as run_room
from reportgen.analysis import RunFacts, counters
from reportgen.capture import counter_report
from reportgen.run.decode import decode

TABLE = Path(__file__).parent / "data" / "ncu_h200_raw.csv"
TOOL = "Nsight Compute 2025.3.1.0"
METRICS = ("dram__bytes_read.sum", "dram__bytes_write.sum", "lts__t_bytes.sum", "gpu__time_duration.sum", "sm__maximum_warps_per_active_cycle_pct",
           "sm__warps_active.avg.pct_of_peak_sustained_active", "launch__registers_per_thread", "sm__ops_path_tensor_src_bf16_dst_fp32.sum",
           "sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_tf32_dst_fp32.sum")


@cache
def table() -> dict[str, Any]:
    return counter_report.parse(TABLE.read_text(encoding="utf-8"), METRICS)


def h200(without: Sequence[str] = ()) -> RunFacts:
    """The synthetic H200 of `builders.py` with the recorded counters on its kernels."""
    run = facts("h200")
    rows = {name: kernels for name, kernels in decode(run_room.Counters, table()).variants.items() if name not in without}
    variants = {}
    for name, variant in run.variants.items():
        reason = counters.why_none(variant.activities, rows.get(name))
        assert (reason is None) == (name not in without), (name, reason)
        variants[name] = replace(variant, activities=counters.attach(variant.activities, rows.get(name), run.workload.dtype), counters_reason=reason)
    return replace(run, variants=variants, counters_tool=TOOL, counters_reason=None)


def run(root: Path, change: Callable[[dict[str, Any]], None] | None = None) -> run_room.Run:
    """A run on disk whose `run.json` holds the table; `change` edits the content before it is saved."""
    def edit(content: dict[str, Any]) -> None:
        content["counters"] = {"tool": TOOL, **deepcopy(table())}
        if change:
            change(content)

    return run_room.load(record(root, change=edit))
