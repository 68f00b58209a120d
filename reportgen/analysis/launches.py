"""Which library launched its kernels by which host call, over the variants of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .kernels import kernels, known_family
from .model import ActivityFacts, RunFacts


@dataclass(frozen=True)
class Launches:
    """Kernels of one library launched by one host call.

    family: what their names tell of the library, `None` where they tell nothing; such kernels are grouped by name
    variant_is_cudnn: they belong to the cuDNN variant
    """

    family: str | None
    api: str
    variant_is_cudnn: bool
    kernels: tuple[ActivityFacts, ...]


def library_launches(facts: RunFacts, names: Sequence[str]) -> tuple[Launches, ...]:
    """Groups in the order of their first kernel, over those of `names` that ran."""
    found: dict[tuple[str | None, str, str, bool], list[ActivityFacts]] = {}
    for name in names:
        if facts.ok(name):
            for kernel in kernels(facts.variants[name]):
                family = known_family(kernel)
                found.setdefault((family, "" if family else kernel.short, kernel.launch_api, name == "sdpa_cudnn"), []).append(kernel)
    return tuple(Launches(family, api, is_cudnn, tuple(group)) for (family, _, api, is_cudnn), group in found.items())


def is_driver_call(api: str) -> bool:
    """`cuLaunchKernelEx` is CUDA's driver API, `cudaLaunchKernelExC` its runtime; HIP's calls are neither."""
    return api.startswith("cu") and not api.startswith("cuda")


def is_runtime_call(api: str) -> bool:
    """`cudaLaunchKernel…`, whatever its ending."""
    return api.startswith("cudaLaunch")
