"""Other devices and workloads. Only what a capture there would find otherwise is changed; the rest stays the H200's."""

from __future__ import annotations

from typing import Any

from builder_devices import DEVICES, NO_CUDNN_ROCM, NO_CUDNN_T4, NO_FLASH

from .. import kineto, samples, shapes, states
from ..recorded import COMPILED, SIX, Traces
from ..registry import perturbation

GRAPHS_OF = ("naive", "naive_inplace")


def _rename(traces: Traces, device: str) -> None:
    """The names that kernels have there, as `builder_devices` has them."""
    for (who, role, place), new in DEVICES[device]["names"].items():
        for name in GRAPHS_OF if who == "naive*" else (who,):
            if name not in traces:
                continue
            op = {"matmul": "aten::bmm", "copy": "aten::copy_"}.get(role, "aten::scaled_dot_product_attention")
            inside = kineto.under(traces[name], op)
            names = list(dict.fromkeys(event["name"] for event in kineto.kernels(traces[name]) if inside(event)))
            if place < len(names):
                kineto.change((event for event in kineto.kernels(traces[name]) if event["name"] == names[place]), name=new)


def _there(run: dict[str, Any], device: str) -> None:
    given = DEVICES[device]
    fields = {"ecc": None, "mig_profile": None, **given["device"]}
    shapes.device(run, **fields)
    run["software"].update({name: version for name, version in given["software"].items() if name in run["software"]})
    copy, matmul, single = given["ceilings"]
    run["ceilings"].update(copy_bytes_per_s=copy, matmul_flop_per_s=matmul, fp32_flop_per_s=single)
    name, op = given["default_backend"]
    run["probes"]["default_backend"] = {"name": name, "op": op}


def _times(run: dict[str, Any], traces: Traces, device: str) -> None:
    given = DEVICES[device]
    ran = [(name, gpu, host) for name, gpu, host in zip(SIX, given["gpu"], given["host"]) if gpu]
    samples.host(run, **{name: host for name, _, host in ran})
    samples.on_gpu(run, traces, **{name: gpu for name, gpu, _ in ran})


@perturbation("E", floored=False)
def a100_with_the_articles_times(run: dict[str, Any], traces: Traces) -> None:
    """An A100-SXM4-80GB with the article's own times: flash first, math 3.7 times in place, cuDNN between."""
    _there(run, "a100")
    states.no_counters(run, "Nsight Compute is not installed; see the method page")
    shapes.sm(traces, 8, 0, "NVIDIA A100-SXM4-80GB", 108)
    _rename(traces, "a100")
    for name in GRAPHS_OF:
        kineto.drop(traces[name], lambda event: event["cat"] == "gpu_memset")
        kineto.launched_by(traces[name], kineto.kernels(traces[name]), "cudaLaunchKernel")
    states.not_run(run, traces, COMPILED, reason="Cannot find a working triton installation.")
    _times(run, traces, "a100")
    run["probes"]["occupancy_probe"] = {"reason": "libnvrtc.so could not be loaded."}


@perturbation("C", floored=False)
def a100_with_another_ratio(run: dict[str, Any], traces: Traces) -> None:
    """The article's device, on which math takes 2.5 times what in place takes: the device is not what differs."""
    a100_with_the_articles_times(run, traces)
    samples.on_gpu(run, traces, sdpa_math=4887.5)


@perturbation("C", floored=False)
def rocm(run: dict[str, Any], traces: Traces) -> None:
    """An MI300X: HIP calls, AOTriton kernels, no cuDNN, no capability, no occupancy field, no counters."""
    states.not_run(run, traces, "sdpa_cudnn", reason=NO_CUDNN_ROCM)
    states.not_run(run, traces, COMPILED, reason="Cannot find a working triton installation.")
    states.no_counters(run, "no NVIDIA GPU")
    _there(run, "mi300x")
    run["software"].update(cuda=None, hip="7.0.51831", cudnn=None, cublas=None, driver=None)
    run["clocks"] = {"available": False, "reason": "not an NVIDIA GPU: NVML has nothing to say", "samples": [], "other_processes": None}
    run["probes"]["occupancy_probe"] = {"reason": "not an NVIDIA GPU."}
    _rename(traces, "mi300x")
    for name in traces:
        trace = traces[name]
        trace["deviceProperties"] = []
        kineto.drop(trace, lambda event: event["cat"] == "gpu_memset")
        for event in kineto.kernels(trace):
            for key in (kineto.FIELD, "registers per thread", "shared memory", "blocks per SM", "warps per SM"):
                event["args"].pop(key, None)
        for event in kineto.events(trace, "cuda_runtime", "cuda_driver"):
            event.update(cat="cuda_runtime", name="hipMemcpyAsync" if "Memcpy" in event["name"] else "hipLaunchKernel" if "Launch" in event["name"] else "hipDeviceSynchronize")
    _times(run, traces, "mi300x")


@perturbation("A5", "C", floored=False)
def capability_7_5(run: dict[str, Any], traces: Traces) -> None:
    """A T4 with the float16 workload: torch refuses flash and cuDNN."""
    states.not_run(run, traces, "sdpa_flash", reason=NO_FLASH)
    states.not_run(run, traces, "sdpa_cudnn", reason=NO_CUDNN_T4)
    states.not_run(run, traces, COMPILED, reason="Found Tesla T4 which is too old to be supported by the triton GPU compiler.")
    states.no_counters(run, "Nsight Compute is not installed; see the method page")
    shapes.workload(run, traces, "article-fp16", dtype="float16")
    _there(run, "t4")
    shapes.sm(traces, 7, 5, "Tesla T4", 40)
    _rename(traces, "t4")
    run["probes"]["occupancy_probe"] = {"reason": "libnvrtc.so could not be loaded."}
    _times(run, traces, "t4")


@perturbation("A3", "A5", floored=False)
def on_a_cpu(run: dict[str, Any], traces: Traces) -> None:
    """A CPU: four of the six, wall times only, another workload."""
    shapes.on_cpu(run, traces)
    for name, us in {"naive": 1200, "naive_inplace": 740, "sdpa_math": 2900, "sdpa_flash": 266}.items():
        found = samples.of(run, name)
        for quantity in ("wall_time", "host_time"):
            found[quantity] = samples.around(us)
    run["probes"]["saving_accumulates"].update({name: {"1": samples.around(us), "24": samples.around(24 * us)} for name, us in (("naive", 1200), ("naive_inplace", 740))})


@perturbation("D", floored=False)
def unknown_architecture(run: dict[str, Any], traces: Traces) -> None:
    """A device of compute capability 13.0, which neither our table nor the profiler knows: its field reads −1."""
    shapes.device(run, name="NVIDIA X1000", slug="nvidia-x1000", compute_capability="13.0", sm_count=200)
    shapes.sm(traces, 13, 0, "NVIDIA X1000", 200)
    for name in traces:
        kineto.reads(kineto.kernels(traces[name]), -1)
    for probe in run["probes"]["occupancy_probe"]["launches"]:
        probe["profiler_occupancy"] = -1


@perturbation("E", floored=False)
def mig_slice(run: dict[str, Any], traces: Traces) -> None:
    """A MIG slice 1g.18gb: 16 SMs, and counters that cannot be had."""
    shapes.device(run, name="NVIDIA H200", slug="nvidia-h200-mig-1g.18gb", sm_count=16, memory_bytes=18253611008, l2_cache_bytes=7864320, mig_profile="1g.18gb")
    shapes.sm(traces, 9, 0, "NVIDIA H200 MIG 1g.18gb", 16)
    states.no_counters(run, "Nsight Compute cannot count on this MIG instance; record on a whole GPU")
    run["ceilings"].update(copy_bytes_per_s=5.6e11, matmul_flop_per_s=9.6e13, fp32_flop_per_s=6.4e12)
    samples.on_gpu(run, traces, naive=8000, naive_inplace=7100, sdpa_math=20000, sdpa_efficient=1450, sdpa_flash=740, sdpa_cudnn=480, naive_compiled=2600)


@perturbation("devices", floored=False)
def power_limited(run: dict[str, Any], traces: Traces) -> None:
    """The same H200 with its power limited to 350 W."""
    shapes.device(run, slug="nvidia-h200-350w", power_limit_watts=350.0)


@perturbation("D", floored=False)
def hostile_device_name(run: dict[str, Any], traces: Traces) -> None:
    """A device whose name holds Markdown, HTML, a table's bar, a backslash and a template's braces."""
    shapes.device(run, name="NVIDIA [X](y) | <b>H200</b> `Q` *7* {name} \\_z_ & co", slug="nvidia-x-y-b-h200-b-q-7-name-z-co")


@perturbation("C")
def float32(run: dict[str, Any], traces: Traces) -> None:
    """The article's shape in float32: flash and cuDNN are refused, math has nothing to cast."""
    states.not_run(run, traces, "sdpa_flash", reason="No available kernel. Aborting execution. Expected query, key and value to all be of dtype: {Half, BFloat16}.")
    states.not_run(run, traces, "sdpa_cudnn", reason="No available kernel. Aborting execution. Expected query, key and value to all be of dtype: {Half, BFloat16}.")
    states.no_counters(run, "the driver keeps hardware counters to administrators (ERR_NVGPUCTRPERM); run as root")
    shapes.workload(run, traces, "article-float32", dtype="float32")
    run["probes"]["default_backend"] = {"name": "efficient", "op": "aten::_scaled_dot_product_efficient_attention"}
    run["ceilings"]["matmul_flop_per_s"] = run["ceilings"]["fp32_flop_per_s"]
    kineto.change(kineto.kernels(traces["sdpa_efficient"]), name="fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float, cutlass::arch::Sm80, true, 64, 64, 64, true, true>::Params)")
    for name in (*GRAPHS_OF, COMPILED):
        kineto.change((event for event in kineto.kernels(traces[name]) if "nvjet" in event["name"]),
                      name="sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas")
    kineto.cut(traces["sdpa_math"], ("aten::_to_copy",))
    samples.on_gpu(run, traces, naive=9000, naive_inplace=8800, sdpa_math=9500, sdpa_efficient=2500, naive_compiled=8000)


@perturbation("devices")
def float16(run: dict[str, Any], traces: Traces) -> None:
    """The article's shape in float16."""
    shapes.workload(run, traces, "article-fp16", dtype="float16")
    for name in traces:
        for event in kineto.kernels(traces[name]):
            event["name"] = event["name"].replace("BFloat16", "Half").replace("cutlass::bfloat16_t", "cutlass::half_t").replace("bf16", "f16")
    for rows in run["counters"]["variants"].values():
        for row in rows:
            row["kernel"] = row["kernel"].replace("BFloat16", "Half").replace("cutlass::bfloat16_t", "cutlass::half_t").replace("bf16", "f16")
            row["metrics"] = {metric.replace("src_bf16_dst_fp32", "src_fp16"): value for metric, value in row["metrics"].items()}


@perturbation("C", "workload")
def another_workload(run: dict[str, Any], traces: Traces) -> None:
    """Batch 4, sequence 2,048, head dimension 128: everything takes twice as long."""
    shapes.workload(run, traces, "wide", batch=4, sequence=2048, head_dim=128)
    samples.on_gpu(run, traces, **{name: 2e6 * samples.middle(run, name) for name in (*SIX, COMPILED)})


@perturbation("C", contrived=True)
def not_causal(run: dict[str, Any], traces: Traces) -> None:
    """The schema allows a workload without the causal mask; no capture makes one."""
    shapes.workload(run, traces, "custom-8x16x1024x64-bfloat16", causal=False)


@perturbation("devices")
def labelled(run: dict[str, Any], traces: Traces) -> None:
    """A second setting kept on purpose."""
    run["label"] = "tuned"
