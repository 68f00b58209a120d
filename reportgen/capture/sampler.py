"""The GPU that is being profiled, as NVML sees it: clocks, power, temperature, throttling, processes.

torch numbers the GPUs in its own order and by `CUDA_VISIBLE_DEVICES`, NVML in the bus's. So NVML is asked by the UUID or the
address on the bus that CUDA itself gives, which it does once it has been started in this process.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from . import libraries
from .nvml import GPU_TEMPERATURE, MEMORY_CLOCK, NOT_AVAILABLE, SM_CLOCK, Library, Unavailable, decode_throttle

NO_GPU = "not an NVIDIA GPU: NVML has nothing to say"
NOT_STARTED = "CUDA has not been started in this process, so it is not known which GPU to ask NVML for"


@dataclass(frozen=True)
class Identity:
    """What CUDA calls a GPU: its UUID, with or without `GPU-` or `MIG-`, and its address on the bus; never recorded."""

    uuid: str | None = None
    bus_id: str | None = None


def identity(device: str) -> Identity | None:
    """The identity of a torch device; `None` before CUDA has been started, and on ROCm."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or torch.version.hip:
        return None
    ordinal = int(str(device).split(":")[1]) if ":" in str(device) else torch.cuda.current_device()
    uuid = str(getattr(torch.cuda.get_device_properties(ordinal), "uuid", "")) or None
    return Identity(uuid, libraries.bus_id(ordinal))


class Sampler:
    """One GPU as NVML sees it. On a MIG instance, what NVML does not tell of it is asked of the GPU that it is a part of.

    available: NVML answers; otherwise `reason` says why not and every question gives `None`
    Use it as a context manager, or call `close()`.

    Args:
        known: the GPU, for a process that has not started CUDA itself; by default what CUDA says here.
    """

    def __init__(self, device: str = "cuda", known: Identity | None = None, *, load: Callable[[str], Any] | None = None) -> None:
        self.reason: str | None = None
        self._library: Library | None = None
        self._handles: list[Any] = []
        if str(device).split(":")[0] != "cuda" or _rocm():
            self.reason = NO_GPU
            return
        try:
            self._library = Library(load)
            wanted = known or identity(device)
            if wanted is None:
                raise Unavailable(NOT_STARTED)
            self._handles = _find(self._library, wanted)
        except Unavailable as error:
            self.reason = error.reason
            self.close()

    @property
    def available(self) -> bool:
        return self._library is not None

    def __enter__(self) -> Sampler:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._library is not None:
            self._library.close()
            self._library = None

    def _ask(self, function: str, kind: Any, *arguments: Any, after: tuple[Any, ...] = ()) -> Any:
        if self._library is None:
            return None
        answers = (self._library.ask(handle, function, kind, *arguments, after=after) for handle in self._handles)
        return next((answer for answer in answers if answer is not None), None)

    def _number(self, function: str, *arguments: Any, kind: Any = ctypes.c_uint) -> int | None:
        value = self._ask(function, kind, *arguments)
        return None if value is None or value.value == NOT_AVAILABLE else value.value

    def _positive(self, function: str, *arguments: Any) -> int | None:
        """A number that is never 0 while the GPU works; drivers that do not know it say 0."""
        return self._number(function, *arguments) or None

    def sample(self) -> dict[str, Any]:
        """`sm_mhz`, `memory_mhz`, `power_watts`, `power_limit_watts` (the one enforced now), `temperature_c`, `throttle` (words); `None` where unknown."""
        power, limit = self._positive("nvmlDeviceGetPowerUsage"), self._positive("nvmlDeviceGetEnforcedPowerLimit")
        bits = self._number("nvmlDeviceGetCurrentClocksEventReasons", kind=ctypes.c_ulonglong)
        if bits is None:
            bits = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong)
        return {
            "sm_mhz": self._positive("nvmlDeviceGetClockInfo", ctypes.c_uint(SM_CLOCK)),
            "memory_mhz": self._positive("nvmlDeviceGetClockInfo", ctypes.c_uint(MEMORY_CLOCK)),
            "power_watts": _watts(power),
            "power_limit_watts": _watts(limit),
            "temperature_c": self._positive("nvmlDeviceGetTemperature", ctypes.c_uint(GPU_TEMPERATURE)),
            "throttle": None if bits is None else decode_throttle(bits),
        }

    def describe(self) -> dict[str, Any]:
        """`driver`, `power_limit_watts` (the one that is set), `default_power_limit_watts`, `ecc`; `None` where unknown."""
        pending = ctypes.c_uint()
        ecc = self._ask("nvmlDeviceGetEccMode", ctypes.c_uint, after=(ctypes.byref(pending),))
        return {
            "driver": self._library.driver() if self._library else None,
            "power_limit_watts": _watts(self._positive("nvmlDeviceGetPowerManagementLimit")),
            "default_power_limit_watts": _watts(self._positive("nvmlDeviceGetPowerManagementDefaultLimit")),
            "ecc": None if ecc is None else bool(ecc.value),
        }

    def processes(self, kind: str = "Compute") -> list[int] | None:
        """Numbers of the processes that hold a context on this GPU or instance, as the driver names them."""
        return self._library.processes(self._handles[0], kind) if self._library else None

    def busy_percent(self) -> int | None:
        return self._library.busy_percent(self._handles[-1]) if self._library else None

    def memory_used(self) -> int | None:
        """Bytes in use by anybody."""
        memory = self._library.memory(self._handles[0]) if self._library else None
        return None if memory is None else memory[0] - memory[1]


def _rocm() -> bool:
    """torch calls AMD's GPUs `cuda` as well."""
    torch = sys.modules.get("torch")
    return bool(torch and torch.version.hip)


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _find(library: Library, wanted: Identity) -> list[Any]:
    """The handle of the GPU; of a MIG instance its own and then the one of the whole GPU. Raises `Unavailable`."""
    bare = (wanted.uuid or "").removeprefix("GPU-").removeprefix("MIG-")
    attempts = [("nvmlDeviceGetHandleByUUID", name.encode()) for name in dict.fromkeys((wanted.uuid or "", f"GPU-{bare}", f"MIG-{bare}")) if bare and name]
    attempts += [("nvmlDeviceGetHandleByPciBusId_v2", wanted.bus_id.encode())] if wanted.bus_id else []
    refused = Unavailable("NVML is not available (CUDA gives neither a UUID nor a bus address for this GPU)")
    for function, key in attempts:
        try:
            handle = library.handle(function, key)
        except Unavailable as error:
            refused = error
            continue
        whole = library.ask(handle, "nvmlDeviceGetDeviceHandleFromMigDeviceHandle", ctypes.c_void_p)
        return [handle, whole] if whole is not None and whole.value else [handle]
    raise refused


def others(reported: Iterable[int], own: Iterable[int]) -> int:
    """How many of the reported processes are not ours.

    Inside a container the driver may report numbers of the host, of which we know none. If it
    knows none of ours by name, as many of the reported ones are taken to be ours as we have.
    """
    reported, own = set(reported), set(own)
    if reported & own:
        return len(reported - own)
    return max(0, len(reported) - len(own))
