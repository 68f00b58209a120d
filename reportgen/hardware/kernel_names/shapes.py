"""What decoding a kernel name gives."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, NamedTuple

from ..attention_ops import Direction

TensorCores = Literal["yes", "no", "unknown"]

UNKNOWN = "unknown"
INFERRED = "inferred from names, launches and counters; the vendor publishes no grammar"
SHORT = 40
"""Most characters of a short name."""


class Implementation(Enum):
    """Which fused attention a kernel's name belongs to."""

    FLASH_1 = "FlashAttention-1"
    FLASH_2 = "FlashAttention-2"
    FLASH_3 = "FlashAttention-3"
    FLASH_4 = "FlashAttention-4"
    FLASH_MLA = "FlashMLA"
    EFFICIENT = "memory-efficient attention"
    CUDNN = "cuDNN SDPA"
    FLEX = "FlexAttention"
    FLASHINFER = "FlashInfer attention"
    TENSORRT_LLM = "TensorRT-LLM attention"
    CUTLASS = "CUTLASS attention"
    UNIFIED = "unified attention (vLLM)"
    PAGED = "paged attention (vLLM)"
    DECODE = "split decode attention in Triton (vLLM, SGLang)"
    EXTEND = "extend attention in Triton (SGLang)"
    AOTRITON = "AOTriton attention"
    COMPOSABLE_KERNEL = "Composable Kernel attention"
    AITER = "AITER attention"
    SAGE = "SageAttention"
    XFORMERS = "xformers attention in Triton"
    TRITON = "attention in Triton"


class Stage(Enum):
    """What a kernel of fused attention does in its pass.

    main: multiplies and normalises; prepare: goes before it (a schedule, quantised operands, the backward's row sums)
    combine: adds the parts of a forward that was split along the keys; finish: goes after a backward (conversion, sums over heads)
    beside: before or after the main kernel, its name does not tell which; cache: writes keys and values into a cache
    """

    MAIN = "main"
    PREPARE = "prepare"
    COMBINE = "combine"
    FINISH = "finish"
    BESIDE = "beside"
    CACHE = "cache"


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
    direction: the pass of fused attention; `None` where the name does not tell, and for all other kernels
    stage: what the kernel does in that pass, or that it writes a cache; `None` for all other kernels
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
    direction: Direction | None = None
    stage: Stage | None = None


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
