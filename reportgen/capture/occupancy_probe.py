"""Why does the profiler write 0 %? Two kernels that do nothing, each launched in two ways.

One asks for 16 KiB of shared memory, the other for 52 KiB, both with a grid that fills the GPU; each
is launched once by the driver call `cuLaunchKernel` and once by the runtime call `cudaLaunchKernel`.
If the size decides, both launches of the large one read 0 and both of the small one do not; if the
launch call decides, the columns differ and the rows do not.

The kernels are PTX, which any driver compiles when it loads it: no compiler is needed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..run.workload import Workload
from . import libraries, operands, training

SIZES = {"occupancy_probe_16_kib": 16 * 1024, "occupancy_probe_52_kib": 52 * 1024}
WITHOUT_ASKING = 48 * 1024
"""Bytes of shared memory that a block gets without opting in."""
THREADS = 128
BLOCKS_PER_SM = 64
"""More than ever fit at once, so the grid cannot be what limits."""
MAX_DYNAMIC_SHARED_MEMORY = 8
"""`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`, and the runtime's attribute of the same number."""
PTX = (
    ".version 6.4\n.target sm_70\n.address_size 64\n"
    + "".join(f".visible .entry {name}()\n{{\n\tret;\n}}\n" for name in SIZES)
).encode()

Launch = Callable[[], None]


def measure(device: str, workload: Workload | None = None) -> dict[str, Any]:
    """The fields of `run.OccupancyProbe`: one launch per kernel and call that the profiler saw, or the reason for none.

    Call it where the profiler is warm (see `training.count_kernels`).
    """
    import torch
    from torch.profiler import ProfilerActivity, profile

    if not operands.is_gpu(device):
        return {"reason": "there is no GPU"}
    if torch.version.hip:
        return {"reason": "the question is about NVIDIA's profiling interface, and this is ROCm"}
    with torch.cuda.device(device):
        torch.empty(1, device=device)  # makes the context current that the driver calls need
        grid = BLOCKS_PER_SM * torch.cuda.get_device_properties(device).multi_processor_count
        try:
            launches = driver_launches(grid)
        except (OSError, AttributeError, RuntimeError) as error:
            return {"reason": f"the probe kernels could not be loaded ({error})"}
        launches += runtime_launches(grid)
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for _ in range(3):
                for launch in launches:
                    launch()
                torch.cuda.synchronize()
    found = launches_seen(training.chrome_events(profiler))
    return {"launches": found} if found else {"reason": "the profiler recorded none of the probe kernels"}


def launches_seen(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The probe kernels among a Chrome trace's events as `run.ProbeLaunch` has them, one per kernel and launch call."""
    calls: dict[int, str] = {}
    for kind in ("cuda_driver", "cuda_runtime"):  # the runtime's call wins where it made the driver's
        calls |= {event["args"]["correlation"]: event["name"] for event in events
                  if event.get("cat") == kind and "correlation" in event.get("args", {})}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for event in events:
        if event.get("cat") != "kernel" or event.get("name") not in SIZES:
            continue
        arguments = event["args"]
        call = calls.get(arguments.get("correlation"))
        if call is not None:
            found[event["name"], call] = {
                "name": event["name"],
                "launch_api": call,
                "shared_memory": arguments.get("shared memory"),
                "profiler_occupancy": arguments.get("est. achieved occupancy %"),
                "grid": arguments.get("grid"),
                "block": arguments.get("block"),
                "registers": arguments.get("registers per thread"),
            }
    return [found[key] for key in sorted(found)]


def driver_launches(grid: int) -> list[Launch]:
    """Calls that launch each probe kernel by `cuLaunchKernel` on the current stream.

    Raises:
        OSError, AttributeError, RuntimeError: no driver, or it refuses the kernels.
    """
    driver = ctypes.CDLL("libcuda.so.1")
    module = ctypes.c_void_p()
    _must(driver.cuModuleLoadData(ctypes.byref(module), PTX), "cuModuleLoadData")
    launches = []
    for name, size in SIZES.items():
        function = ctypes.c_void_p()
        _must(driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode()), "cuModuleGetFunction")
        if size > WITHOUT_ASKING and driver.cuFuncSetAttribute(function, MAX_DYNAMIC_SHARED_MEMORY, size):
            continue  # a GPU without that much shared memory: the other size still tells its half
        launches.append(_driver_launch(driver, function, grid, size))
    return launches


def _driver_launch(driver: Any, function: ctypes.c_void_p, grid: int, size: int) -> Launch:
    def launch() -> None:
        dimensions = (ctypes.c_uint(n) for n in (grid, 1, 1, THREADS, 1, 1, size))
        _must(driver.cuLaunchKernel(function, *dimensions, _stream(), None, None), "cuLaunchKernel")

    return launch


class _Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


def runtime_launches(grid: int) -> list[Launch]:
    """The same by `cudaLaunchKernel`; empty where the runtime cannot load kernels (before CUDA 12.8).

    A `cudaKernel_t` may be passed in place of a device function (CUDA Runtime API, notes of
    `cudaLaunchKernel`).
    """
    runtime = libraries.loaded("cudart")
    if runtime is None or not hasattr(runtime, "cudaLibraryLoadData"):
        return []
    library = ctypes.c_void_p()
    nothing = (None, None, ctypes.c_uint(0))
    if runtime.cudaLibraryLoadData(ctypes.byref(library), PTX, *nothing, *nothing):
        runtime.cudaGetLastError()
        return []
    launches = []
    for name, size in SIZES.items():
        kernel = ctypes.c_void_p()
        if runtime.cudaLibraryGetKernel(ctypes.byref(kernel), library, name.encode()):
            continue
        if size > WITHOUT_ASKING and runtime.cudaFuncSetAttribute(kernel, MAX_DYNAMIC_SHARED_MEMORY, ctypes.c_int(size)):
            continue
        launches.append(_runtime_launch(runtime, kernel, grid, size))
    runtime.cudaGetLastError()  # a refusal above must not surface in torch's next launch
    return launches


def _runtime_launch(runtime: Any, kernel: ctypes.c_void_p, grid: int, size: int) -> Launch:
    runtime.cudaLaunchKernel.argtypes = [ctypes.c_void_p, _Dim3, _Dim3, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]

    def launch() -> None:
        if runtime.cudaLaunchKernel(kernel, _Dim3(grid, 1, 1), _Dim3(THREADS, 1, 1), None, size, _stream()):
            runtime.cudaGetLastError()

    return launch


def _stream() -> ctypes.c_void_p:
    import torch

    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def _must(code: int, what: str) -> None:
    if code:
        raise RuntimeError(f"{what} answered {code}")
