"""Which library launched its kernels by which host call, over the variants of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from ..analysis import published
from ..analysis import ActivityFacts, RunFacts
from ..saying.units import listed, plural
from ..analysis.kernels import kernels

LIBRARY_APIS = {"cudnn": published.of("sdpa_cudnn", "launch_api"), "others": published.of("sdpa_flash", "launch_api")}
"""The calls that the claim names, as the article gives them."""



@dataclass(frozen=True)
class Launches:
    """Kernels of one library launched by one call. variant_is_cudnn: they belong to the cuDNN variant."""

    library: str
    api: str
    variant_is_cudnn: bool
    kernels: tuple[ActivityFacts, ...]


def library_launches(facts: RunFacts, names: Sequence[str]) -> tuple[Launches, ...]:
    """Groups in the order of their first kernel, over those of `names` that ran."""
    found: dict[tuple[str, str, bool], list[ActivityFacts]] = {}
    for name in names:
        if facts.ok(name):
            for kernel in kernels(facts.variants[name]):
                found.setdefault((library(kernel), kernel.launch_api, name == "sdpa_cudnn"), []).append(kernel)
    return tuple(Launches(*key, tuple(group)) for key, group in found.items())


def library(kernel: ActivityFacts) -> str:
    """The kernel's family as its name tells it; a name that tells nothing is named itself."""
    if kernel.decoded is None or kernel.decoded.family == "unknown":
        return f"`{kernel.short}`"
    return kernel.decoded.family


def group_words(groups: Sequence[Launches]) -> str:
    """`4 kernels of cuBLAS nvjet by `cuLaunchKernelEx` and 2 kernels of … by …`."""
    return listed([f"{plural(len(group.kernels), 'kernel')} of {group.library} by `{group.api}`" for group in groups])


def is_driver_call(api: str) -> bool:
    """`cuLaunchKernel…` is the driver's API; `cudaLaunchKernel…` the runtime's."""
    return api.startswith("cu") and not api.startswith("cuda")


def is_runtime_call(api: str) -> bool:
    return api.startswith("cudaLaunch")
