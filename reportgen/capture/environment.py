"""The machine and the software as a run records them, without anything that names its owner."""

from __future__ import annotations

import os
import platform
import re
import sys
from pathlib import Path
from typing import Any

from . import libraries, nvml, operands

STOCK_MEMORY_GIB = {
    "NVIDIA GeForce RTX 3050": 8,
    "NVIDIA GeForce RTX 3060": 12,
    "NVIDIA GeForce RTX 3080": 10,
    "NVIDIA GeForce RTX 4060 Ti": 8,
    "NVIDIA GeForce RTX 5060 Ti": 16,
    "NVIDIA H20": 96,
}
"""Products sold under one name with several memory sizes, and the size that the slug leaves out."""
WATCHED_VARIABLES = (
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MODULE_LOADING",
    "NVIDIA_TF32_OVERRIDE",
    "TORCH_CUDNN_SDPA_DEPRIORITIZED",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "CUBLAS_WORKSPACE_CONFIG",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
)


def describe(device: str) -> dict[str, Any]:
    """`{"device", "software", "host", "settings"}` as `run.json` has them; `device` is a `run.DeviceRecord`."""
    with nvml.Sampler(device) as sampler:
        seen = sampler.describe()
    return {
        "device": _gpu(device, seen) if operands.is_gpu(device) else _cpu(),
        "software": _software(device, seen["driver"]),
        "host": {"cpu": cpu_name(), "logical_cpus": os.cpu_count()},
        "settings": settings(device),
    }


def _gpu(device: str, seen: dict[str, Any]) -> dict[str, Any]:
    import torch

    properties = torch.cuda.get_device_properties(device)
    rocm = bool(torch.version.hip)
    name, mig = mig_profile(properties.name) if not rocm else (properties.name, None)
    power = {key: seen[key] if not mig else None for key in ("power_limit_watts", "default_power_limit_watts")}
    return {
        "kind": "rocm" if rocm else "cuda",
        "name": name,
        "slug": slug(name, memory_bytes=properties.total_memory, mig=mig, **power),
        "compute_capability": None if rocm else f"{properties.major}.{properties.minor}",
        "sm_count": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "l2_cache_bytes": last_level_cache(device),
        **power,
        "mig_profile": mig,
        "ecc": seen["ecc"],
    }


def _cpu() -> dict[str, Any]:
    name = cpu_name()
    return {"kind": "cpu", "name": name, "slug": cpu_slug(name), "memory_bytes": _host_memory(), "l2_cache_bytes": last_level_cache("cpu")}


def mig_profile(name: str) -> tuple[str, str | None]:
    """A device name as torch gives it → `(product, MIG profile or None)`.

    >>> mig_profile("NVIDIA H200 MIG 1g.18gb"), mig_profile("NVIDIA H200")
    (('NVIDIA H200', '1g.18gb'), ('NVIDIA H200', None))
    """
    match = re.fullmatch(r"(.*\S)\s+MIG\s+(\S+)", name)
    return (match[1], match[2]) if match else (name, None)


def slug(
    name: str,
    *,
    memory_bytes: int | None = None,
    power_limit_watts: float | None = None,
    default_power_limit_watts: float | None = None,
    mig: str | None = None,
) -> str:
    """The device's place below `docs/runs/`: its name, and what is not stock.

    Memory is named only for a product that is sold with several sizes, when it is not the usual
    one; the power limit when it is more than 1 W from the default; a MIG profile always.

    >>> slug("NVIDIA H200", power_limit_watts=600, default_power_limit_watts=700)
    'nvidia-h200-600w'
    """
    parts = [_words(name)]
    gib = None if memory_bytes is None else round(memory_bytes / 2**30)
    stock = STOCK_MEMORY_GIB.get(name)
    if mig is None and gib is not None and stock is not None and abs(gib - stock) > 1:
        parts.append(f"{gib}gb")
    if power_limit_watts is not None and default_power_limit_watts is not None and abs(power_limit_watts - default_power_limit_watts) > 1:
        parts.append(f"{round(power_limit_watts)}w")
    if mig is not None:
        parts.append(f"mig-{_words(mig)}")
    return "-".join(parts)


def cpu_slug(name: str) -> str:
    """`cpu-` and the processor's name without trade marks, clock and core count.

    >>> cpu_slug("Intel(R) Xeon(R) Platinum 8480C CPU @ 2.00GHz"), cpu_slug("AMD EPYC 9654 96-Core Processor")
    ('cpu-intel-xeon-platinum-8480c', 'cpu-amd-epyc-9654')
    """
    plain = re.sub(r"\((?:R|TM|C)\)|\bCPU\b|@.*$|\b\d+-Core\b|\bProcessor\b|\bwith\b.*$", " ", name, flags=re.IGNORECASE)
    return f"cpu-{_words(plain) or 'unknown'}"


def _words(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


def cpu_name() -> str:
    """The processor's name from the kernel; the architecture (`aarch64`) where it gives none."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith(("model name", "Model")) and line.partition(":")[2].strip():
                return " ".join(line.partition(":")[2].split())
    except OSError:
        pass
    return libraries.first_line(["sysctl", "-n", "machdep.cpu.brand_string"]) or platform.machine() or "unknown"


def _host_memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


INFINITY_CACHE_BYTES = {"gfx942": 256 * 2**20, "gfx950": 256 * 2**20}
"""What lies behind the L2 of these GPUs and ROCm does not report; AMD, CDNA 3 white paper."""


def last_level_cache(device: str) -> int | None:
    """Bytes of the GPU's L2, or of the CPU's largest cache; `None` where nobody tells."""
    if not operands.is_gpu(device):
        return cpu_cache(Path("/sys/devices/system/cpu/cpu0/cache"))
    import torch

    properties = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        architecture = str(getattr(properties, "gcnArchName", "")).split(":")[0]
        if architecture in INFINITY_CACHE_BYTES:
            return INFINITY_CACHE_BYTES[architecture]
    size = getattr(properties, "L2_cache_size", None)
    return size or (None if torch.version.hip else libraries.l2_cache_bytes(device))


def cpu_cache(folder: Path) -> int | None:
    """The largest cache below `…/cpu0/cache` in bytes (`index*/size` holds `32768K` or `32M`)."""
    sizes = []
    for file in folder.glob("index*/size"):
        match = re.fullmatch(r"(\d+)([KMG]?)", file.read_text(encoding="ascii", errors="replace").strip())
        if match:
            sizes.append(int(match[1]) * 1024 ** " KMG".index(match[2] or " "))
    return max(sizes, default=None)


def _software(device: str, driver: str | None) -> dict[str, str | None]:
    import torch

    gpu = operands.is_gpu(device)
    cudnn = torch.backends.cudnn.version() if gpu and not torch.version.hip else None
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": libraries.cudnn_version(cudnn),
        "cublas": libraries.cublas_version() if gpu else None,
        "driver": driver,
        "triton": libraries.installed("triton"),
        "os": platform.system(),
    }


def settings(device: str) -> dict[str, Any]:
    """Switches that change results, by name; a switch that this torch does not have is `None`."""
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
        "cudnn_deterministic": cudnn.deterministic,
        "cudnn_benchmark": cudnn.benchmark,
        "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        "sdp_backends_enabled": _enabled_backends(),
        "torch_threads": torch.get_num_threads(),
        "mps": libraries.mps_running() if operands.is_gpu(device) else None,
        "python_optimized": sys.flags.optimize,
        "environment": {name: os.environ[name] for name in WATCHED_VARIABLES if name in os.environ},
    }


def _enabled_backends() -> list[str]:
    import torch

    names = {"flash": "flash_sdp_enabled", "efficient": "mem_efficient_sdp_enabled", "math": "math_sdp_enabled", "cudnn": "cudnn_sdp_enabled"}
    return [name for name, question in names.items() if _quiet(lambda: getattr(torch.backends.cuda, question)())]


def _quiet(question: Any) -> Any:
    try:
        return question()
    except (AttributeError, RuntimeError):
        return None


def _plain(value: Any) -> Any:
    """Newer torch answers some flags with a tuple of two booleans."""
    return list(value) if isinstance(value, tuple) else value
