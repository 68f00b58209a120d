"""Why a faster way was not taken, what proves it, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..hardware.attention_ops import Backend


class Cause(Enum):
    """What ruled out a faster way, by a recorded argument; or why that cannot be told. Of two that rule out as much the first is told first."""

    GQA_TYPE = "enable_gqa in FP32"
    STRIDE = "the last stride"
    DIMENSIONS = "the number of dimensions"
    TYPE = "the element type"
    MASK_GRADIENT = "a mask that learns"
    MASK_TYPE = "a mask of another type"
    MASK_PER_LAYER = "the same mask built again for each layer"
    MASK = "a mask"
    HEAD_DIM = "the head dimension"
    DROPOUT = "dropout"
    GQA = "fewer heads in k and v"
    CAUSAL_LENGTHS = "is_causal with another number of keys than queries"
    ONE_KEY = "a single key"
    WEIGHTS = "the weights are asked for"
    BY_HAND = "written by hand"
    NOT_COMPILED = "flex_attention without a compiler"
    NEW_SHAPES = "a new shape each step"
    REPEATED_KV = "K and V are repeated in memory"
    COPIES = "copies around the call"
    LAUNCH_BOUND = "the GPU waits for the host"
    NOT_SAID = "the trace does not say why"
    NOT_RECORDED = "what would say why was not recorded"


@dataclass(frozen=True)
class Reason:
    """A cause with what proves it.

    argument: the argument's name in the call; value: what the trace holds for it, word by word
    ruled_out: the backends that decline such a call by torch's own checks
    """

    cause: Cause
    argument: str | None = None
    value: str | None = None
    ruled_out: tuple[Backend, ...] = ()
    calls: int = 0


class Cure(Enum):
    """What to do about a cause."""

    CAUSAL_FLAG = "is_causal instead of a mask"
    CALL_SDPA = "call scaled_dot_product_attention"
    SIXTEEN_BITS = "a 16-bit element type"
    CONTIGUOUS_HEADS = "the head dimension contiguous"
    PAD_HEAD = "a head dimension that the backend takes"
    NO_DROPOUT = "no dropout"
    NO_WEIGHTS = "need_weights=False"
    REPEAT_KV = "k and v repeated for every head"
    FOUR_DIMENSIONS = "four dimensions"
    FREEZE_MASK = "a mask without a gradient"
    MASK_TYPE = "a mask in the type of q"
    NO_COPIES = "no copy"
    ENABLE_GQA = "enable_gqa instead of repeated K and V"
    MASK_ONCE = "build the mask once"
    COMPILE_FLEX = "compile flex_attention"
    PIN_BACKEND = "pin another backend"
    FIXED_SHAPES = "few shapes instead of a new one each step"
    GRAPH = "a CUDA graph, or torch.compile"
    RECORD_MORE = "record shapes and stacks"


@dataclass(frozen=True)
class Modelled:
    """A saving that was not measured in this trace: scaled from a recorded run of the same device.

    seconds: of GPU time in the whole trace; share: of its GPU time
    run: the run's slot; device: its name
    """

    seconds: float
    share: float
    device: str
    run: str


@dataclass(frozen=True)
class Advice:
    """What to do, the page that explains it (a finding's slug), and what it saves where a recorded run lets that be scaled."""

    cure: Cure
    reason: Reason
    finding: str | None = None
    saving: Modelled | None = None
