"""Small experiments beside the variants, each answering one question of the ledger."""

from __future__ import annotations

from typing import Any

from variants.backends import BACKENDS

from ..run.workload import Workload
from . import mask_step, numerics, occupancy_probe, operands, picking
from .refusal import listening

MINIMAL_REFUSAL = """\
import torch
x = torch.randn(4, 4, requires_grad=True)
hidden = torch.ones(4, 4, dtype=torch.bool).triu(1)
y = x.exp()                  # exp keeps its result: the gradient needs it
y.masked_fill_(hidden, 0.0)  # ... which is overwritten here
y.sum().backward()
"""
"""The smallest graph in which an in-place mask breaks the backward pass; it is run as it stands."""


PROBES = ("default_backend", "autograd", "occupancy_probe", "mask_kernels")


def run_all(device: str, workload: Workload) -> dict[str, Any]:
    """Every probe of this module by name; one that breaks leaves `{"reason": …}` and costs no other.

    The occupancy probe uses the profiler, whose first start costs seconds: call this from the
    process that records the traces.
    """
    probes = (default_backend, autograd, occupancy_probe.measure, mask_step.kernels)
    return {name: _attempt(probe, device, workload) for name, probe in zip(PROBES, probes)}


def _attempt(probe: Any, device: str, workload: Workload) -> Any:
    with listening() as heard:
        result = probe(device, workload)
    return result if heard.error is None else {"reason": heard.reason}


def default_backend(device: str, workload: Workload) -> dict[str, str | None]:
    """`{"name", "op"}` of the SDPA backend that runs when nothing is pinned.

    Seen, not asked: the op that is really dispatched. The math backend is no op of its own but a
    composition, so it is what runs where none of the fused ops does.
    """
    import torch
    import torch.nn.functional as F

    q, k, v, _ = operands.make(device, workload)
    with torch.no_grad(), picking.listener() as seen:
        F.scaled_dot_product_attention(q, k, v, is_causal=workload.causal)
    name, op = picking.backend(seen.ops) or ("math", BACKENDS["math"].ops[0])
    return {"name": name, "op": op}


def autograd(device: str, workload: Workload) -> dict[str, Any]:
    """Does masking in place survive a backward pass, with the same gradients, and where does it not?

    gradients_equal: naive and in-place give bit for bit the same gradients; `None` if one refused
    relative_difference: the largest of the three ‖difference‖ ÷ ‖gradient‖
    inplace_backward: `ok` or `refused`, with torch's `reason`
    minimal_refusal: the few lines in which in-place masking does break, run here
    """
    from variants import naive, naive_inplace

    reference, _ = _gradients(naive, device, workload)
    candidate, reason = _gradients(naive_inplace, device, workload)
    both = reference is not None and candidate is not None
    pairs = list(zip(candidate, reference)) if both else []
    return {
        "gradients_equal": all(bool((a == b).all()) for a, b in pairs) if both else None,
        "relative_difference": max(numerics.relative(a, b.double()) for a, b in pairs) if both else None,
        "inplace_backward": "ok" if candidate is not None else "refused",
        "reason": reason,
        "minimal_refusal": minimal_refusal(),
    }


def _gradients(variant: Any, device: str, workload: Workload) -> tuple[Any, str | None]:
    """`((dq, dk, dv), None)`, or `(None, torch's reason)`."""
    import torch

    q, k, v, mask = operands.make(device, workload, requires_grad=True)
    upstream = operands.make(device, workload, seed=1)[0]
    gradients = None
    with listening() as heard, torch.enable_grad():
        gradients = torch.autograd.grad(variant.forward(q, k, v, mask), (q, k, v), upstream)
    return gradients, heard.reason


def minimal_refusal() -> dict[str, Any]:
    """`{"refused", "code", "message"}` of `MINIMAL_REFUSAL`; message is torch's, or `None` if it ran."""
    with listening() as heard:
        exec(compile(MINIMAL_REFUSAL, "minimal_refusal", "exec"), {})  # noqa: S102 - our own constant
    return {"refused": heard.error is not None, "code": MINIMAL_REFUSAL, "message": heard.reason}
