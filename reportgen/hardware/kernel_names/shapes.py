"""What decoding a kernel name gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

TensorCores = Literal["yes", "no", "unknown"]

UNKNOWN = "unknown"
INFERRED = "inferred from names, launches and counters; the vendor publishes no grammar"
SHORT = 40
"""Most characters of a short name."""


class Implementation(Enum):
    """Which fused attention a kernel's name belongs to."""

    FLASH_2 = "FlashAttention-2"
    FLASH_3 = "FlashAttention-3"
    EFFICIENT = "memory-efficient attention"
    CUDNN = "cuDNN SDPA"
    TENSORRT_LLM = "TensorRT-LLM attention"
    AOTRITON = "AOTriton attention"
    COMPOSABLE_KERNEL = "Composable Kernel attention"


class Tile(NamedTuple):
    """What a thread block of a fused attention kernel works on at a time."""

    queries: int
    keys: int


@dataclass(frozen=True)
class Part:
    """A piece of a name, what it means, and where that meaning comes from. known: whether anybody says."""

    text: str
    meaning: str
    source: str
    known: bool = True


@dataclass(frozen=True)
class KernelName:
    """What a kernel's name tells. Meanings and reasons are for readers; whoever decides asks the typed fields.

    family: e.g. `FlashAttention-2`, `cuBLAS nvjet`, `ATen elementwise`; known: whether the name was recognised
    short: a legible short name for tables and charts (at most 40 characters)
    implementation: of fused attention; `None` for all other kernels
    tile: of fused attention, as its name tells it; `None` where it does not
    instruction: the matrix instruction that the name itself carries (`wgmma`), or `None`
    """

    name: str
    family: str
    short: str
    parts: tuple[Part, ...]
    tensor_cores: TensorCores
    tensor_cores_why: str
    implementation: Implementation | None = None
    tile: Tile | None = None
    instruction: str | None = None
    known: bool = True


def shorten(text: str) -> str:
    return text if len(text) <= SHORT else text[: SHORT - 1].rstrip("_ ") + "…"


def unknown_part(text: str) -> Part:
    return Part(text, UNKNOWN, UNKNOWN, known=False)


ARCHITECTURES = {
    "sm50": "code path of compute capability 5.0 (Maxwell) and later", "sm70": "code path of compute capability 7.0 (Volta)",
    "sm75": "code path of compute capability 7.5 (Turing)", "sm80": "code path of compute capability 8.0 (Ampere)",
    "sm86": "code path of compute capability 8.6 (Ampere)", "sm89": "code path of compute capability 8.9 (Ada)",
    "sm90": "code path of compute capability 9.0 (Hopper)", "sm100": "code path of compute capability 10.0 (Blackwell)",
    "sm103": "code path of compute capability 10.3 (Blackwell)", "sm120": "code path of compute capability 12.0 (Blackwell)",
}
CUDA_GUIDE = "CUDA C++ Programming Guide, compute capabilities"


def architecture(token: str) -> Part | None:
    meaning = ARCHITECTURES.get(token.rstrip("a"))
    return Part(token, meaning, CUDA_GUIDE) if meaning else None
