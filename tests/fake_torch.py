"""As much of torch as the doctor asks, with the driver, device and refusals that a test wants."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

GIB = 2**30
CUDA_12 = ("sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90")


class _Answer:
    """What `torch.ones(…)` gives: anything done with it works, or raises once it is waited for."""

    def __init__(self, error: str | None) -> None:
        self.error = error

    def __add__(self, other: int) -> _Answer:
        return self

    def sum(self) -> _Answer:
        return self

    def item(self) -> float:
        if self.error:
            raise RuntimeError(self.error)
        return 16.0


def fake_torch(version: str = "2.11.0+cu130", cuda: str | None = "13.0", hip: str | None = None, *, count: int = 0, says: str | None = None, archs: tuple[str, ...] = (*CUDA_12, "sm_100"),
               name: str = "NVIDIA H200", capability: tuple[int, int] = (9, 0), gfx: str = "", uuid: str = "11111111-aaaa-bbbb-cccc-000000000000", error: str | None = None,
               free: int = 138 * GIB, total: int = 140 * GIB, cudnn: str | None = None, mps: bool = False, records: bool = True) -> Any:
    """count: GPUs that torch sees; says: its warning while it looks; error: what a computation ends with; cudnn: what asking for its version raises."""

    def available() -> bool:
        if says:
            warnings.warn(says, UserWarning, stacklevel=1)
        return count > 0

    def cudnn_version() -> int:
        if cudnn:
            raise RuntimeError(cudnn)
        return 91900

    properties = SimpleNamespace(name=name, major=capability[0], minor=capability[1], uuid=uuid, gcnArchName=gfx, multi_processor_count=132, total_memory=total, L2_cache_size=50 * 2**20)

    class Profile:
        def __init__(self, activities: object) -> None: ...

        def __enter__(self) -> Profile:
            return self

        def __exit__(self, *_: object) -> None: ...

        def events(self) -> list[Any]:
            return [SimpleNamespace(device_type="DeviceType.CPU"), *([SimpleNamespace(device_type="DeviceType.CUDA")] if records else [])]

    return SimpleNamespace(
        __version__=version, version=SimpleNamespace(cuda=cuda, hip=hip), ones=lambda *shape, device: _Answer(error),
        cuda=SimpleNamespace(is_available=available, device_count=lambda: count, get_arch_list=lambda: list(archs), synchronize=lambda: None,
                             get_device_properties=lambda device: properties, mem_get_info=lambda: (free, total)),
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: mps), cudnn=SimpleNamespace(version=cudnn_version)),
        profiler=SimpleNamespace(profile=Profile, ProfilerActivity=SimpleNamespace(CPU=0, CUDA=1)))
