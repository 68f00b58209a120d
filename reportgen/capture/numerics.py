"""Is a variant right? Its output against FP64, and what it does with a row that may see nothing."""

from __future__ import annotations

import re
from typing import Any

from variants import reference

from ..run.workload import Workload
from . import operands
from .refusal import listening

PART = (slice(0, 1), slice(0, 2))
"""What FP64 is worked out for: one batch, two heads."""
ROUNDING_FACTOR = {"bfloat16": 3.0, "float16": 3.0, "float32": 32.0}
"""Accepted error, as a multiple of the error of rounding the exact result to the dtype.

In 16 bits the accumulators are wider than the result, so rounding dominates: naive shows 2.2× in
bfloat16 on an H200. In fp32 the sums themselves are rounded at every step, which a single
rounding of the result does not show; a CPU shows 11 to 13× for every variant alike, so the factor there is calibrated.
"""
_MASK_REFUSED = re.compile(r"(?:not support|no support)\w*[^.]*attn_?mask|attn_?mask[^.]*not support", re.IGNORECASE)


def relative(value: Any, exact: Any) -> float:
    """‖value − exact‖ ÷ ‖exact‖, in FP64."""
    difference = (value.double() - exact).norm() / exact.norm()
    return float(difference)


def check(variant: Any, device: str, workload: Workload) -> dict[str, Any]:
    """`{"relative_error", "allowed_error", "ok"}` of one forward at the workload's full shape.

    The forward runs whole, so the kernel that is judged is the one that is timed; the FP64
    reference is worked out on a slice of it (one batch, two heads, every query and key).
    A result that is not finite is not ok, and its error is `None`. Raises what the variant raises.
    """
    import math

    import torch

    q, k, v, mask = operands.make(device, workload)
    with torch.no_grad():
        out = variant.forward(q, k, v, mask)[PART]
        exact = reference.attention(q[PART], k[PART], v[PART], mask)
        error = relative(out, exact)
        allowed = ROUNDING_FACTOR[workload.dtype] * relative(exact.to(out.dtype), exact)
    finite = math.isfinite(error)
    return {"relative_error": error if finite else None, "allowed_error": allowed, "ok": finite and error <= allowed}


def masked_row(variant: Any, device: str, workload: Workload) -> dict[str, Any]:
    """`{"outcome", "reason"}` for one query row whose every key is masked (`run.MaskedRow`).

    The row in the middle, so that it lies inside a tile. `takes-no-mask` where torch says that the
    pinned backend has no mask argument, `refused` for any other refusal.
    """
    import torch

    q, k, v, mask = operands.make(device, workload)
    row = workload.sequence // 2
    mask[row] = True
    with listening() as heard, torch.no_grad():
        out = variant.masked(q, k, v, mask)[:, :, row].float()
        outcome = _kind(out)
    if heard.error is None:
        return {"outcome": outcome, "reason": None}
    return {"outcome": "takes-no-mask" if takes_no_mask(heard.reason) else "refused", "reason": heard.reason}


def takes_no_mask(reason: str | None) -> bool:
    """Whether torch's words say that the backend has no mask argument."""
    return bool(_MASK_REFUSED.search(reason or ""))


def _kind(out: Any) -> str:
    if bool(out.isnan().any()):
        return "nan"
    if bool(out.isinf().any()):
        return "infinite"
    return "zeros" if not bool(out.any()) else "other"
