"""Launch calls in words: the two that the claim names, and libraries with the calls that they use."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis import published
from ..analysis.launches import Launches
from ..saying.units import listed, plural

LIBRARY_APIS = {"cudnn": published.of("sdpa_cudnn", "launch_api"), "others": published.of("sdpa_flash", "launch_api")}
"""The calls that the claim names, as the article gives them."""


def library(group: Launches) -> str:
    """The library as its kernels' names tell it; a name that tells nothing is named itself."""
    return group.family or f"`{group.kernels[0].short}`"


def group_words(groups: Sequence[Launches]) -> str:
    """`4 kernels of cuBLAS nvjet by `cuLaunchKernelEx` and 2 kernels of … by …`."""
    return listed([f"{plural(len(group.kernels), 'kernel')} of {library(group)} by `{group.api}`" for group in groups])
