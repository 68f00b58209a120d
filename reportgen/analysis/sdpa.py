"""What one call of `scaled_dot_product_attention` dispatches below its own op."""

from __future__ import annotations

from variants.backends import SDPA_OP

from .model import VariantFacts

TRANSPOSE = "aten::transpose"


def sdpa_transposes(variant: VariantFacts) -> int | None:
    """`aten::transpose` ops under the SDPA op of one forward; `None` where no ops were recorded.

    `VariantFacts.transposes` counts those before the call as well.
    """
    return sum(op.name == TRANSPOSE and SDPA_OP in op.path for op in variant.ops) if variant.ops else None


def ops_below(variant: VariantFacts) -> tuple[str, ...]:
    """Distinct names below the SDPA op, in the order of their first call."""
    return tuple(dict.fromkeys(op.name for op in variant.ops if SDPA_OP in op.path[:-1]))


def launches_under_transpose(variant: VariantFacts) -> bool:
    """Whether any GPU activity was launched under a transpose, which is then more than a view."""
    return any(TRANSPOSE in activity.op_path for activity in variant.activities)
