"""Decodes kernel names: family, parts with their meanings, and whether Tensor Cores are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TensorCores = Literal["yes", "no", "unknown"]


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


def decode(name: str) -> KernelName:
    """Decodes a demangled kernel name; never guesses."""
    raise NotImplementedError
