"""Decodes kernel names: family, parts with their meanings, and whether Tensor Cores are used.

A name is evidence only as far as somebody documents it. Each part says where its meaning comes
from; what nobody explains stays `unknown`, and so does the use of Tensor Cores.
"""

from __future__ import annotations

from functools import lru_cache

from ..attention_ops import Direction
from . import aten, attention, gemm, generated
from .shapes import UNKNOWN, Implementation, KernelName, Part, Stage, TensorCores, Tile, shorten, unknown_part

__all__ = ["UNKNOWN", "Direction", "Implementation", "KernelName", "Part", "Stage", "TensorCores", "Tile", "decode"]

_DECODERS = (attention.decode, gemm.decode, aten.decode, generated.decode)


@lru_cache(maxsize=4096)
def decode(name: str) -> KernelName:
    """Decodes a demangled kernel name; never guesses."""
    for decoder in _DECODERS:
        found = decoder(name)
        if found is not None:
            return found
    return KernelName(name, UNKNOWN, shorten(_bare(name)), (unknown_part(name),), "unknown",
                      "this name is not one that the decoder knows", known=False)


def _bare(name: str) -> str:
    """The function's own name, without return type, namespaces, templates and arguments."""
    text = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("<unnamed>::", "")
    text = text.split("<", 1)[0].split("(", 1)[0]
    return text.rsplit("::", 1)[-1] or name
