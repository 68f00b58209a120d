"""Clocks, power, temperature, throttling and neighbours, from NVML through ctypes.

No Python binding is needed: the driver ships the library. Nothing here raises to its caller; a
question that NVML does not answer is `None`, and a library that is not there is a reason.
Field meanings: NVML API reference, `nvml.h`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any, Callable, Iterable

LIBRARY = "libnvidia-ml.so.1"
NO_GPU = "not an NVIDIA GPU: NVML has nothing to say"
SM_CLOCK, MEMORY_CLOCK = 1, 2
GPU_TEMPERATURE = 0
NOT_AVAILABLE = 0xFFFFFFFF
"""`NVML_VALUE_NOT_AVAILABLE`, an answer in the place of a number."""
THROTTLE_BITS = {
    0x2: "application clocks setting",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clock setting",
}
GPU_IDLE = 0x1


def decode_throttle(bits: int) -> list[str]:
    """Clock event reasons in words; idling is no throttling.

    >>> decode_throttle(0x1), decode_throttle(0x44)
    ([], ['software power cap', 'hardware thermal slowdown'])
    """
    words = [word for bit, word in THROTTLE_BITS.items() if bits & bit]
    unknown = bits & ~(GPU_IDLE | sum(THROTTLE_BITS))
    return words + ([f"unknown reason {unknown:#x}"] if unknown else [])


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Sampler:
    """One GPU as NVML sees it.

    available: NVML answers; otherwise `reason` says why not and every question gives `None`
    Use it as a context manager, or call `close()`.
    """

    def __init__(self, device: str = "cuda", *, load: Callable[[str], Any] = ctypes.CDLL) -> None:
        self.reason: str | None = None
        self._library: Any = None
        self._handle = ctypes.c_void_p()
        if str(device).split(":")[0] != "cuda":
            self.reason = NO_GPU
            return
        try:
            library = load(LIBRARY)
            self._must(library.nvmlInit_v2(), "nvmlInit")
            self._library = library
            self._find(identity(device))
        except (OSError, AttributeError, RuntimeError) as error:
            self.reason = f"NVML is not available ({error})"
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
            self._library.nvmlShutdown()
            self._library = None

    @staticmethod
    def _must(code: int, what: str) -> None:
        if code:
            raise RuntimeError(f"{what} answered {code}")

    def _find(self, identity: str | int) -> None:
        handle = ctypes.byref(self._handle)
        if isinstance(identity, int):
            self._must(self._library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(identity), handle), "nvmlDeviceGetHandleByIndex")
        else:
            self._must(self._library.nvmlDeviceGetHandleByUUID(identity.encode(), handle), "nvmlDeviceGetHandleByUUID")

    def _ask(self, function: str, kind: Any, *arguments: Any, after: tuple[Any, ...] = ()) -> Any:
        """The value that `function(handle, *arguments, &value, *after)` fills in, or `None` if it refuses."""
        if self._library is None:
            return None
        value = kind()
        try:
            code = getattr(self._library, function)(self._handle, *arguments, ctypes.byref(value), *after)
        except AttributeError:
            return None
        return None if code else value

    def _number(self, function: str, *arguments: Any, kind: Any = ctypes.c_uint) -> int | None:
        value = self._ask(function, kind, *arguments)
        return None if value is None or value.value == NOT_AVAILABLE else value.value

    def sample(self) -> dict[str, Any]:
        """`sm_mhz`, `memory_mhz`, `power_watts`, `temperature_c`, `throttle` (words) now; `None` where unknown."""
        power = self._number("nvmlDeviceGetPowerUsage")
        bits = self._number("nvmlDeviceGetCurrentClocksEventReasons", kind=ctypes.c_ulonglong)
        if bits is None:
            bits = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong)
        return {
            "sm_mhz": self._number("nvmlDeviceGetClockInfo", ctypes.c_uint(SM_CLOCK)),
            "memory_mhz": self._number("nvmlDeviceGetClockInfo", ctypes.c_uint(MEMORY_CLOCK)),
            "power_watts": None if power is None else power / 1000,
            "temperature_c": self._number("nvmlDeviceGetTemperature", ctypes.c_uint(GPU_TEMPERATURE)),
            "throttle": None if bits is None else decode_throttle(bits),
        }

    def describe(self) -> dict[str, Any]:
        """`driver`, `power_limit_watts`, `default_power_limit_watts`, `ecc`; `None` where unknown."""
        limit = self._number("nvmlDeviceGetEnforcedPowerLimit")
        default = self._number("nvmlDeviceGetPowerManagementDefaultLimit")
        pending = ctypes.c_uint()
        ecc = self._ask("nvmlDeviceGetEccMode", ctypes.c_uint, after=(ctypes.byref(pending),))
        return {
            "driver": self._driver(),
            "power_limit_watts": None if limit is None else limit / 1000,
            "default_power_limit_watts": None if default is None else default / 1000,
            "ecc": None if ecc is None else bool(ecc.value),
        }

    def _driver(self) -> str | None:
        """The driver's version; a question to the library, not to one GPU."""
        if self._library is None:
            return None
        text = ctypes.create_string_buffer(96)
        return text.value.decode() if self._library.nvmlSystemGetDriverVersion(text, ctypes.c_uint(96)) == 0 else None

    def compute_processes(self) -> list[int] | None:
        """Process numbers that hold a compute context on this GPU, as the driver names them."""
        if self._library is None:
            return None
        count = ctypes.c_uint(256)
        found = (_Process * count.value)()
        try:
            code = self._library.nvmlDeviceGetComputeRunningProcesses_v3(self._handle, ctypes.byref(count), found)
        except AttributeError:
            return None
        return None if code else [entry.pid for entry in found[: count.value]]


def others(reported: Iterable[int], own: Iterable[int]) -> int:
    """How many of the reported processes are not ours.

    Inside a container the driver may report numbers of the host, of which we know none. If it
    knows none of ours by name, as many of the reported ones are taken to be ours as we have.
    """
    reported, own = set(reported), set(own)
    if reported & own:
        return len(reported - own)
    return max(0, len(reported) - len(own))


def other_processes(own_pids: Iterable[int], device: str = "cuda") -> int | None:
    """Compute processes on the GPU beside ours, or `None` where NVML does not tell.

    own_pids: our processes that hold a CUDA context now; those that hold none must not be named.
    """
    with Sampler(device) as sampler:
        reported = sampler.compute_processes()
    return None if reported is None else others(reported, own_pids)


def identity(device: str) -> str | int:
    """How NVML can find a torch device: a UUID, or an index.

    `CUDA_VISIBLE_DEVICES` renumbers torch's devices and NVML ignores it. Once torch has started
    CUDA its own UUID is asked; before that the variable is read, so that nothing starts CUDA here.
    """
    ordinal = int(str(device).split(":")[1]) if ":" in str(device) else None
    uuid = _torch_uuid(ordinal)
    if uuid:
        return uuid
    visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    ordinal = ordinal or 0
    name = visible[ordinal] if ordinal < len(visible) else str(ordinal)
    return int(name) if name.isdecimal() else name


def _torch_uuid(ordinal: int | None) -> str | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized() or torch.version.hip:
        return None
    properties = torch.cuda.get_device_properties(torch.cuda.current_device() if ordinal is None else ordinal)
    uuid = str(getattr(properties, "uuid", ""))
    return uuid if uuid.startswith(("GPU-", "MIG-")) or not uuid else f"GPU-{uuid}"
