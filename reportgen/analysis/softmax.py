"""Math's softmax: which of its work is the softmax, and which is added to protect fully masked rows."""

from __future__ import annotations

from dataclasses import dataclass

from .model import ActivityFacts, VariantFacts

SAFE_OP = "aten::_safe_softmax"
SOFTMAX_OP = "aten::_softmax"


@dataclass(frozen=True)
class SafeSoftmax:
    """GPU activities under `_safe_softmax`, in launch order: those of the softmax proper, and those beside it."""

    softmax: tuple[ActivityFacts, ...]
    added: tuple[ActivityFacts, ...]

    @property
    def kernels(self) -> tuple[ActivityFacts, ...]:
        """The kernels among what is added."""
        return tuple(activity for activity in self.added if activity.kind == "kernel")


def calls_safe(variant: VariantFacts) -> bool:
    """Whether a forward dispatches `_safe_softmax`."""
    return any(op.name == SAFE_OP for op in variant.ops)


def under_safe(variant: VariantFacts) -> SafeSoftmax:
    """What a forward launches under `_safe_softmax`; nothing where it calls none."""
    found = [a for a in variant.activities if SAFE_OP in a.op_path]
    return SafeSoftmax(tuple(a for a in found if SOFTMAX_OP in a.op_path), tuple(a for a in found if SOFTMAX_OP not in a.op_path))


def added_ops(variant: VariantFacts) -> tuple[str, ...]:
    """Names of the CPU ops that `_safe_softmax` dispatches itself, the softmax apart, in order; empty where it is not called."""
    depth = next((len(op.path) for op in variant.ops if op.name == SAFE_OP), None)
    return tuple(op.name for op in variant.ops if depth and SAFE_OP in op.path and len(op.path) == depth + 1 and op.name != "aten::softmax")
