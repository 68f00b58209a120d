"""Are a variant's gradients right? At the run's own shape, and under the same causal mask given as a mask.

Forward and backward run whole, so that the kernels which are judged are the ones which are timed. What FP64 says is worked out
on a slice (one batch, two heads, every query and key): a slice's gradients depend on that slice alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ..probes import comparing
from ..run.correctness import Tensor
from ..run.workload import Workload
from . import operands
from .numerics import PART, takes_no_mask
from .refusal import listening

GRADIENTS: tuple[Tensor, ...] = ("gradient of q", "gradient of k", "gradient of v")
UPSTREAM_SEED = 1
PINNED_SLACK = {"gradient of v": 1.6}
"""How much more of the plain formula's error (see `comparing`) is accepted of a pinned backend, whose scores stay in fp32.

torch's CPU kernel adds up the gradient of v in 16 bits and shows 2.1 errors of the plain formula; 3.2 are accepted, and an error of
1 % is more than that in bf16 as in fp16."""
STEPWISE_SLACK = 0.8
"""The same for a variant that is not pinned, which is held beside scores that are rounded as its own are: 1.1 errors at most were
seen of naive, so 1.6 are accepted, and 1 % is more."""


def upstream(device: str, workload: Workload) -> Any:
    """The gradient of the output `[B, H, S, D]`, the same for every variant."""
    return operands.make(device, workload, seed=UPSTREAM_SEED)[0]


def compared(variant: Any, device: str, workload: Workload, tensors: Mapping[Tensor, Any]) -> list[dict[str, Any]]:
    """The fields of `run.Compared` for each tensor `[B, H, S, D]` that `variant` gave for the common operands.

    Raises:
        RuntimeError: the exact gradients could not be worked out on this device.
    """
    pinned = variant.backend is not None
    try:
        exact, plain = _expected(device, workload, pinned)
        return [comparing.compare(name, tensor[PART], exact[name], plain[name], PINNED_SLACK.get(name, 1.0) if pinned else STEPWISE_SLACK)
                for name, tensor in tensors.items()]
    except RuntimeError as error:
        raise RuntimeError(f"its gradients could not be compared with FP64: {str(error).splitlines()[0]}") from error


@lru_cache(maxsize=4)
def _expected(device: str, workload: Workload, wide_scores: bool) -> tuple[comparing.Tensors, comparing.Tensors]:
    """Output and gradients of the slice, exact and by the plain formula: the same for all variants, with the mask given in whichever way."""
    q, k, v, mask = operands.make(device, workload)
    part = {"upstream": upstream(device, workload)[PART], "mask": ~mask}
    q, k, v = (one[PART] for one in (q, k, v))
    exact = _expected(device, workload, False)[0] if wide_scores else comparing.exact(q, k, v, **part)
    return exact, comparing.plain(q, k, v, **part, wide_scores=wide_scores)


def what_is_off(found: Sequence[Mapping[str, Any]]) -> str | None:
    """`wrong result: the gradient of k has a relative error of 0.01, allowed 0.0078`, of each that is off; `None` where all are right."""
    told = [comparing.errors_in_words(one) for one in found if not one["right"]]
    return f"wrong result: {'; '.join(told)}" if told else None


def own_mask(variant: Any, device: str, workload: Workload) -> dict[str, Any]:
    """The fields of `run.OwnShape`: output and gradients of the same attention, with its mask given as a mask."""
    import torch

    found: list[dict[str, Any]] = []
    with listening() as heard:
        q, k, v, mask = operands.make(device, workload, requires_grad=True)
        with torch.enable_grad():
            output = variant.masked(q, k, v, mask)
            gradients = torch.autograd.grad(output, (q, k, v), upstream(device, workload))
        operands.synchronize(device)
        found = compared(variant, device, workload, {"output": output.detach(), **dict(zip(GRADIENTS, gradients))})
    if heard.error is None:
        reason = what_is_off(found)
        return {"outcome": "wrong" if reason else "right", "reason": reason, "compared": found}
    if takes_no_mask(heard.reason):
        outcome = "takes-no-mask"
    else:
        outcome = "refused" if heard.status == "unavailable" else "failed"
    return {"outcome": outcome, "reason": heard.reason, "compared": []}
