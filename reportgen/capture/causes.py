"""Why no GPU is profiled, or not this one, or not wholly: typed causes from what was seen. Pure; the words are in `cause_words`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from . import nvml
from .machine import Device, Driver, Machine

LEAST_PYTHON, LEAST_TORCH = (3, 10), (2, 5)
LEAST_FREE = 200 * 2**20
"""Bytes on the disk that a report writes at most, with its site."""
MUCH_TAKEN = 0.1
"""Share of a GPU's memory that a driver and a context of ours never take."""
BUSY_SHARE = 0.1


class Effect(Enum):
    """What a cause does to a report."""

    NOTHING_MEASURED = 2
    LIMITS = 1
    TOLD = 0


class Cause(Enum):
    """The value is what JSON calls it."""

    PYTHON_TOO_OLD = "python-too-old"
    NO_TORCH = "no-torch"
    TORCH_BROKEN = "torch-broken"
    TORCH_TOO_OLD = "torch-too-old"
    DISK = "disk"
    DISK_FULL = "disk-full"
    NO_GPU = "no-gpu"
    NO_DRIVER = "no-driver"
    DRIVER_MISMATCH = "driver-mismatch"
    DRIVER_TOO_OLD = "driver-too-old"
    TORCH_WITHOUT_CUDA = "torch-without-cuda"
    TORCH_WITHOUT_ROCM = "torch-without-rocm"
    OTHER_VENDOR = "other-vendor"
    NOT_IN_CONTAINER = "not-in-container"
    DENIED = "denied"
    NOT_ALLOCATED = "not-allocated"
    HIDDEN = "hidden"
    NOT_SEEN = "not-seen"
    ARCHITECTURE = "architecture"
    PROHIBITED = "prohibited"
    EXCLUSIVE = "exclusive"
    BUSY = "busy"
    MEMORY_TAKEN = "memory-taken"
    REFUSED = "refused"
    CUDNN = "cudnn"
    NO_CLOCKS = "no-clocks"
    COUNTER_TOOL = "counter-tool"
    COUNTERS_KEPT = "counters-kept"
    COUNTERS_MIG = "counters-mig"
    COUNTERS_ROCM = "counters-rocm"
    NO_RECORDS = "no-records"
    NEIGHBOURS = "neighbours"
    BUSY_PROCESSORS = "busy-processors"
    TOOLS = "tools"
    BLOCKING = "blocking"
    UNPINNED = "unpinned"
    OTHER_ACCELERATOR = "other-accelerator"
    SEVERAL_GPUS = "several-gpus"


_EFFECTS = {Cause.PYTHON_TOO_OLD: Effect.NOTHING_MEASURED, Cause.NO_TORCH: Effect.NOTHING_MEASURED, Cause.TORCH_BROKEN: Effect.NOTHING_MEASURED,
            Cause.TORCH_TOO_OLD: Effect.NOTHING_MEASURED, Cause.DISK: Effect.NOTHING_MEASURED, Cause.DISK_FULL: Effect.NOTHING_MEASURED,
            Cause.OTHER_ACCELERATOR: Effect.TOLD, Cause.SEVERAL_GPUS: Effect.TOLD}
WHY_NO_GPU = frozenset({Cause.NO_GPU, Cause.NO_DRIVER, Cause.DRIVER_MISMATCH, Cause.DRIVER_TOO_OLD, Cause.TORCH_WITHOUT_CUDA, Cause.TORCH_WITHOUT_ROCM, Cause.OTHER_VENDOR,
                        Cause.NOT_IN_CONTAINER, Cause.DENIED, Cause.NOT_ALLOCATED, Cause.HIDDEN, Cause.NOT_SEEN})
WHY_NOT_THIS_GPU = frozenset({Cause.ARCHITECTURE, Cause.PROHIBITED, Cause.EXCLUSIVE, Cause.BUSY, Cause.REFUSED})

NO_DEVICE = WHY_NO_GPU | WHY_NOT_THIS_GPU | {Cause.MEMORY_TAKEN}
"""Causes for which a device that was asked for is refused, the last where nothing is left of it."""
ABOUT_COUNTERS = frozenset({Cause.COUNTER_TOOL, Cause.COUNTERS_KEPT, Cause.COUNTERS_MIG, Cause.COUNTERS_ROCM})


@dataclass(frozen=True)
class Notice:
    """A cause with the values that its sentence needs."""

    cause: Cause
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def effect(self) -> Effect:
        return _EFFECTS.get(self.cause, Effect.LIMITS)


def diagnose(seen: Machine, wanted: str | None = None) -> tuple[Notice, ...]:
    """Everything that keeps a report from being whole here, the gravest first; on a CPU that was asked for, nothing of GPUs."""
    found = list(_software(seen))
    if seen.torch.version:
        if wanted != "cpu":
            found += _no_gpu(seen) if not seen.torch.available else _this_gpu(seen)
        found += _conditions(seen)
    found += [Notice(Cause.DISK, {"place": place.name, "error": place.error}) for place in seen.places if place.error]
    found += [Notice(Cause.DISK_FULL, {"place": place.name, "free": place.free, "needed": LEAST_FREE})
              for place in seen.places if place.free is not None and place.free < LEAST_FREE]
    return tuple(sorted(found, key=lambda notice: -notice.effect.value))


def gpu_works(seen: Machine) -> bool:
    """True if a computation on the GPU gave its result."""
    return seen.device is not None and seen.device.error is None


def measurable(seen: Machine, notices: tuple[Notice, ...]) -> dict[str, bool]:
    """What a report can measure here."""
    causes = {notice.cause for notice in notices}
    runs = bool(seen.torch.version) and not any(notice.effect is Effect.NOTHING_MEASURED for notice in notices)
    gpu = runs and gpu_works(seen)
    return {
        "wall_and_host_time": runs,
        "traces": runs,
        "gpu_time": gpu,
        "kernels": gpu and Cause.NO_RECORDS not in causes,
        "clocks_and_throttling": gpu and Cause.NO_CLOCKS not in causes and not seen.torch.hip,
        "hardware_counters": gpu and not causes & ABOUT_COUNTERS,
        "cudnn_backend": gpu and Cause.CUDNN not in causes and not seen.torch.hip,
    }


def status(notices: tuple[Notice, ...]) -> int:
    """0 fine, 1 something limits the report, 2 nothing can be measured."""
    return max((notice.effect.value for notice in notices), default=0)


def _software(seen: Machine) -> Iterator[Notice]:
    torch = seen.torch
    if seen.python < LEAST_PYTHON:
        yield Notice(Cause.PYTHON_TOO_OLD, {"python": "{}.{}".format(*seen.python)})
    if torch.error:
        yield Notice(Cause.TORCH_BROKEN, {"error": torch.error})
    elif torch.version is None:
        yield Notice(Cause.NO_TORCH)
    elif (numbers := re.findall(r"\d+", torch.version)[:2]) and tuple(map(int, numbers)) < LEAST_TORCH:
        yield Notice(Cause.TORCH_TOO_OLD, {"torch": torch.version})


def _no_gpu(seen: Machine) -> Iterator[Notice]:
    """Why torch sees no GPU: the first that fits, from the driver up."""
    torch, driver = seen.torch, seen.driver
    said = {"said": torch.said[0]} if torch.said else {}
    nvidia = driver.library or bool(driver.version) or bool(driver.kernel) or driver.code is not None
    here = {"version": driver.version or driver.kernel, "torch": torch.version}
    for name in torch.others:
        yield Notice(Cause.OTHER_ACCELERATOR, {"name": name})
    if driver.code == nvml.DRIVER_MISMATCH:
        yield Notice(Cause.DRIVER_MISMATCH, {"kernel": driver.kernel})
    elif not nvidia and not driver.amd:
        if "nvidia" in driver.cards or "amd" in driver.cards:
            yield Notice(Cause.NO_DRIVER, {"vendor": "nvidia" if "nvidia" in driver.cards else "amd", **said})
        elif seen.slurm:
            yield Notice(Cause.NOT_ALLOCATED)
        elif driver.wsl:
            yield Notice(Cause.NO_DRIVER, {"vendor": "wsl", **said})
        else:
            yield Notice(Cause.NO_GPU)
    elif torch.cuda is None and torch.hip is None:
        yield Notice(Cause.TORCH_WITHOUT_CUDA if nvidia else Cause.TORCH_WITHOUT_ROCM, here)
    elif (torch.hip and not driver.amd) or (torch.cuda and not nvidia):
        yield Notice(Cause.OTHER_VENDOR, {"torch": torch.version, "built": "ROCm" if torch.hip else "CUDA", "driver": "NVIDIA" if nvidia else "AMD"})
    else:
        yield _not_seen(seen, nvidia, here, said)


def _not_seen(seen: Machine, nvidia: bool, here: Mapping[str, Any], said: Mapping[str, Any]) -> Notice:
    """The driver and torch fit each other in kind, and still there is no GPU."""
    driver, torch = seen.driver, seen.torch
    hiding = _hiding(seen)
    if nvidia and _too_old(driver, torch.cuda or "", torch.said):
        return Notice(Cause.DRIVER_TOO_OLD, {**here, "runs": driver.cuda, "built": torch.cuda, **said})
    if hiding and seen.slurm and hiding["value"] in ("", "NoDevFiles"):
        return Notice(Cause.NOT_ALLOCATED)
    if hiding and (driver.gpus or hiding["value"] in ("", "-1", "none", "void", "NoDevFiles")):
        return Notice(Cause.HIDDEN, {**hiding, "gpus": len(driver.gpus) or None})
    if driver.denied:
        return Notice(Cause.DENIED, {"vendor": "nvidia" if nvidia else "amd"})
    if seen.container and not driver.nodes and not driver.wsl and not driver.gpus:
        return Notice(Cause.NOT_IN_CONTAINER)
    if nvidia and not driver.library and not driver.version:
        return Notice(Cause.NO_DRIVER, {"vendor": "nvidia", **said})
    return Notice(Cause.NOT_SEEN, {"vendor": "NVIDIA" if nvidia else "AMD", **here, "refusal": driver.refusal, **said})


def _hiding(seen: Machine) -> dict[str, str] | None:
    """The variable that chooses among GPUs, where one is set."""
    names = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES") if seen.torch.hip else ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES")
    usual = {"NVIDIA_VISIBLE_DEVICES": ("all",)}
    return next(({"name": name, "value": seen.visible[name]} for name in names if name in seen.visible and seen.visible[name] not in usual.get(name, ())), None)


def _too_old(driver: Driver, built: str, said: tuple[str, ...]) -> bool:
    """torch says so, or it is built for a later major version of CUDA than the driver runs."""
    if any("driver on your system is too old" in text for text in said):
        return True
    both = [re.match(r"\d+", text or "") for text in (driver.cuda, built)]
    return all(both) and int(both[0][0]) < int(both[1][0])  # type: ignore[index]


def _this_gpu(seen: Machine) -> Iterator[Notice]:
    device, driver = seen.device or Device(), seen.driver
    own = _own(seen)
    if device.error is not None:
        yield _refusal(seen, device, own)
        return
    if seen.torch.count > 1:
        yield Notice(Cause.SEVERAL_GPUS, {"count": seen.torch.count, "name": device.name})
    taken = _taken(device)
    if taken is not None:
        yield Notice(Cause.MEMORY_TAKEN, taken)
    if device.cudnn:
        yield Notice(Cause.CUDNN, {"said": device.cudnn})
    if own is not None and (own.processes or 0) > 1:
        yield Notice(Cause.NEIGHBOURS, {"count": own.processes - 1})  # one is this process, which has just computed there
    if not seen.torch.hip and driver.refusal:
        yield Notice(Cause.NO_CLOCKS, {"refusal": driver.refusal})
    yield from _counters(seen, own)
    if seen.traces:
        yield Notice(Cause.NO_RECORDS, {"said": seen.traces})
    if not seen.pinnable:
        yield Notice(Cause.UNPINNED)


def _own(seen: Machine) -> Any:
    """The driver's entry of the GPU that would be profiled, or `None` where it cannot be told."""
    bare = (seen.device.uuid or "").removeprefix("GPU-").removeprefix("MIG-") if seen.device else ""
    found = [gpu for gpu in seen.driver.gpus if bare and (gpu.uuid or "").removeprefix("GPU-") == bare]
    return found[0] if found else seen.driver.gpus[0] if len(seen.driver.gpus) == 1 else None


def _refusal(seen: Machine, device: Device, own: Any) -> Notice:
    """Why a GPU that torch sees does not compute."""
    error, mode = device.error or "", own.compute_mode if own else None
    name = {"name": device.name}
    if device.capability and not runs_on(seen.torch.architectures, device.capability):
        return Notice(Cause.ARCHITECTURE, {**name, "wants": "sm_{}{}".format(*device.capability), "has": list(seen.torch.architectures), "torch": seen.torch.version})
    if device.gfx and seen.torch.architectures and device.gfx not in seen.torch.architectures:
        return Notice(Cause.ARCHITECTURE, {**name, "wants": device.gfx, "has": list(seen.torch.architectures), "torch": seen.torch.version})
    if re.search(r"no kernel image", error, re.IGNORECASE):
        return Notice(Cause.ARCHITECTURE, {**name, "wants": None, "has": list(seen.torch.architectures), "torch": seen.torch.version})
    if mode == "prohibited":
        return Notice(Cause.PROHIBITED, name)
    if re.search(r"busy or unavailable|exclusive", error, re.IGNORECASE):
        return Notice(Cause.EXCLUSIVE if mode and mode.startswith("exclusive") else Cause.BUSY, {**name, "processes": own.processes if own else None, "said": error})
    if re.search(r"out of memory", error, re.IGNORECASE):
        total, free = (own.memory_total, own.memory_free) if own else (None, None)
        return Notice(Cause.MEMORY_TAKEN, {"total": total, "taken": None if total is None or free is None else total - free, "said": error})
    return Notice(Cause.REFUSED, {**name, "said": error})


def runs_on(architectures: tuple[str, ...], capability: tuple[int, int]) -> bool:
    """Whether a build with kernels for these architectures has one that this GPU runs; unknown is yes.

    A kernel runs on its own architecture and on later ones of the same major version; `compute_90` is translated for any later
    one; `sm_90a` runs on 9.0 alone.
    """
    if not architectures:
        return True
    for name in architectures:
        match = re.fullmatch(r"(sm|compute)_(\d+)(\d)([af]?)", name)
        if not match:
            continue
        built = (int(match[2]), int(match[3]))
        if match[1] == "compute" and built <= capability or built == capability:
            return True
        if match[1] == "sm" and not match[4] and built[0] == capability[0] and built <= capability:
            return True
    return False


def _taken(device: Device) -> dict[str, Any] | None:
    if not device.memory_total or device.memory_free is None:
        return None
    taken = device.memory_total - device.memory_free
    return {"total": device.memory_total, "taken": taken} if taken > max(MUCH_TAKEN * device.memory_total, 2 * 2**30) else None


def _counters(seen: Machine, own: Any) -> Iterator[Notice]:
    if seen.torch.hip:
        yield Notice(Cause.COUNTERS_ROCM)
    elif seen.counter_tool is None:
        yield Notice(Cause.COUNTER_TOOL)
    elif seen.driver.admin_only and not seen.privileged:
        yield Notice(Cause.COUNTERS_KEPT, {"container": seen.container})
    elif own is not None and own.mig:
        yield Notice(Cause.COUNTERS_MIG)


def _conditions(seen: Machine) -> Iterator[Notice]:
    if seen.tools:
        yield Notice(Cause.TOOLS, {"names": list(seen.tools)})
    if seen.blocking:
        yield Notice(Cause.BLOCKING, {"names": list(seen.blocking)})
    if seen.busy_share is not None and seen.busy_share > BUSY_SHARE:
        yield Notice(Cause.BUSY_PROCESSORS, {"share": seen.busy_share, "load": seen.load, "processors": seen.processors})
