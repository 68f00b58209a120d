"""Versions and attributes that torch does not tell, from the CUDA libraries that it has loaded."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

L2_CACHE_SIZE = 38
"""`cudaDevAttrL2CacheSize` in `driver_types.h`."""


def loaded(name: str) -> ctypes.CDLL | None:
    """`lib<name>.so.<major>` of the CUDA that torch was built for, so that no second runtime is loaded."""
    import torch

    if not torch.version.cuda:
        return None
    major = torch.version.cuda.split(".")[0]
    for version in (major, f"{major}.0"):
        try:
            return ctypes.CDLL(f"lib{name}.so.{version}")
        except OSError:
            continue
    return None


def cublas_version() -> str | None:
    """`13.1.0`, from `cublasGetProperty`; `None` where the library cannot be opened."""
    library = loaded("cublas")
    if library is None or not hasattr(library, "cublasGetProperty"):
        return None
    numbers = []
    for kind in range(3):
        number = ctypes.c_int()
        if library.cublasGetProperty(kind, ctypes.byref(number)):
            return None
        numbers.append(str(number.value))
    return ".".join(numbers)


def cudnn_version(number: int | None) -> str | None:
    """cuDNN's version number in the usual form; the coding changed with version 9.

    >>> cudnn_version(91900), cudnn_version(8902), cudnn_version(None)
    ('9.19.0', '8.9.2', None)
    """
    if number is None:
        return None
    unit = 10000 if number >= 90000 else 1000
    return f"{number // unit}.{number % unit // 100}.{number % 100}"


def l2_cache_bytes(device: str) -> int | None:
    """L2 bytes from the runtime, for a torch whose device properties lack them."""
    library = loaded("cudart")
    if library is None:
        return None
    size = ctypes.c_int()
    ordinal = int(device.split(":")[1]) if ":" in device else 0
    code = library.cudaDeviceGetAttribute(ctypes.byref(size), L2_CACHE_SIZE, ordinal)
    return size.value or None if code == 0 else None


def bus_id(ordinal: int) -> str | None:
    """A GPU's address on the bus, `0000:3B:00.0`, from the runtime; `None` where it does not tell."""
    library = loaded("cudart")
    if library is None or not hasattr(library, "cudaDeviceGetPCIBusId"):
        return None
    text = ctypes.create_string_buffer(32)
    return text.value.decode("ascii", errors="replace") or None if library.cudaDeviceGetPCIBusId(text, 32, ordinal) == 0 else None


def cudnn(torch: Any) -> tuple[int | None, str | None]:
    """cuDNN's version number as this torch loads it, and torch's words where it refuses to: then only cuDNN is lost."""
    try:
        return torch.backends.cudnn.version(), None
    except Exception as error:  # noqa: BLE001 - whatever torch raises is the answer
        return None, " ".join(str(error).split()) or type(error).__name__


def installed(package: str) -> str | None:
    """An installed package's version, without importing it."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def mps_running() -> bool:
    """True if NVIDIA's multi-process service takes this process's CUDA calls."""
    pipe = Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))
    return (pipe / "control").exists()


def first_line(command: list[str]) -> str | None:
    """The first line that a small command prints, or `None` if there is no such command."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0].strip() if lines else None


def in_container(root: Path = Path("/")) -> bool:
    """True inside Docker, Podman or Kubernetes, as far as the file system tells."""
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return True
    try:
        return bool(re.search(r"docker|kubepods|containerd|lxc", (root / "proc/1/cgroup").read_text(encoding="ascii", errors="replace")))
    except OSError:
        return False
