"""What a correctness probe is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

TILE = 128
"""A length that is a multiple of it is one of every fused kernel's tile."""
KEYS_AT_ONCE = 32
"""pytorch#191937: wrong where the number of keys is one above a multiple of it."""


class Kind(Enum):
    """WRONG: torch promises another result. TRAP: torch documents what it does, and many expect something else."""

    WRONG = "wrong result"
    TRAP = "documented trap"


class Needs(Enum):
    """What a call must have to be like the probe's: a call that lacks one of them is not concerned.

    The value completes "a call with …".
    """

    MASK = "an `attn_mask`"
    OTHER_TYPE = "a mask of floats in another type than q"
    MASK_GRADIENT = "a mask that requires grad"
    EMPTY_ROWS = "a fully masked row"
    LARGE_LOGITS = "large logits"
    GRADIENTS = "gradients"
    STRIDES = "operands that are not contiguous"
    EXPANDED = "k and v expanded over the heads without a copy"
    GROUPED = "fewer KV heads than query heads"
    ONE_QUERY = "one query"
    UNEQUAL_LENGTHS = "fewer queries than keys and `is_causal`"
    DROPOUT = "dropout"
    ODD_LENGTH = f"a length that is not a multiple of {TILE} (the largest tile)"
    ONE_ABOVE = f"a number of keys one above a multiple of {KEYS_AT_ONCE}"
    ODD_HEAD_DIM = "a head dimension that is not a multiple of 8"
    OTHER_HEAD_DIM = "another head dimension for v than for q"
    LARGE_HEAD_DIM = "a head dimension above 256"
    EXTREME_BATCH = "an empty or a huge batch"
    LARGE_TENSORS = "tensors of more than 2³¹ elements"
    NAN = "NaN in an operand"


@dataclass(frozen=True)
class Report:
    """A public report. name: `pytorch#196678`; versions, devices, backends: what was reported, in the reporter's terms."""

    name: str
    url: str
    versions: str
    devices: str
    backends: str


@dataclass(frozen=True)
class Inputs:
    """What a probe hands to `scaled_dot_product_attention`.

    q, k, v: `[batch, heads, length, head_dim]`; mask: bool (True may be seen) or floats, or `None`
    options: further arguments (`is_causal`, `enable_gqa`, `scale`, `dropout_p`)
    upstream: gradient of the output, where gradients are compared
    wants: who asks for a gradient then: `q`, `k`, `v`, `mask`
    meant: traps: the inputs whose exact result is what the writer of the call means
    keys_show: v is the identity, so that the output shows which keys dropout kept, and the gradients must fit them
    """

    q: Any
    k: Any
    v: Any
    mask: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    upstream: Any = None
    wants: tuple[str, ...] = ("q", "k", "v")
    meant: Inputs | None = None
    keys_show: bool = False


@dataclass(frozen=True)
class Cure:
    """What to write instead. words: one sentence; code: a few lines of Python that pages show; call: the same, run.

    call: from the probe's inputs to the output, `[batch, heads, length, head_dim]`
    """

    words: str
    code: str
    call: Callable[[Inputs], Any]


@dataclass(frozen=True)
class Probe:
    """One public report, or one documented trap.

    title: what goes wrong, in plain words, without saying that it does so here
    needs: what a call must have to be concerned, all of them
    inputs: the inputs in words: type, shape, mask; compared: what is compared with FP64
    avoid: what to keep away from where it reproduces, completes "avoid …"
    make: the inputs on a device (`cuda` or `cpu`), the same each time; raises `NotHere` where they do not fit it
    control: inputs beside it that should be right, where that tells something
    logits: how large those of the inputs are, where it takes large ones: completes "large logits (…)"
    """

    id: str
    title: str
    kind: Kind
    reports: tuple[Report, ...]
    needs: frozenset[Needs]
    inputs: str
    compared: str
    avoid: str
    make: Callable[[str], Inputs]
    cure: Cure | None = None
    control: Callable[[str], Inputs] | None = None
    logits: str = ""


class NotHere(Exception):
    """A probe's inputs do not fit the device; the message says why."""
