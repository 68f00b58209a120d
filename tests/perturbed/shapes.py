"""Edits of run.json that change what was computed, and on what."""

from __future__ import annotations

from typing import Any

from . import kineto, states
from .recorded import Traces


def workload(run: dict[str, Any], traces: Traces, name: str, **sizes: Any) -> None:
    """Another workload of the same trace's form; what grows with the score matrix or the operands grows with it."""
    before = dict(run["workload"])
    after = {**before, "name": name, **sizes}
    run["workload"] = after
    scores, operands = _scores(after) / _scores(before), _operands(after) / _operands(before)
    for variant, entry in run["variants"].items():
        if entry["peak_memory_bytes"] is not None:
            small = variant in ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
            entry["peak_memory_bytes"] = int(entry["peak_memory_bytes"] * (operands if small else scores))
    flop = scores * after["head_dim"] / before["head_dim"]
    if scores == 1 == operands:
        return
    for kernels in run["counters"]["variants"].values() if run["counters"] else ():
        for kernel in kernels:
            kernel["metrics"] = {metric: value if value is None else int(value * flop) if "ops_path" in metric else int(value * scores) if "bytes" in metric else value
                                 for metric, value in kernel["metrics"].items()}
    for variant in traces:
        for event in kineto.events(traces[variant], "gpu_memcpy"):
            event["args"]["bytes"] = int(event["args"]["bytes"] * scores)


def _scores(sizes: dict[str, Any]) -> int:
    return sizes["batch"] * sizes["heads"] * sizes["sequence"] ** 2 * (4 if sizes["dtype"] == "float32" else 2)


def _operands(sizes: dict[str, Any]) -> int:
    return sizes["batch"] * sizes["heads"] * sizes["sequence"] * sizes["head_dim"] * (4 if sizes["dtype"] == "float32" else 2)


def device(run: dict[str, Any], **fields: Any) -> None:
    """Another device. What a capture on it would find otherwise is for the perturbation to say."""
    run["device"] = {**run["device"], **fields}
    run["host"] = {"cpu": "Intel(R) Xeon(R) Platinum 8480C", "logical_cpus": 32}


def sm(traces: Traces, major: int, minor: int, name: str, sms: int) -> None:
    """What the profiler writes about another CUDA device."""
    for variant in traces:
        for entry in traces[variant]["deviceProperties"]:
            entry.update(name=name, computeMajor=major, computeMinor=minor, numSms=sms)


def on_cpu(run: dict[str, Any], traces: Traces) -> None:
    """What a run on a CPU records: no GPU time, no lane, no counters, no clocks, no peak memory, a preset of its own."""
    workload(run, traces, "small", batch=1, heads=4, sequence=256, head_dim=64)
    device(run, kind="cpu", name="Intel(R) Xeon(R) Platinum 8480C", slug="cpu-intel-xeon-platinum-8480c", compute_capability=None, sm_count=None,
           memory_bytes=134000000000, l2_cache_bytes=110100480, power_limit_watts=None, default_power_limit_watts=None, ecc=None)
    run["software"] = {**run["software"], "torch": "2.11.0+cpu", "cuda": None, "cudnn": None, "cublas": None, "driver": None}
    states.not_run(run, traces, "sdpa_efficient", "sdpa_cudnn", reason=f"torch has this backend on GPUs only: {states.NO_KERNEL}")
    states.not_run(run, traces, "naive_compiled", reason="compiling takes longer than the rest of a CPU run; ask for this variant by name to have it", status="not-tried")
    states.no_counters(run, "no GPU")
    run["clocks"] = {"available": False, "reason": "not an NVIDIA GPU: NVML has nothing to say", "samples": [], "other_processes": None}
    run["ceilings"] = {"copy_bytes_per_s": 18e9, "matmul_flop_per_s": 120e9, "fp32_flop_per_s": 90e9, "copy_bytes": 134217728, "matmul_size": 1024}
    probes, protocol = run["probes"], run["protocol"]
    probes["default_backend"] = {"name": "flash", "op": "aten::_scaled_dot_product_flash_attention_for_cpu"}
    probes["occupancy_probe"] = {"reason": "no CUDA device."}
    probes["saving_accumulates"]["timer"] = "wall"
    protocol.update(timer=None, forwards_per_graph=None, input_sets=None, pinned=False)
    for entry in run["variants"].values():
        entry.update(timer=None, timer_note=None, peak_memory_bytes=None)
        for quantity in ("gpu_time", "gpu_time_cold"):
            entry["samples"].pop(quantity, None)
        if entry["training"]:
            entry["training"].update(gpu_time=None, kernels=None, peak_memory_bytes=None)
    for name in traces:
        kineto.on_a_cpu(traces[name])
    kineto.rename_op(traces["sdpa_flash"], "aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_flash_attention_for_cpu")
