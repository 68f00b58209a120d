"""The driver's management library made of Python: it answers through pointers, as the real one does, and for the GPU whose handle is given.

`FakeNvml(FakeGpu("Tesla T4", "GPU-1111", …), …)` is what `ctypes.CDLL` would give; pass `load=lambda name: fake`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

GIB = 2**30
NO_SUCH, NOT_SUPPORTED, INVALID = 6, 3, 2


@dataclass(frozen=True)
class FakeGpu:
    """One GPU; `None` is what it does not tell. instances: UUIDs of its MIG instances. values: further answers by function name, as NVML's integers."""

    name: str = "NVIDIA H200"
    uuid: str = "GPU-11111111-aaaa-bbbb-cccc-000000000000"
    bus_id: str = "0000:1B:00.0"
    mode: int = 0
    total: int = 140 * GIB
    free: int = 139 * GIB
    pids: tuple[int, ...] = ()
    graphics_pids: tuple[int, ...] = ()
    busy: int = 0
    instances: tuple[str, ...] = ()
    values: dict[str, int] = field(default_factory=dict)


VALUES = {"nvmlDeviceGetPowerUsage": 412_500, "nvmlDeviceGetClockInfo": 1980, "nvmlDeviceGetTemperature": 47, "nvmlDeviceGetCurrentClocksEventReasons": 0x4,
          "nvmlDeviceGetCurrentClocksThrottleReasons": 0x8, "nvmlDeviceGetEnforcedPowerLimit": 550_000, "nvmlDeviceGetPowerManagementLimit": 600_000,
          "nvmlDeviceGetPowerManagementDefaultLimit": 700_000, "nvmlDeviceGetEccMode": 1}  # fmt: skip


class FakeNvml:
    """refuses: functions that answer with an error; lacks: those that this driver has not; init: what `nvmlInit` answers."""

    def __init__(self, *gpus: FakeGpu, refuses: tuple[str, ...] = (), lacks: tuple[str, ...] = (), init: int = 0, cuda: int = 13000, driver: str = "580.159.04") -> None:
        self.gpus = gpus or (FakeGpu(),)
        self.refuses, self.lacks, self.init, self.cuda, self.driver = refuses, lacks, init, cuda, driver
        self.shut = 0

    def __getattr__(self, function: str) -> Any:
        if function.startswith("__") or function in self.lacks:
            raise AttributeError(function)
        return lambda *arguments: NOT_SUPPORTED if function in self.refuses else self._answer(function, arguments)

    def _answer(self, function: str, given: tuple[Any, ...]) -> int:
        if function == "nvmlInit_v2":
            return self.init
        if function == "nvmlShutdown":
            self.shut += 1
            return 0
        if function == "nvmlSystemGetDriverVersion":
            given[0].value = self.driver.encode()
            return 0
        if function in ("nvmlSystemGetCudaDriverVersion_v2", "nvmlDeviceGetCount_v2"):
            given[0]._obj.value = self.cuda if "Cuda" in function else len(self.gpus)
            return 0
        if function.startswith("nvmlDeviceGetHandleBy"):
            return self._find(function, given)
        return self._of(given[0].value, function, given)

    def _find(self, function: str, given: tuple[Any, ...]) -> int:
        """Handles are 100, 200, … for GPUs and 101, 102, … for the instances of the first."""
        key = getattr(given[0], "value", given[0])
        for index, gpu in enumerate(self.gpus):
            names = {"nvmlDeviceGetHandleByIndex_v2": (index,), "nvmlDeviceGetHandleByUUID": (gpu.uuid.encode(), *(uuid.encode() for uuid in gpu.instances)),
                     "nvmlDeviceGetHandleByPciBusId_v2": (gpu.bus_id.encode(),)}[function]
            if key in names:
                given[1]._obj.value = 100 * (index + 1) + (names.index(key) if "UUID" in function else 0)
                return 0
        return NO_SUCH

    def _of(self, handle: int, function: str, given: tuple[Any, ...]) -> int:
        gpu, instance = self.gpus[handle // 100 - 1], handle % 100
        last = given[-1]
        if function == "nvmlDeviceGetDeviceHandleFromMigDeviceHandle":
            if not instance:
                return INVALID
            last._obj.value = handle - instance
        elif "RunningProcesses" in function:
            pids = gpu.graphics_pids if "Graphics" in function else gpu.pids
            room = given[1]._obj.value
            given[1]._obj.value = len(pids)
            if len(pids) > room:
                return 7
            for slot, pid in zip(given[2], pids):
                slot.pid = pid
        elif function in ("nvmlDeviceGetName", "nvmlDeviceGetUUID"):
            given[1].value = (gpu.name if function.endswith("Name") else gpu.uuid).encode()
        elif function == "nvmlDeviceGetMemoryInfo":
            last._obj.total, last._obj.free, last._obj.used = gpu.total, gpu.free, gpu.total - gpu.free
        elif instance:
            return NOT_SUPPORTED  # of an instance little more is told
        elif function == "nvmlDeviceGetUtilizationRates":
            last._obj.gpu = gpu.busy
        elif function == "nvmlDeviceGetComputeMode":
            last._obj.value = gpu.mode
        elif function in ("nvmlDeviceGetMigMode", "nvmlDeviceGetEccMode"):
            given[1]._obj.value = bool(gpu.instances) if "Mig" in function else VALUES[function]
        elif function in {**VALUES, **gpu.values}:
            last._obj.value = {**VALUES, **gpu.values}[function]
        else:
            return NOT_SUPPORTED
        return 0
