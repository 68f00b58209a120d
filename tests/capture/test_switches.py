"""Which environment variables are recorded, and how much of them."""

from __future__ import annotations

import pytest

from reportgen.capture import switches
from reportgen.run import disturbance
from reportgen.run.noise import other_settings


@pytest.mark.parametrize("name", [
    "CUDA_LAUNCH_BLOCKING", "NVIDIA_TF32_OVERRIDE", "CUDA_DEVICE_MAX_CONNECTIONS", "CUDA_MODULE_LOADING", "TORCH_CUDNN_SDPA_DEPRIORITIZED", "TORCH_CUDNN_SDPA_NESTED_TENSOR_ENABLED",
    "TORCH_CUDNN_V8_API_DISABLED", "TORCH_BLAS_PREFER_CUBLASLT", "TORCH_BLAS_PREFER_HIPBLASLT", "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "HSA_OVERRIDE_GFX_VERSION",
    "PYTORCH_TUNABLEOP_ENABLED", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING", "CUBLAS_WORKSPACE_CONFIG", "CUDNN_LOGLEVEL_DBG",
    "COMPUTE_SANITIZER_INJECTION_PATH", "CUDA_INJECTION64_PATH", "NSYS_PROFILING_SESSION_ID", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONDEVMODE", "HIP_LAUNCH_BLOCKING",
])  # fmt: skip
def test_what_changes_dispatch_or_time_is_recorded(name):
    assert switches.variables({name: "1", "HOME": "x"}) == {name: "1"}


@pytest.mark.parametrize("name", ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "HOME", "USER", "PATH", "LOGNAME", "PYTORCH_VERSION", "PYTORCH_BUILD_VERSION", "PYTORCH_BUILD_NUMBER", "PYTORCH_HOME",
                                  "CUBLAS_VERSION", "CUDNN_VERSION", "TORCHINDUCTOR_CACHE_DIR", "PYTORCH_KERNEL_CACHE_PATH_DIR", "PYTORCH_API_TOKEN", "CUDA_VISIBLE_DEVICES", "NSYS_HOME"])
def test_what_is_private_or_says_where_something_lies_is_not(name):
    assert switches.variables({name: "1"}) == {}


@pytest.mark.parametrize(("given", "recorded"), [
    ("1", "1"), ("expandable_segments:True,max_split_size_mb:128", "expandable_segments:True,max_split_size_mb:128"), (":4096:8", ":4096:8"),
    ("/opt/nvidia/sanitizer/libsanitizer-collection.so", "libsanitizer-collection.so"), ("/a/b/liba.so:/c/libb.so", "liba.so libb.so"), ("C:\\x\\y.dll", "C y.dll"),
    ("a\nb", "set"), ("$(x)", "set"), ("é", "é"), ("x" * 121, "set"),
])
def test_a_switch_is_recorded_as_it_is_a_path_by_its_end_and_anything_else_as_set(given, recorded):
    assert switches.value(given) == recorded


def test_an_empty_variable_is_not_set():
    assert switches.variables({"CUDA_LAUNCH_BLOCKING": ""}) == {}


@pytest.mark.parametrize(("given", "found"), [
    ({"CUDA_INJECTION64_PATH": "/x/libsanitizer.so", "COMPUTE_SANITIZER_INJECTION": "1"}, ["COMPUTE_SANITIZER_INJECTION", "CUDA_INJECTION64_PATH"]),
    ({"NSYS_PROFILING_SESSION_ID": "3"}, ["NSYS_PROFILING_SESSION_ID"]), ({"LD_PRELOAD": "/usr/lib/libasan.so.8"}, ["LD_PRELOAD"]), ({"LD_PRELOAD": "/usr/lib/libjemalloc.so"}, []),
    ({"ASAN_OPTIONS": "x", "CUDA_LAUNCH_BLOCKING": "1"}, ["ASAN_OPTIONS"]), ({}, []),
])
def test_a_profiler_or_sanitizer_shows_in_the_environment(given, found):
    assert disturbance.tools(given) == tuple(found)


def test_how_many_threads_a_cpu_has_is_no_setting_of_a_gpu():
    old, new = {"environment": {}}, {"environment": {"OMP_PROC_BIND": "close", "KMP_AFFINITY": "x", "CUDA_LAUNCH_BLOCKING": "1"}}
    assert other_settings(old, new, "cuda") == ["CUDA_LAUNCH_BLOCKING"]
    assert other_settings(old, new, "cpu") == ["CUDA_LAUNCH_BLOCKING", "KMP_AFFINITY", "OMP_PROC_BIND"]
