"""One call of scaled_dot_product_attention: shapes, type, mask, layout, gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..run.ranges import Extent

Mask = Literal["none", "causal", "bool", "float", "window"]
"""What hides keys:

causal: `is_causal=True`, aligned at the top left, so only where there are as many queries as keys
bool: the causal triangle as a bool tensor `[queries, keys]`, aligned at the bottom right
float: the same triangle as numbers in the type of q, 0 and −∞
window: bool, a query sees the `WINDOW` keys up to its own
"""
MASKS: tuple[Mask, ...] = get_args(Mask)
Dtype = Literal["bfloat16", "float16", "float32"]
SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
BYTES = {"bfloat16": 2, "float16": 2, "float32": 4}
WINDOW = 256
BACKWARD = 2.5
"""Matrix products of the backward: five where the forward has two."""


@dataclass(frozen=True)
class Call:
    """The arguments of a call. Lengths and dimensions in elements.

    heads: of q; kv_heads: of k and v, a divisor of `heads`
    head_dim: of q and k; value_dim: of v and the output
    layout: `bhsd`, or `bshd`: stored `[batch, length, heads, dim]` and transposed, as models that project all heads at once have it
    gradients: whether q, k and v want them, and the backward runs too
    """

    batch: Extent
    heads: Extent
    kv_heads: Extent
    queries: Extent
    keys: Extent
    head_dim: Extent
    value_dim: Extent
    dtype: Dtype = "bfloat16"
    mask: Mask = "causal"
    layout: Literal["bhsd", "bshd"] = "bhsd"
    gradients: bool = False

    @property
    def id(self) -> str:
        """A name that holds all of it: `b8-h16-q1024-k1024-d64-bf16-causal`."""
        heads = f"h{self.heads}" if self.kv_heads == self.heads else f"h{self.heads}.{self.kv_heads}"
        dim = f"d{self.head_dim}" if self.value_dim == self.head_dim else f"d{self.head_dim}.{self.value_dim}"
        parts = [f"b{self.batch}", heads, f"q{self.queries}", f"k{self.keys}", dim, SHORT[self.dtype], self.mask]
        return "-".join([*parts, *(["bshd"] if self.layout == "bshd" else []), *(["grad"] if self.gradients else [])])

    @property
    def grouped(self) -> bool:
        return self.kv_heads != self.heads

    @property
    def pairs(self) -> int:
        """Pairs of a query and a key that it may see, of one head of one batch entry.

        >>> square = Call(1, 1, 1, 4, 4, 64, 64)
        >>> square.pairs, Call(1, 1, 1, 4, 4, 64, 64, mask="none").pairs, Call(1, 1, 1, 2, 6, 64, 64, mask="bool").pairs
        (10, 16, 11)
        """
        if self.mask == "none":
            return self.queries * self.keys
        offset = 0 if self.mask == "causal" else self.keys - self.queries
        most = WINDOW if self.mask == "window" else self.keys
        return sum(max(0, min(query + offset + 1, self.keys, most)) for query in range(self.queries))

    @property
    def flop(self) -> float:
        """Operations of the matrix products over the pairs that count, a multiplication and an addition being two."""
        forward = 2.0 * (self.head_dim + self.value_dim) * self.pairs * self.batch * self.heads
        return forward * (1 + BACKWARD) if self.gradients else forward

    @property
    def bytes(self) -> int:
        """Of q, k, v and the output."""
        q_and_out = self.batch * self.heads * self.queries * (self.head_dim + self.value_dim)
        return BYTES[self.dtype] * (q_and_out + self.batch * self.kv_heads * self.keys * (self.head_dim + self.value_dim))

    @property
    def score_elements(self) -> int:
        return self.batch * self.heads * self.queries * self.keys
