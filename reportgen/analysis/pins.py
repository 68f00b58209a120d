"""Whether a pinned backend really ran: its own op in the variant's trace."""

from __future__ import annotations

from variants.backends import BACKENDS, BY_OP

from .model import VariantFacts

PINNED = {f"sdpa_{name}": backend for name, backend in BACKENDS.items()}
"""The pinned variants, and the backend that each is pinned to."""


def own_op(variant: VariantFacts) -> str | None:
    """The backend's own op as it stands in the variant's trace, matched by its whole name."""
    names = {op.name for op in variant.ops}
    return next((op for op in PINNED[variant.id].ops if op in names), None)


def seen_ops(variant: VariantFacts) -> tuple[str, ...]:
    """The ops of any pinnable backend that stand in the variant's trace, in the order of `BACKENDS`."""
    names = {op.name for op in variant.ops}
    return tuple(op for op, name in BY_OP.items() if op in names and name in BACKENDS)
