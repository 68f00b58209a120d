"""What there is of the machine, the driver, torch and the disk: the questions whose answers say why a GPU is not used.

Nothing here judges (see `causes`) and nothing raises: what cannot be asked is `None`. Each question can be stubbed.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import platform
import re
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..company import disk
from ..run import disturbance
from . import counters, libraries, nvml
from .limits import available_processors
from .neighbours import Processors
from .neighbours import load as processor_load
from .switches import value

VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "NVIDIA_VISIBLE_DEVICES")
VENDORS = {"0x10de": "nvidia", "0x1002": "amd"}
DISPLAY, ACCELERATOR = "0x03", "0x12"
SYS_ADMIN, PERFMON = 21, 38
"""Bits of a process's capabilities (capability.h) that open the counters."""


@dataclass(frozen=True)
class Torch:
    """torch as it is here.

    error: why it cannot be imported; version, cuda, hip: of the build; architectures: what it holds kernels for (`sm_90`)
    available, count: what it sees; said: its warnings while it looked
    """

    version: str | None = None
    error: str | None = None
    cuda: str | None = None
    hip: str | None = None
    architectures: tuple[str, ...] = ()
    available: bool = False
    count: int = 0
    said: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True)
class Driver:
    """The driver, as far as it answers.

    library: `libcuda` can be opened; version, cuda: its own, and the newest CUDA that it runs; refusal, code: NVML's, where it refuses
    kernel: version of the loaded kernel module; cards: vendors of the GPUs on the bus; nodes: `/dev` has them; denied: this account may not open them
    amd: the AMD driver is loaded; admin_only: counters are kept to administrators
    """

    library: bool = False
    version: str | None = None
    cuda: str | None = None
    refusal: str | None = None
    code: int | None = None
    kernel: str | None = None
    gpus: tuple[nvml.Gpu, ...] = ()
    cards: tuple[str, ...] = ()
    nodes: bool = False
    denied: bool = False
    amd: bool = False
    wsl: bool = False
    admin_only: bool | None = None


@dataclass(frozen=True)
class Device:
    """The GPU that would be profiled, after one small computation on it.

    error: why that failed; memory_free, memory_total: bytes; uuid: bare, to find it among the driver's; cudnn: why torch cannot use it
    """

    name: str | None = None
    error: str | None = None
    capability: tuple[int, int] | None = None
    gfx: str | None = None
    memory_free: int | None = None
    memory_total: int | None = None
    uuid: str | None = None
    cudnn: str | None = None


@dataclass(frozen=True)
class Place:
    """A folder that a report writes to. error: why it takes nothing; free: bytes."""

    name: str
    error: str | None = None
    free: int | None = None


@dataclass(frozen=True)
class Machine:
    """Everything that was seen. visible: variables that choose among GPUs; traces: why the profiler has no GPU records, "" where it has, `None` where it was not tried."""

    python: tuple[int, int]
    system: str
    torch: Torch
    driver: Driver = Driver()
    device: Device | None = None
    visible: Mapping[str, str] = field(default_factory=dict)
    slurm: bool = False
    container: bool = False
    privileged: bool = False
    counter_tool: str | None = None
    traces: str | None = None
    tools: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    pinnable: bool = True
    processors: int = 1
    load: float | None = None
    busy_share: float | None = None
    places: tuple[Place, ...] = ()


def look(wanted: str | None = None, *, import_torch: Callable[[], Any] | None = None, load_nvml: Callable[[str], Any] | None = None, root: Path = Path("/"),
         environment: Mapping[str, str] | None = None, try_traces: bool = False, watch: float = 0.0, places: Sequence[tuple[str, Path]] = (), library: Callable[[str], Any] = ctypes.CDLL) -> Machine:
    """Looks at everything, and computes once on the GPU unless the CPU is `wanted`.

    Args:
        import_torch, load_nvml, library, root, environment: what is asked, for tests.
        try_traces: starts the profiler as well, which takes seconds.
        watch: seconds to look at the processors at least; without, other looks take too little time to tell.
        places: folders that a report would write to, with what to call them.
    """
    given = os.environ if environment is None else environment
    processors, began = Processors(), time.monotonic()
    torch, module = _torch(import_torch or (lambda: importlib.import_module("torch")))
    device = _device(module) if module is not None and torch.available and wanted != "cpu" else None
    traces = _traces(module) if try_traces and device is not None and device.error is None else None
    driver = _driver(load_nvml, library, root)
    time.sleep(max(0.0, watch - (time.monotonic() - began)))
    return Machine(
        python=(sys.version_info[0], sys.version_info[1]), system=platform.system(), torch=torch, driver=driver, device=device,
        visible={name: given[name] for name in VISIBLE if name in given}, slurm="SLURM_JOB_ID" in given, container=libraries.in_container(root),
        privileged=_privileged(root), counter_tool=next(iter(counters.find()), None) if device is not None else None, traces=traces,
        tools=disturbance.tools(given), blocking=tuple(f"{name}={value(given[name])}" for name in disturbance.blocking(given)),
        pinnable=_pinnable(), processors=available_processors(), load=processor_load(), busy_share=processors.others(),
        places=tuple(_place(name, folder) for name, folder in places))


def _torch(import_it: Callable[[], Any]) -> tuple[Torch, Any]:
    """torch and the module; its words in one line each."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            module = import_it()
            available = bool(_answer(lambda: module.cuda.is_available()))
            count = int(_answer(lambda: module.cuda.device_count()) or 0)
    except ModuleNotFoundError as error:
        return Torch(error=None if error.name == "torch" else _line(error)), None
    except Exception as error:  # noqa: BLE001 - a broken installation raises anything
        return Torch(error=_line(error)), None
    said = tuple(dict.fromkeys(_plain(str(warning.message)) for warning in caught if re.search(r"cuda|nvidia|driver|gpu|hip", str(warning.message), re.IGNORECASE)))
    others = tuple(name for name, question in (("mps", lambda: module.backends.mps.is_available()), ("xpu", lambda: module.xpu.is_available())) if _answer(question))
    return Torch(version=str(module.__version__), cuda=_answer(lambda: module.version.cuda), hip=_answer(lambda: module.version.hip),
                 architectures=tuple(_answer(lambda: module.cuda.get_arch_list()) or ()), available=available and count > 0, count=count, said=said, others=others), module


def _device(torch: Any) -> Device:
    """One small computation, whose result is waited for, on the device that would be profiled."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            properties = torch.cuda.get_device_properties("cuda")
    except Exception as error:  # noqa: BLE001 - whatever CUDA says is the answer
        return Device(error=_line(error))
    known = {"name": properties.name, "capability": None if torch.version.hip else (properties.major, properties.minor),
             "gfx": str(getattr(properties, "gcnArchName", "")).split(":")[0] or None if torch.version.hip else None, "uuid": str(getattr(properties, "uuid", "")) or None}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (torch.ones(8, device="cuda") + 1).sum().item()
            torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001
        return Device(error=_line(error), **known)
    free, whole = _answer(lambda: torch.cuda.mem_get_info()) or (None, None)
    return Device(memory_free=free, memory_total=whole, cudnn=None if torch.version.hip else libraries.cudnn(torch)[1], **known)


def _traces(torch: Any) -> str:
    """Why the profiler gives no record of a kernel; empty where it gives one."""
    try:
        profiler = torch.profiler
        with profiler.profile(activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]) as recorded:
            (torch.ones(8, device="cuda") + 1).sum().item()
            torch.cuda.synchronize()
        seen = any("CUDA" in str(event.device_type) for event in recorded.events())
    except Exception as error:  # noqa: BLE001
        return _line(error)
    return "" if seen else "it ran, and recorded no kernel"


def _driver(load_nvml: Callable[[str], Any] | None, library: Callable[[str], Any], root: Path) -> Driver:
    known: dict[str, Any] = {
        "library": _opens(library, "libcuda.so.1") or (root / "usr/lib/wsl/lib/libcuda.so.1").exists(), "kernel": _kernel_module(root), "cards": _cards(root),
        "amd": (root / "sys/module/amdgpu").exists() and (root / "dev/kfd").exists(), "wsl": (root / "dev/dxg").exists(), "admin_only": _admin_only(root),
    }
    nodes = [*sorted(root.glob("dev/nvidia[0-9]*")), *([root / "dev/kfd"] if known["amd"] else [])]
    known.update(nodes=bool(nodes), denied=bool(nodes) and not any(os.access(node, os.R_OK | os.W_OK) for node in nodes))
    try:
        with nvml.Library(load_nvml) as opened:
            return Driver(version=opened.driver(), cuda=opened.cuda_version(), gpus=tuple(opened.gpus()), **known)
    except nvml.Unavailable as error:
        return Driver(refusal=error.reason, code=error.code, **known)


def _opens(library: Callable[[str], Any], name: str) -> bool:
    try:
        library(name)
    except OSError:
        return False
    return True


def _kernel_module(root: Path) -> str | None:
    match = re.search(r"Kernel Module.*?\s(\d+\.\d+(?:\.\d+)?)\s", _read(root / "proc/driver/nvidia/version"))
    return match[1] if match else None


def _admin_only(root: Path) -> bool | None:
    match = re.search(r"RmProfilingAdminOnly:\s*(\d)", _read(root / "proc/driver/nvidia/params"))
    return None if match is None else match[1] == "1"


def _cards(root: Path) -> tuple[str, ...]:
    """Vendors of the GPUs on the bus, each once."""
    found = set()
    for folder in root.glob("sys/bus/pci/devices/*"):
        if _read(folder / "class").strip().startswith((DISPLAY, ACCELERATOR)):
            found.add(VENDORS.get(_read(folder / "vendor").strip()))
    return tuple(sorted(filter(None, found)))


def _privileged(root: Path) -> bool:
    """Whether this process has the rights that counters ask for."""
    match = re.search(r"^CapEff:\s*([0-9a-f]+)", _read(root / "proc/self/status"), re.MULTILINE)
    return match is not None and bool(int(match[1], 16) & (1 << SYS_ADMIN | 1 << PERFMON))


def _pinnable() -> bool:
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except (OSError, AttributeError):
        return False
    return True


def _place(name: str, folder: Path) -> Place:
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    try:
        disk.try_folder(existing)
    except OSError as error:
        return Place(name, disk.explain(error)[0].rpartition(": ")[2])
    return Place(name, free=shutil.disk_usage(existing).free)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _answer(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except Exception:  # noqa: BLE001 - what this torch does not know is unknown
        return None


def _line(error: BaseException) -> str:
    """The first line of an error's text, or its class."""
    lines = str(error).strip().splitlines()
    return _plain(lines[0]) if lines else type(error).__name__


def _plain(text: str) -> str:
    """One line, without the position in torch's sources."""
    return re.sub(r"\s*\(Triggered internally at .*?\)\s*$", "", " ".join(text.split()))
