"""The machine and the software as a run records them, without anything that names its owner."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

from ..run import device_slug
from . import libraries, operands, switches
from .sampler import Sampler


def describe(device: str) -> dict[str, Any]:
    """`{"device", "software", "host", "settings"}` as `run.json` has them; `device` is a `run.DeviceRecord`."""
    with Sampler(device) as sampler:
        seen = sampler.describe()
    return {
        "device": _gpu(device, seen) if operands.is_gpu(device) else _cpu(),
        "software": _software(device, seen["driver"]),
        "host": {"cpu": cpu_name(), "logical_cpus": os.cpu_count()},
        "settings": switches.settings(device),
    }


def _gpu(device: str, seen: dict[str, Any]) -> dict[str, Any]:
    import torch

    properties = torch.cuda.get_device_properties(device)
    kind = "rocm" if torch.version.hip else "cuda"
    gfx = str(getattr(properties, "gcnArchName", "")).split(":")[0] or None if kind == "rocm" else None
    capability = None if kind == "rocm" else f"{properties.major}.{properties.minor}"
    given, mig = mig_profile(properties.name) if kind == "cuda" else (properties.name, None)
    moves = mig is not None or device_slug.moving_limit(given)
    power = {key: None if moves else seen[key] for key in ("power_limit_watts", "default_power_limit_watts")}
    known = {"compute_capability": capability, "gfx": gfx, "sm_count": properties.multi_processor_count, "memory_bytes": properties.total_memory, **power}
    return {
        "kind": kind,
        "name": plain_name(given, gfx or capability),
        "slug": device_slug.gpu_slug(given, kind, mig=mig, **known),
        **known,
        "l2_cache_bytes": last_level_cache(device),
        "mig_profile": mig,
        "ecc": seen["ecc"],
    }


def _cpu() -> dict[str, Any]:
    name = cpu_name()
    return {"kind": "cpu", "name": name, "slug": device_slug.cpu_slug(name), "memory_bytes": _host_memory(), "l2_cache_bytes": last_level_cache("cpu")}


def mig_profile(name: str) -> tuple[str, str | None]:
    """A device name as torch gives it → `(product, MIG profile or None)`.

    >>> mig_profile("NVIDIA H200 MIG 1g.18gb"), mig_profile("NVIDIA H200")
    (('NVIDIA H200', '1g.18gb'), ('NVIDIA H200', None))
    """
    match = re.fullmatch(r"(.*\S)\s+MIG\s+(\S+)", name)
    return (match[1], match[2]) if match else (name, None)


def plain_name(name: str, architecture: str | None) -> str:
    """A device's name in one line of printable characters; where the driver gives none, `unnamed GPU (gfx942)`."""
    shown = " ".join("".join(character if character.isprintable() else " " for character in name).split())
    return shown or (f"unnamed GPU ({architecture})" if architecture else "unnamed GPU")


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
    cudnn = libraries.cudnn(torch)[0] if gpu and not torch.version.hip else None
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
