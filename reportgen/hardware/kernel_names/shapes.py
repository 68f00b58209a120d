"""What decoding a kernel name gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TensorCores = Literal["yes", "no", "unknown"]

UNKNOWN = "unknown"
INFERRED = "inferred from names, launches and counters; the vendor publishes no grammar"
SHORT = 40
"""Most characters of a short name."""


@dataclass(frozen=True)
class Part:
    """A piece of a name, what it means, and where that meaning comes from (`unknown` where nobody says)."""

    text: str
    meaning: str
    source: str


@dataclass(frozen=True)
class KernelName:
    """family: e.g. `FlashAttention-2`, `cuBLAS nvjet`, `ATen elementwise`; `unknown` if not recognised.

    short: a legible short name for tables and charts (at most 40 characters)
    """

    name: str
    family: str
    short: str
    parts: tuple[Part, ...]
    tensor_cores: TensorCores
    tensor_cores_why: str


def shorten(text: str) -> str:
    return text if len(text) <= SHORT else text[: SHORT - 1].rstrip("_ ") + "…"


def unknown_part(text: str) -> Part:
    return Part(text, UNKNOWN, UNKNOWN)


ARCHITECTURES = {
    "sm50": "compiled for compute capability 5.0 (Maxwell) and later", "sm70": "compiled for compute capability 7.0 (Volta)",
    "sm75": "compiled for compute capability 7.5 (Turing)", "sm80": "compiled for compute capability 8.0 (Ampere)",
    "sm86": "compiled for compute capability 8.6 (Ampere)", "sm89": "compiled for compute capability 8.9 (Ada)",
    "sm90": "compiled for compute capability 9.0 (Hopper)", "sm100": "compiled for compute capability 10.0 (Blackwell)",
    "sm103": "compiled for compute capability 10.3 (Blackwell)", "sm120": "compiled for compute capability 12.0 (Blackwell)",
}
CUDA_GUIDE = "CUDA C++ Programming Guide, compute capabilities"


def architecture(token: str) -> Part | None:
    meaning = ARCHITECTURES.get(token.rstrip("a"))
    return Part(token, meaning, CUDA_GUIDE) if meaning else None
