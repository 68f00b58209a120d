"""Switches that change what runs, or how fast: torch's own, and the environment variables that libraries and tools read.

A variable's value is recorded as it is only where it looks like a switch; of a path its last part stays, of anything else
that it was set.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from . import libraries, operands

WATCHED = (
    "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUDA_AUTO_BOOST",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_INJECTION64_PATH", "CUDA_ENABLE_COREDUMP_ON_EXCEPTION", "NVIDIA_TF32_OVERRIDE", "NVTX_INJECTION64_PATH",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "TORCH_ROCM_FA_PREFER_CK", "TORCH_COMPILE_DISABLE", "TORCH_SHOW_CPP_STACKTRACES",
    "TORCH_USE_CUDA_DSA", "TORCH_LOGS", "TORCH_COMPILE_DEBUG", "HSA_OVERRIDE_GFX_VERSION", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL", "AMD_SERIALIZE_COPY",
    "AMD_LOG_LEVEL", "GPU_MAX_HW_QUEUES", "LD_PRELOAD", "PYTHONDEVMODE", "PYTHONTRACEMALLOC", "PYTHONMALLOC", "PYTHON_GIL",
)  # fmt: skip
WATCHED_PREFIXES = ("TORCH_CUDNN_", "TORCH_BLAS_", "TORCH_LINALG_", "PYTORCH_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "CUBLAS_", "CUBLASLT_", "CUDNN_", "COMPUTE_SANITIZER_", "NV_SANITIZER_",
                    "NV_COMPUTE_PROFILER_", "NV_NSIGHT_", "NSYS_", "QUADD_", "HSA_ENABLE_", "HSA_TOOLS_", "ROCBLAS_", "HIPBLASLT_", "MIOPEN_", "ROCP_", "ROCPROFILER_", "OMP_", "GOMP_", "KMP_",
                    "MKL_", "ONEDNN_", "DNNL_", "OPENBLAS_", "VECLIB_", "ASAN_", "TSAN_", "UBSAN_")  # fmt: skip
NO_SWITCH = re.compile(r"(?:_VERSION|_HOME|_BUILD_\w+|_NUMBER|_DIR|_LIB_PATH|_ROOT|_CACHE|_SHA|_COMMIT|_URL|_TOKEN|_KEY)$|^TORCHINDUCTOR_CACHE|^PYTORCH_TEST")
"""What containers say about themselves, and where caches lie."""
_SWITCH = re.compile(r"(?:_VERSION|_HOME|_BUILD_\w+|_NUMBER|_DIR|_LIB_PATH|_ROOT|_CACHE|_SHA|_COMMIT|_URL|_TOKEN|_KEY)$|^TORCHINDUCTOR_CACHE|^PYTORCH_TEST")
"""What containers say about themselves, and where caches lie."""
TOOLS = re.compile(r"^(?:CUDA_INJECTION64_PATH|NVTX_INJECTION64_PATH|COMPUTE_SANITIZER_\w+|NV_SANITIZER_\w+|NV_COMPUTE_PROFILER_\w+|NV_NSIGHT_\w+|NSYS_\w+|QUADD_\w+|HSA_TOOLS_\w+"
                   r"|ROCP_\w+|ROCPROFILER_\w+|[ATU]B?SAN_\w+)$")
"""Variables that a profiler, a tracer or a sanitizer leaves in the processes that it watches."""
_SWITCH = re.compile(r"[\w.,:;+=|@%\[\]() -]{0,120}")


def settings(device: str) -> dict[str, Any]:
    """Switches by name; one that this torch does not have is `None`. `environment` holds the variables that are set."""
    import torch

    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    matmul = cuda.matmul
    return {
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "cudnn_allow_tf32": _quiet(lambda: cudnn.allow_tf32),
        "matmul_allow_tf32": _quiet(lambda: matmul.allow_tf32),
        "allow_bf16_reduced_precision_reduction": _plain(_quiet(lambda: matmul.allow_bf16_reduced_precision_reduction)),
        "allow_fp16_reduced_precision_reduction": _plain(_quiet(lambda: matmul.allow_fp16_reduced_precision_reduction)),
        "allow_fp16_bf16_reduction_math_sdp": _quiet(lambda: cuda.fp16_bf16_reduction_math_sdp_allowed()),
        "cudnn_deterministic": _quiet(lambda: cudnn.deterministic),
        "cudnn_benchmark": _quiet(lambda: cudnn.benchmark),
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "anomaly_detection": _quiet(lambda: torch.is_anomaly_enabled()),
        "sdp_backends_enabled": _enabled_backends(),
        "torch_threads": torch.get_num_threads(),
        "mps": libraries.mps_running() if operands.is_gpu(device) else None,
        "python_optimized": sys.flags.optimize,
        "python_traced": sys.gettrace() is not None or sys.getprofile() is not None,
        "environment": variables(os.environ),
    }


def variables(given: Mapping[str, str]) -> dict[str, str]:
    """The watched variables that are set, by name, in alphabetical order."""
    return {name: value(given[name]) for name in sorted(given) if _watched(name) and given[name] != ""}


def _watched(name: str) -> bool:
    return name in WATCHED or (name.startswith(WATCHED_PREFIXES) and not NO_SWITCH.search(name))


def value(text: str) -> str:
    """What is recorded of a variable: a switch as it is, of paths the last parts, else that it was set.

    >>> value("expandable_segments:True"), value("/opt/tool/libcapture.so"), value("a\\nb")
    ('expandable_segments:True', 'libcapture.so', 'set')
    """
    parts = [part for part in re.split(r"[:\s]+", text) if part] if "/" in text or "\\" in text else [text]
    names = [re.split(r"[/\\]", part.rstrip("/\\"))[-1] for part in parts]
    return " ".join(names) if all(_SWITCH.fullmatch(name) for name in names) else "set"


def _enabled_backends() -> list[str]:
    import torch

    names = {"flash": "flash_sdp_enabled", "efficient": "mem_efficient_sdp_enabled", "math": "math_sdp_enabled", "cudnn": "cudnn_sdp_enabled"}
    return [name for name, question in names.items() if _quiet(lambda question=question: getattr(torch.backends.cuda, question)())]


def _quiet(question: Any) -> Any:
    try:
        return question()
    except Exception:  # noqa: BLE001 - a switch that cannot be asked for is unknown, and costs nothing else
        return None


def _plain(value: Any) -> Any:
    """Newer torch answers some flags with a tuple of two booleans."""
    return list(value) if isinstance(value, tuple) else value
