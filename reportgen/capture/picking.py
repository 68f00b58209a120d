"""Which backend does torch pick? Seen, not asked: the op that is dispatched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from variants.backends import BY_OP

from ..run.workload import Workload
from .refusal import listening

PRODUCTS = ("aten::bmm", "aten::mm", "aten::matmul", "aten::baddbmm", "aten::addmm")
KEYS = 256
"""Keys of the calls that are asked about, and queries where they are as many."""


class _Seen(Exception):
    """Ends a call at the op that was waited for, before it runs."""


def listener(stop: bool = False) -> Any:
    """A dispatch mode that notes the names of the ops that run inside it in `ops`. stop: a backend's op ends the call instead of running."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Listener(TorchDispatchMode):  # type: ignore[misc]  # torch is not in the checkers' environment
        def __init__(self) -> None:
            super().__init__()
            self.ops: list[str] = []

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            """Nothing is compiled in here. torch would import its compiler to say so to it, which takes seconds."""
            return False

        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.ops.append(function._schema.name)
            if stop and self.ops[-1] in BY_OP:
                raise _Seen
            return function(*args, **(kwargs or {}))

    return Listener()


def backend(ops: Sequence[str]) -> tuple[str, str] | None:
    """The backend and its op. math is no op of its own but a composition: it ran where there are products of matrices and no fused op."""
    for op in ops:
        if op in BY_OP:
            return BY_OP[op], op
    return ("math", "aten::_scaled_dot_product_attention_math") if any(op in PRODUCTS for op in ops) else None


def picks(device: str, workload: Workload) -> list[dict[str, Any]]:
    """The fields of `run.Pick` for mask × gradients × GQA × one query, at the workload's head dimension and type.

    No kernel of a fused backend runs: the call ends at its op, so that nothing is compiled.
    """
    found = []
    for queries in (KEYS, 1):
        for grouped in (False, True):
            for mask in ("none", "causal", "bool", "float"):
                for gradients in (False, True):
                    call = _call(device, workload, mask, gradients, grouped, queries)
                    found.append({"mask": mask, "gradients": gradients, "grouped": grouped, "queries": queries, "keys": KEYS, **_picked(call)})
    return found


def _call(device: str, workload: Workload, mask: str, gradients: bool, grouped: bool, queries: int) -> Callable[[], Any]:
    import torch
    import torch.nn.functional as F

    dtype = getattr(torch, workload.dtype)
    q = torch.zeros(1, 32, queries, workload.head_dim, device=device, dtype=dtype, requires_grad=gradients)
    k, v = (torch.zeros(1, 8 if grouped else 32, KEYS, workload.head_dim, device=device, dtype=dtype, requires_grad=gradients) for _ in range(2))
    options: dict[str, Any] = {"enable_gqa": True} if grouped else {}
    if mask == "causal":
        options["is_causal"] = True
    elif mask != "none":
        options["attn_mask"] = torch.ones(queries, KEYS, device=device, dtype=torch.bool if mask == "bool" else dtype)
    return lambda: F.scaled_dot_product_attention(q, k, v, **options)


def _picked(call: Callable[[], Any]) -> dict[str, str | None]:
    with listening() as heard, listener(stop=True) as seen:
        call()
    found = backend(seen.ops)
    stopped = heard.error is None or isinstance(heard.error, _Seen)
    return {"backend": found[0] if found and stopped else None, "reason": None if stopped else heard.reason}
