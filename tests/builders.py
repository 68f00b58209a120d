"""Synthetic facts: what a run on seven devices would look like, without a GPU.

    facts("h200")                                   # RunFacts as measured on one H200
    facts("t4")                                     # flash and cuDNN unavailable, fp16
    variant(facts(), "sdpa_flash", gpu_time=estimate(50))
    unavailable(facts(), "sdpa_cudnn", "no cuDNN")  # one variant did not run
    without(facts(), "naive_inplace")               # recorded before the variant was added
    no_lane(facts())                                # no GPU records in the trace

Activities and ops are those of recorded traces (`forwards_h200.json`, for the CPU `forwards_cpu.json`).

**Cases.** Each `tests/test_findings_*.py` keeps a table of how every case of its claims is reached:

    CASES_REACHED = {("memcpy-hidden", "holds"): (lambda: facts("h200"), "literal headline …")}

key: `(claim id, case)`; value: a factory of facts that makes the rule pick that case, and the whole
headline, typed by hand. Beside it, `ON_DEVICES` gives the verdict and the case of each claim on each
device. `test_cases_reached.py` collects the tables, checks every line of them, and fails when a declared
case of any claim is in no table or a device has no verdict.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

from builder_devices import DEVICES

from reportgen.analysis import SIX, ActivityFacts, OpFacts, RunFacts, State, VariantFacts
from reportgen.hardware import kernel_names, occupancy
from reportgen.numbers import quantities
from reportgen.numbers.statistics import Estimate
from reportgen.run import (
    Autograd,
    Ceilings,
    Chains,
    Clocks,
    DefaultBackend,
    DeviceRecord,
    Host,
    MaskedRow,
    MinimalRefusal,
    OccupancyProbe,
    ProbeLaunch,
    Probes,
    Protocol,
    Training,
)
from reportgen.run.workload import PRESETS
from reportgen.trace import Integrity

US = 1e-6
MIB = 2**20
TITLES = ("Naive", "Naive in place", "SDPA math", "SDPA efficient", "SDPA flash", "SDPA cuDNN")
FIVE = (("matmul", "q · kᵀ"), ("scale", "÷ √D"), ("mask", "causal mask"), ("softmax", "scores to weights"), ("matmul", "weights · v"))
ONE = (("fused attention", "scores, mask, softmax and weights · v in one kernel"),)
PEAK_MIB = (528, 528, 1616, 16.5, 16.5, 16.5)
TIMES = {quantity.name for quantity in quantities.times()}
_PATTERN = (0.1, -0.4, 0.5, 0.0, -0.2, 0.3, -0.5)


def estimate(us: float, spread: float = 0.004) -> Estimate:
    """Seven process medians around `us` microseconds, in seconds; highest minus lowest is `spread`."""
    return Estimate(tuple(us * US * (1 + spread * shift) for shift in _PATTERN))


def activity(**changes: Any) -> ActivityFacts:
    """A 10 µs kernel under `aten::mul`; `us=` sets the duration in microseconds."""
    us = changes.pop("us", 10.0)
    given: dict[str, Any] = dict(kind="kernel", name="kernel", role="other", op_path=("aten::mul",), launch_api="cudaLaunchKernel", start=0.0,
                                 duration=us * US, launch_start=0.0)
    return ActivityFacts(**{**given, **changes})


def facts(device: str = "h200", **changes: Any) -> RunFacts:
    """The facts of a run on a synthetic device (a key of `builder_devices.DEVICES`)."""
    built = _facts(device)
    return replace(built, variants=dict(built.variants), **changes) if changes else built


def variant(run: RunFacts, name: str, **changes: Any) -> RunFacts:
    """`run` with some fields of one variant changed."""
    times = {quantity: changes.pop(quantity) for quantity in list(changes) if quantity in TIMES}
    held = run.variants[name]
    if times:
        changes["times"] = {quantity: value for quantity, value in {**held.times, **times}.items() if value is not None}
    return replace(run, variants={**run.variants, name: replace(held, **changes)})


def unavailable(run: RunFacts, name: str, reason: str = "No available kernel. Aborting execution.") -> RunFacts:
    """`run` where one variant could not run."""
    return replace(run, variants={**run.variants, name: _not_run(run.variants[name], State.REFUSED, reason)})


def failed(run: RunFacts, name: str, reason: str = "relative error 0.7, allowed 0.005") -> RunFacts:
    """`run` where one variant ran and gave a wrong result."""
    return replace(run, variants={**run.variants, name: _not_run(run.variants[name], State.FAILED, reason)})


def without(run: RunFacts, name: str) -> RunFacts:
    """`run` recorded before one variant was added."""
    return replace(run, variants={key: value for key, value in run.variants.items() if key != name})


def no_lane(run: RunFacts) -> RunFacts:
    """`run` whose traces hold no GPU records (CUPTI missing); timings stay."""
    bare: dict[str, Any] = dict(kernels=None, memcpys=None, memsets=None, activities=(), trace_gpu_time=None)
    return replace(run, has_gpu_lane=False, variants={key: replace(value, **bare) for key, value in run.variants.items()})


def probes(run: RunFacts, **changes: Any) -> RunFacts:
    """`run` with some probes replaced; a value of `None` removes the probe."""
    return replace(run, probes=replace(run.probes, **changes))


def activities(run: RunFacts, name: str, change: Any) -> RunFacts:
    """`run` with `change` applied to each activity of a variant (returns an activity or `None`); counts follow."""
    kept = tuple(new for old in run.variants[name].activities if (new := change(old)) is not None)
    return variant(run, name, activities=kept, **_counts(kept))


def _counts(acts: tuple[ActivityFacts, ...]) -> dict[str, int]:
    return {f"{kind}s": sum(a.kind == kind for a in acts) for kind in ("kernel", "memcpy", "memset")}


def _not_run(old: VariantFacts, state: State, reason: str) -> VariantFacts:
    return VariantFacts(old.id, old.title, old.named, state, reason, (), old.source, old.prediction)


@cache
def _recorded(on: str = "h200") -> dict[str, Any]:
    return json.loads(Path(__file__).with_name(f"forwards_{on}.json").read_text(encoding="utf-8"))


@cache
def _facts(key: str) -> RunFacts:
    spec = DEVICES[key]
    device = DeviceRecord(**spec["device"])
    lane = device.kind != "cpu"
    copy, matmul, fp32 = spec["ceilings"]
    return RunFacts(
        slot=f"{device.slug}/{spec['workload']}", device=device, software=spec["software"], host=Host("a CPU", 16),
        settings={"float32_matmul_precision": "highest", "CUDA_LAUNCH_BLOCKING": None}, workload=PRESETS[spec["workload"]], label=None,
        ceilings=Ceilings(copy, matmul, fp32, 20 * (device.l2_cache_bytes or 0), 8192),
        clocks=Clocks(reason="synthetic"),
        probes=_probes(spec, key), protocol=Protocol(processes=7, rounds=5), phases={},
        variants={name: _variant(key, spec, index) for index, name in enumerate(SIX)},
        has_gpu_lane=lane, counters_reason="synthetic", floor=0.004, recorded_on="2026-11-30",
    )


def _probes(spec: dict[str, Any], key: str) -> Probes:
    minimal = MinimalRefusal(True, "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.mul_(2)\ny.sum().backward()",
                             "one of the variables needed for gradient computation has been modified by an inplace operation")
    naive, inplace = (spec["gpu"] if spec["gpu"][0] else spec["host"])[:2]
    # 24 chained layers cost exactly 24 times one: a saving per layer that adds up
    chains = Chains((1, 24), "cuda-graph" if spec["gpu"][0] else "wall", {"1": estimate(naive), "24": estimate(24 * naive)},
                    {"1": estimate(inplace), "24": estimate(24 * inplace)})
    pair = tuple(ProbeLaunch(name, "cuLaunchKernel", shared, field, (2048, 1, 1), (128, 1, 1), 16)
                 for name, shared, field in (("probe_16k", 16384, 38.0), ("probe_52k", 53248, 0.0)))
    return Probes(DefaultBackend(*spec["default_backend"]), Autograd(True, 0.0, "ok", None, minimal),
                  OccupancyProbe(reason="torch.cuda._compile_kernel needs CUDA") if key in ("cpu", "mi300x") else OccupancyProbe(pair), chains)


def _variant(key: str, spec: dict[str, Any], index: int) -> VariantFacts:
    name, lane = SIX[index], spec["device"]["kind"] != "cpu"
    six = VariantFacts(name, TITLES[index], True, State.OK, None, (), f'TITLE = "{TITLES[index]}"\n', ONE if index > 2 else FIVE)
    if name in spec.get("unavailable", {}):
        return _not_run(six, State.REFUSED, spec["unavailable"][name])
    gpu, host = spec["gpu"][index], spec["host"][index]
    acts = _activities(key, spec, name, gpu) if lane else ()
    ops = tuple(OpFacts(path[-1], tuple(path), start * US, us * US, us * US / 2) for path, start, us in _ops(key, name))
    return replace(
        six, **(_counts(acts) if lane else {}), activities=acts, ops=ops, op_count=len(ops), transposes=sum(op.name == "aten::transpose" for op in ops),
        integrity=Integrity({}, 0, 1, (), {api: 5 * sum(a.launch_api == api for a in acts) for api in {a.launch_api for a in acts}}),
        times={**({"gpu_time": estimate(gpu), "gpu_time_cold": estimate(gpu * 1.02)} if lane else {}), "wall_time": estimate(max(gpu or 0, host) + 3),
               "host_time": estimate(host, 0.03), "profiled_host_time": estimate(spec["profiled"][index], 0.1), "first_call": estimate(spec["first"][index], 0.1),
               "first_call_new_shape": estimate(host * 3 if name != "sdpa_cudnn" else 60e3, 0.1)},
        trace_gpu_time=sum(a.duration for a in acts) if lane else None,
        timer="cuda-graph" if lane else None, peak_memory_bytes=int(PEAK_MIB[index] * MIB) if lane else None, relative_error=spec["errors"][index],
        allowed_error=3 * spec["errors"][2], masked_row=MaskedRow(spec["masked"][index]), trace_file=f"{name}.trace.json.gz",
        training=Training("ok", None, estimate(gpu * 3.2) if lane else None, estimate(max(gpu or 0, host) * 3.4), 30 if lane else None, int(900 * MIB) if lane else None))


def _ops(key: str, name: str) -> list[Any]:
    return _recorded("cpu" if key == "cpu" else "h200")[name]["ops"]


def _bound(role: str, name: str) -> str:
    if role == "matmul":
        return "mm32" if name == "sdpa_math" else "mm16"
    return "index" if role in ("mask", "add", "where", "all", "memset") else "memory"


def _activities(key: str, spec: dict[str, Any], name: str, gpu: float) -> tuple[ActivityFacts, ...]:
    scale, seen, out = spec.get("scale", {}), {}, []
    for raw in _recorded()[name]["activities"]:
        if raw["kind"] == "memset" and spec.get("no_memset"):
            continue
        nth = seen[raw["role"]] = seen.get(raw["role"], -1) + 1
        keys = [(name, raw["role"], nth)] + ([("naive*", raw["role"], nth)] if name.startswith("naive") else [])
        out.append(_activity(spec, raw, keys, scale.get(_bound(raw["role"], name), 1.0)))
    factor = gpu * US / sum(a.duration for a in out)
    return tuple(replace(a, duration=a.duration * factor) for a in out)


def _activity(spec: dict[str, Any], raw: dict[str, Any], keys: list[Any], scale: float) -> ActivityFacts:
    def own(table: str, default: Any) -> Any:
        return next((spec[table][k] for k in keys if k in spec.get(table, {})), default)

    rocm, threads = spec.get("rocm"), raw["block"][0] * raw["block"][1] if raw["block"] else None
    kernel_name = own("names", raw["name"])
    kind = "kernel" if kernel_name.startswith("__amd") else raw["kind"]
    threads, registers, shared = own("resources", (threads, raw["registers"], raw["shared_memory"]))
    api = spec.get("gemm_api", raw["launch_api"]) if raw["role"] == "matmul" else raw["launch_api"]
    if rocm:
        api, registers, shared = {"memcpy": "hipMemcpyWithStream"}.get(raw["kind"], "hipLaunchKernel"), None, None
    field = own("profiler", 0 if (shared or 0) > 49152 else raw["profiler_occupancy"] or (13 if raw["role"] == "matmul" else raw["profiler_occupancy"]))
    durations = tuple(us * US * scale for us in raw["us"])
    return ActivityFacts(
        kind=kind, name=kernel_name, role=raw["role"], op_path=tuple(raw["op_path"]), launch_api=api, start=raw["start_us"] * US, duration=median(durations),
        launch_start=raw["launch_us"] * US, decoded=_decoded(kernel_name) if kind == "kernel" else None, bytes=raw["bytes"],
        grid=tuple(raw["grid"]) if raw["grid"] else None, block=(threads, 1, 1) if threads else None, registers=registers, shared_memory=shared,
        profiler_occupancy=None if rocm or kind != "kernel" else float(field), requested_bytes=raw["requested_bytes"], flop=raw["flop"],
        occupancy=_occupancy(spec["device"]["compute_capability"], threads, registers, shared) if kind == "kernel" and not rocm else None)


def _decoded(name: str) -> Any:
    try:
        return kernel_names.decode(name)
    except NotImplementedError:
        return None


def _occupancy(capability: str | None, threads: int, registers: int, shared: int) -> Any:
    try:
        return occupancy.occupancy(capability, threads, registers, shared)
    except NotImplementedError:
        return None
