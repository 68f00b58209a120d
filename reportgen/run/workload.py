"""What is computed: the shape of one attention forward, and what follows from it by arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ..errors import ReportError
from .ranges import Dtype, Extent

ELEMENT_BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
SIZES = ("batch", "heads", "sequence", "head_dim")
NATIVE_BFLOAT16 = 8.0
"""Least compute capability whose arithmetic knows bfloat16."""
HELD_SCORES = 8
"""Score matrices in FP32 that a profile may hold at once. One forward and backward of math holds a
little more than four; the room above that is for what the allocator keeps."""


@dataclass(frozen=True)
class Workload:
    """One causal attention forward. Q, K and V are `[batch, heads, sequence, head_dim]`.

    name: the preset's name, or `custom`, optionally with a dtype suffix (`article-float16`)
    batch, heads, sequence, head_dim: elements
    dtype: torch's name of the element type
    causal: a query sees no later key
    """

    name: str
    batch: Extent
    heads: Extent
    sequence: Extent
    head_dim: Extent
    dtype: Dtype = "bfloat16"
    causal: bool = True

    def __post_init__(self) -> None:
        if self.dtype not in ELEMENT_BYTES:
            raise ReportError(f"dtype {self.dtype!r} is not one of {', '.join(ELEMENT_BYTES)}",
                              cure="choose one of them with --dtype")
        for field in SIZES:
            if getattr(self, field) < 1:
                raise ReportError(f"{field} must be at least 1", cure=f"give --{field.replace('_', '-')} a positive size")

    @property
    def element_bytes(self) -> int:
        return ELEMENT_BYTES[self.dtype]

    @property
    def operand_bytes(self) -> int:
        """Bytes of Q, K, V and the output, each once: the least that any implementation moves."""
        return 4 * self.batch * self.heads * self.sequence * self.head_dim * self.element_bytes

    @property
    def score_elements(self) -> int:
        """Elements of the score matrix `[batch, heads, sequence, sequence]`."""
        return self.batch * self.heads * self.sequence**2

    @property
    def score_bytes(self) -> int:
        """Bytes of the score matrix in the workload's dtype."""
        return self.score_elements * self.element_bytes

    @property
    def held_bytes(self) -> int:
        """Bytes that profiling the variants which write the score matrix may need at once."""
        return HELD_SCORES * self.score_elements * ELEMENT_BYTES["float32"]

    @property
    def matmul_flop(self) -> int:
        """FLOP of one of the two matmuls over the full square: 2·B·H·S²·D."""
        return 2 * self.score_elements * self.head_dim

    @property
    def full_flop(self) -> int:
        """FLOP of both matmuls over the full square: 4·B·H·S²·D."""
        return 2 * self.matmul_flop

    @property
    def causal_flop(self) -> int:
        """FLOP of both matmuls over the pairs that the causal mask leaves: 2·B·H·S·(S+1)·D."""
        return 2 * self.batch * self.heads * self.sequence * (self.sequence + 1) * self.head_dim

    def same_shape(self, other: Workload) -> bool:
        """True if both describe the same computation, whatever they are called."""
        return replace(self, name="") == replace(other, name="")

    def describe(self) -> str:
        """`batch 8, heads 16, sequence 1,024, head dimension 64, bfloat16, causal`."""
        mask = "causal" if self.causal else "not causal"
        return (f"batch {self.batch}, heads {self.heads}, sequence {self.sequence:,}, "
                f"head dimension {self.head_dim}, {self.dtype}, {mask}")

    def to_json(self) -> dict[str, object]:
        return asdict(self)


ARTICLE = Workload("article", 8, 16, 1024, 64)

PRESETS: dict[str, Workload] = {
    w.name: w
    for w in (
        ARTICLE,
        Workload("article-fp16", 8, 16, 1024, 64, "float16"),
        Workload("small", 1, 4, 256, 64),
        Workload("long", 2, 16, 4096, 64),
        Workload("wide", 4, 16, 2048, 128),
    )
}


def altered(start: Workload, changes: Mapping[str, Any]) -> Workload:
    """`start` with own sizes or another element type, named after what it has become.

    A preset of the same shape keeps its name. So two different computations never share a slot.

    Raises:
        ReportError: a size or the element type makes no sense.
    """
    if not changes:
        return start
    other = replace(start, **changes)
    own = f"custom-{'x'.join(str(getattr(other, size)) for size in SIZES)}-{other.dtype}"
    name = f"{start.name.removesuffix('-fp16')}-{other.dtype}" if set(changes) == {"dtype"} else own
    return next((preset for preset in PRESETS.values() if preset.same_shape(other)), replace(other, name=name))
