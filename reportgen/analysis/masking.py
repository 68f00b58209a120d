"""Finds the masking step of a naive forward: its CPU ops, its GPU activities, the copy hidden in it."""

from __future__ import annotations

from .model import ActivityFacts, OpFacts, RunFacts, VariantFacts
from .patterns import hidden_copy
from .patterns.hidden_copy import MASK_OPS


def hidden_copies(variant: VariantFacts) -> tuple[ActivityFacts, ...]:
    """The activities, of any kind, that the clone inside an out-of-place mask queued."""
    return hidden_copy.find(variant.activities)


def masking(variant: VariantFacts) -> tuple[ActivityFacts, ...]:
    """The GPU activities of the masking step, in launch order."""
    return tuple(activity for activity in variant.activities if any(op in MASK_OPS for op in activity.op_path))


def masking_copies(variant: VariantFacts) -> tuple[ActivityFacts, ...]:
    """Copies under the masking step, however it came to them."""
    return tuple(activity for activity in masking(variant) if activity.role == "copy")


def mask_ops(variant: VariantFacts) -> tuple[OpFacts, ...]:
    """The CPU ops of the masking step, the step's own op first."""
    return tuple(op for op in variant.ops if any(name in MASK_OPS for name in op.path))


def copied(copy: ActivityFacts) -> float | None:
    """Bytes of the tensor that was copied: half of what the copy moves."""
    if copy.bytes is not None:
        return copy.bytes
    return None if copy.requested_bytes is None else copy.requested_bytes / 2


def picked_with_mask(facts: RunFacts) -> tuple[str, ...]:
    """The backends that torch was seen to pick for a call with an `attn_mask`, which flash refuses, and as many KV heads as heads; empty where nobody looked."""
    return tuple(dict.fromkeys(pick.backend for pick in facts.watch.picks if pick.mask in ("bool", "float") and not pick.grouped and pick.backend))


def takes_no_mask(facts: RunFacts, name: str) -> bool:
    """Whether this run saw the variant refuse a mask of one's own."""
    row = facts.variants[name].masked_row if name in facts.variants else None
    return row is not None and row.outcome == "takes-no-mask"
