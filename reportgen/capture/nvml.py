"""NVIDIA's management library through ctypes: opened, asked, and closed.

No Python binding is needed: the driver ships the library. Nothing here raises to its caller beyond `open_library`; a
question that NVML does not answer is `None`. Field meanings: NVML API reference, `nvml.h`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

LIBRARY = "libnvidia-ml.so.1"
SM_CLOCK, MEMORY_CLOCK = 1, 2
GPU_TEMPERATURE = 0
DRIVER_MISMATCH = 18
INSUFFICIENT_SIZE = 7
NOT_AVAILABLE = 0xFFFFFFFF
"""`NVML_VALUE_NOT_AVAILABLE`, an answer in the place of a number."""
COMPUTE_MODES = {0: "default", 1: "exclusive-thread", 2: "prohibited", 3: "exclusive-process"}
_WORDS = {2: "an argument was refused", 3: "not supported", 4: "no permission", 6: "there is no such GPU", 9: "the driver is not loaded", 15: "the GPU is lost: it fell off the bus",
          17: "the operating system has blocked the library", DRIVER_MISMATCH: "the driver in the kernel is of another version than its libraries"}
"""Error codes of `nvmlReturn_t` that a user can make sense of."""
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


class Unavailable(Exception):
    """NVML cannot be used, or a GPU cannot be found. code: NVML's error, or `None` where there is no library."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        self.reason, self.code = reason, code
        super().__init__(reason)


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


@dataclass(frozen=True)
class Gpu:
    """One GPU of the machine, whether CUDA shows it or not; `None` where NVML does not tell.

    compute_mode: `default`, `exclusive-process`, `prohibited`; mig: its memory and processors are given out as instances
    processes: compute processes; memory_total, memory_free: bytes
    """

    index: int
    name: str | None
    uuid: str | None
    compute_mode: str | None
    mig: bool | None
    processes: int | None
    memory_total: int | None
    memory_free: int | None


class Library:
    """The library after `nvmlInit`. Use it as a context manager, or call `close()`."""

    def __init__(self, load: Callable[[str], Any] | None = None) -> None:
        """Raises `Unavailable`."""
        try:
            library = (load or ctypes.CDLL)(LIBRARY)
            _must(library.nvmlInit_v2(), "nvmlInit")
        except (OSError, AttributeError) as error:
            raise Unavailable(f"NVML is not available ({error})") from None
        self._library = library
        self._open = True

    def __enter__(self) -> Library:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._open:
            self._open = False
            self._library.nvmlShutdown()

    def handle(self, function: str, key: Any) -> Any:
        """The handle that `nvmlDeviceGetHandleBy…` gives for `key`. Raises `Unavailable`."""
        found = ctypes.c_void_p()
        try:
            _must(getattr(self._library, function)(key, ctypes.byref(found)), function)
        except AttributeError:
            raise Unavailable(f"the driver's NVML has no {function}") from None
        return found

    def ask(self, handle: Any, function: str, kind: Any, *arguments: Any, after: Sequence[Any] = ()) -> Any:
        """The value that `function(handle, *arguments, &value, *after)` fills in, or `None` if it refuses."""
        if not self._open:
            return None
        value = kind()
        try:
            code = getattr(self._library, function)(handle, *arguments, ctypes.byref(value), *after)
        except AttributeError:
            return None
        return None if code else value

    def text(self, handle: Any, function: str) -> str | None:
        """What `function(handle, buffer, size)` writes."""
        if not self._open:
            return None
        text = ctypes.create_string_buffer(128)
        try:
            code = getattr(self._library, function)(*([] if handle is None else [handle]), text, ctypes.c_uint(128))
        except AttributeError:
            return None
        return None if code else text.value.decode("utf-8", errors="replace")

    def driver(self) -> str | None:
        """The driver's version; a question to the library, not to one GPU."""
        return self.text(None, "nvmlSystemGetDriverVersion")

    def cuda_version(self) -> str | None:
        """The newest CUDA that the driver can run, as `13.0`."""
        value = ctypes.c_int()
        try:
            code = self._library.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(value))
        except AttributeError:
            return None
        return None if code or not value.value else f"{value.value // 1000}.{value.value % 1000 // 10}"

    def processes(self, handle: Any, kind: str = "Compute") -> list[int] | None:
        """Numbers of the processes that hold a context of this kind (`Compute`, `Graphics`), as the driver names them."""
        for version in ("_v3", "_v2"):
            for size in (256, 16384):
                count, found = ctypes.c_uint(size), (_Process * size)()
                if not self._open:
                    return None
                try:
                    code = getattr(self._library, f"nvmlDeviceGet{kind}RunningProcesses{version}")(handle, ctypes.byref(count), found)
                except AttributeError:
                    break
                if code == 0:
                    return [entry.pid for entry in found[: count.value]]
                if code != INSUFFICIENT_SIZE:
                    return None
        return None

    def memory(self, handle: Any) -> tuple[int, int] | None:
        """Bytes of memory in all, and free."""
        value = self.ask(handle, "nvmlDeviceGetMemoryInfo", _Memory)
        return (value.total, value.free) if value and value.total else None

    def busy_percent(self, handle: Any) -> int | None:
        """Share of the last second in which a kernel was running."""
        value = self.ask(handle, "nvmlDeviceGetUtilizationRates", _Utilization)
        return None if value is None else value.gpu

    def gpus(self) -> list[Gpu]:
        """Every GPU that the driver knows, in its own order, which is not CUDA's."""
        count = ctypes.c_uint()
        if self._library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return []
        found = []
        for index in range(count.value):
            try:
                found.append(self._gpu(index, self.handle("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index))))
            except Unavailable:
                continue  # it may not be looked at from here
        return found

    def _gpu(self, index: int, handle: Any) -> Gpu:
        mode, memory, processes = self.ask(handle, "nvmlDeviceGetComputeMode", ctypes.c_uint), self.memory(handle), self.processes(handle)
        pending = ctypes.c_uint()
        mig = self.ask(handle, "nvmlDeviceGetMigMode", ctypes.c_uint, after=(ctypes.byref(pending),))
        return Gpu(index, self.text(handle, "nvmlDeviceGetName"), self.text(handle, "nvmlDeviceGetUUID"),
                   None if mode is None else COMPUTE_MODES.get(mode.value), None if mig is None else bool(mig.value),
                   None if processes is None else len(processes), *(memory or (None, None)))


def _must(code: int, what: str) -> None:
    if code:
        raise Unavailable(f"NVML is not available ({what} answered {code}{': ' + _WORDS[code] if code in _WORDS else ''})", code)
