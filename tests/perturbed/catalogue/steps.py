"""Other steps in the traces: copies, casts, masks, kernels that are there or not."""

from __future__ import annotations

from typing import Any

from .. import kineto
from ..recorded import FUSED, Traces
from ..registry import perturbation

TF32_GEMM = "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1_tensor16x8x8_execute_kernel__5x_cublas"
BF16_GEMM = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT"


def _recount(run: dict[str, Any], traces: Traces, name: str) -> None:
    """The counter tool's table of a variant follows the names in its trace, kernel by kernel of one forward."""
    if not run["counters"]:
        return
    rows, first = run["counters"]["variants"].get(name, []), kineto.kernels(traces[name])
    per_forward = len(first) // 6
    run["counters"]["variants"][name] = [{**row, "kernel": event["name"]} for row, event in zip(rows, first[:per_forward])]


@perturbation("C", "ledger memcpy-hidden")
def no_copy(run: dict[str, Any], traces: Traces) -> None:
    """Out-of-place `masked_fill` copies nothing: torch writes the result in one kernel."""
    kineto.drop(traces["naive"], lambda event: event["cat"] == "gpu_memcpy")


@perturbation("C", "ledger memcpy-hidden")
def copy_in_both(run: dict[str, Any], traces: Traces) -> None:
    """The copy is in naive in place as well: it runs naive's forward, op for op."""
    traces["naive_inplace"] = traces["naive"]


@perturbation("ledger memcpy-hidden")
def two_copies(run: dict[str, Any], traces: Traces) -> None:
    """Out-of-place `masked_fill` copies twice."""
    kineto.repeat(traces["naive"], lambda event: event["cat"] == "gpu_memcpy")


@perturbation("ledger memcpy-hidden")
def copy_is_a_kernel(run: dict[str, Any], traces: Traces) -> None:
    """The hidden copy is done by a kernel of torch's, not by a memcpy."""
    for event in kineto.events(traces["naive"], "gpu_memcpy"):
        event.update(cat="kernel", name="void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)>(int)")
        event["args"] = {**event["args"], "registers per thread": 16, "shared memory": 0, "grid": [65536, 1, 1], "block": [128, 1, 1], kineto.FIELD: 100}
        del event["args"]["bytes"]
    kineto.launched_by(traces["naive"], (), "cudaLaunchKernel")


@perturbation("ledger inplace-fewer-cpu-ops")
def same_ops_in_place(run: dict[str, Any], traces: Traces) -> None:
    """The masking step dispatches three ops in either variant: out of place no more than `masked_fill`, `clone` and `copy_`."""
    kineto.drop_op(traces["naive"], "aten::masked_fill_", "aten::expand", "aten::as_strided", "aten::empty_like", "aten::empty")


@perturbation("ledger math-20-kernels")
def math_nineteen_kernels(run: dict[str, Any], traces: Traces) -> None:
    """Math launches one fill less."""
    fills = {event["args"]["correlation"] for event in kineto.kernels(traces["sdpa_math"]) if "FillFunctor<bool>" in event["name"]}
    kineto.drop(traces["sdpa_math"], lambda event: event["args"]["correlation"] in fills)
    run["counters"]["variants"].pop("sdpa_math")


@perturbation("B6", "C")
def math_no_upcast(run: dict[str, Any], traces: Traces) -> None:
    """Math stays in bfloat16: no casts to FP32 and back, and its matmuls are naive's."""
    kineto.cut(traces["sdpa_math"], ("aten::_to_copy",))
    kineto.change((event for event in kineto.kernels(traces["sdpa_math"]) if "gemm" in event["name"]), name=BF16_GEMM)
    run["counters"]["variants"].pop("sdpa_math")
    run["settings"]["allow_fp16_bf16_reduction_math_sdp"] = True
    run["variants"]["sdpa_math"]["relative_error"] = run["variants"]["naive"]["relative_error"]


@perturbation("D", "ledger math-no-tensor-cores")
def math_named_tf32_counted_zero(run: dict[str, Any], traces: Traces) -> None:
    """Math's matmul kernels name TF32, and the counters saw no operation on Tensor Cores: they contradict each other."""
    kineto.change((event for event in kineto.kernels(traces["sdpa_math"]) if "gemm" in event["name"]), name=TF32_GEMM)
    _recount(run, traces, "sdpa_math")
    for row in run["counters"]["variants"]["sdpa_math"]:
        row["metrics"]["sm__ops_path_tensor_src_tf32_dst_fp32.sum"] = 0


@perturbation("ledger math-no-tensor-cores")
def math_tf32(run: dict[str, Any], traces: Traces) -> None:
    """TF32 is on: math's matmul kernels name it, and the counters saw its operations."""
    kineto.change((event for event in kineto.kernels(traces["sdpa_math"]) if "gemm" in event["name"]), name=TF32_GEMM)
    _recount(run, traces, "sdpa_math")
    for row in run["counters"]["variants"]["sdpa_math"]:
        row["metrics"]["sm__ops_path_tensor_src_tf32_dst_fp32.sum"] = 17179869184 if "gemm" in row["kernel"] else 0
    run["settings"].update(float32_matmul_precision="high", matmul_allow_tf32=True)


@perturbation("ledger math-mask-rebuilt")
def mask_not_rebuilt(run: dict[str, Any], traces: Traces) -> None:
    """Math builds no mask: no ones, no tril, no fill, no where, and nothing is added to the scores."""
    kineto.cut(traces["sdpa_math"], ("aten::ones", "aten::tril", "aten::scalar_tensor", "aten::where", "aten::add_"), outside="aten::_safe_softmax")
    run["counters"]["variants"].pop("sdpa_math")


@perturbation("ledger math-safe-softmax")
def no_safe_softmax(run: dict[str, Any], traces: Traces) -> None:
    """Math calls the plain softmax, and a fully masked row becomes NaN."""
    kineto.rename_op(traces["sdpa_math"], "aten::_safe_softmax", "aten::softmax")
    run["variants"]["sdpa_math"]["masked_row"] = {"outcome": "nan", "reason": None}


@perturbation("ledger efficient-one-kernel")
def efficient_two_kernels(run: dict[str, Any], traces: Traces) -> None:
    """Efficient launches a second kernel that combines partial results."""
    kineto.repeat(traces["sdpa_efficient"], lambda event: event["cat"] == "kernel", name="void combine_partial_results(float*)", dur=4.0)
    run["counters"]["variants"].pop("sdpa_efficient")


@perturbation("ledger flash-one-kernel")
def flash_two_kernels(run: dict[str, Any], traces: Traces) -> None:
    """Flash splits the keys and combines the parts in a second kernel."""
    kineto.repeat(traces["sdpa_flash"], lambda event: event["cat"] == "kernel", name="void pytorch_flash::flash_fwd_splitkv_combine_kernel<int>(pytorch_flash::Flash_fwd_params)", dur=4.0)
    run["counters"]["variants"].pop("sdpa_flash")


@perturbation("ledger flash-one-kernel")
def flash_unknown_name(run: dict[str, Any], traces: Traces) -> None:
    """Flash's kernel carries a name that says nothing."""
    kineto.change(kineto.kernels(traces["sdpa_flash"]), name="kernel_0d1d2de")
    _recount(run, traces, "sdpa_flash")


@perturbation("ledger cudnn-one-kernel")
def cudnn_two_kernels(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN launches a second generated kernel."""
    kineto.repeat(traces["sdpa_cudnn"], lambda event: event["cat"] == "kernel", name="cudnn_generated_fort_native_reduce_sm90_kernel0_0", dur=4.0)
    run["counters"]["variants"].pop("sdpa_cudnn")


@perturbation("ledger cudnn-no-transposes")
def nobody_transposes(run: dict[str, Any], traces: Traces) -> None:
    """Flash and efficient insert no transposes either."""
    for name in ("sdpa_flash", "sdpa_efficient"):
        kineto.drop_op(traces[name], "aten::transpose")


@perturbation("ledger cudnn-no-transposes")
def cudnn_transposes(run: dict[str, Any], traces: Traces) -> None:
    """cuDNN transposes as well."""
    kineto.rename_op(traces["sdpa_cudnn"], "aten::empty", "aten::transpose")


@perturbation("C")
def cudnn_no_kernel_seen(run: dict[str, Any], traces: Traces) -> None:
    """The profiler lost cuDNN's kernel and kept its memset; the other traces are whole."""
    kineto.lose(traces["sdpa_cudnn"], lambda event: event["cat"] == "kernel")


@perturbation("C")
def flash_lost_one_record(run: dict[str, Any], traces: Traces) -> None:
    """The profiler kept flash's kernel in all recorded forwards but one."""
    last = kineto.kernels(traces["sdpa_flash"])[-1]
    kineto.lose(traces["sdpa_flash"], lambda event: event is last)


@perturbation("ledger predict-then-look")
def as_predicted(run: dict[str, Any], traces: Traces) -> None:
    """Every variant runs exactly the steps that were predicted."""
    for name in traces:
        kineto.drop(traces[name], lambda event: event["cat"] != "kernel")
    steps = {"naive", "naive_inplace", "naive_compiled", *FUSED}
    for name, entry in run["variants"].items():
        if name not in steps:
            entry["prediction"] = _roles(traces[name])


def _roles(trace: kineto.Document) -> list[list[str]]:
    from reportgen import trace as trace_room
    from reportgen.analysis.patterns import roles

    forward = trace_room.parse(trace).forwards[0]
    return [[roles.role(activity.kind, activity.name, activity.op_path), "as seen"] for activity in forward.activities]


@perturbation("ledger hbm-dominates")
def matmuls_dominate(run: dict[str, Any], traces: Traces) -> None:
    """In naive in place and math the matmuls take twenty times as long: the score matrix's round trips are a trifle."""
    for name in ("naive_inplace", "sdpa_math"):
        for event in kineto.kernels(traces[name]):
            if "gemm" in event["name"] or "nvjet" in event["name"]:
                event["dur"] *= 20
