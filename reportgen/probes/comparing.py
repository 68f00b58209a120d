"""Is a tensor right? Attention and its gradients in FP64, the same formula in the type of q, and the one comparison.

Variants and probes are judged by the same words (`run.Compared`). torch is imported inside functions only.

**What is allowed.** The error is ‖value − exact‖ ÷ ‖exact‖. Accepted is the larger of `ROUNDING_FACTOR` × what rounding
the exact tensor once costs, and `PLAIN_FACTOR` × the error of the plain formula, one torch operation after the other in
the type of q, on the same device with the same switches. Rounding alone is too strict for gradients: the weights and the gradient of
the scores are rounded before they are multiplied, in every kernel that uses 16-bit matrix units. The plain formula
rounds at least there, and also the scores, so it is no better than a right kernel, and with TF32 it is as coarse.

The same holds for the worst row, with `ROW_FACTOR`, for a whole tensor hides one broken row: a row is the last dimension
of one query or key. A row's error is measured by its own length, or by the median row's where it is shorter: where a
query sees few keys the terms of its gradient cancel, and what is left is rounding. So a short row, as of the last keys
under a causal mask, is wrong where it is 0 and the plain formula's is not.

Measured on a CPU, bf16 and fp16, 17 to 2,048 keys, many seeds: right kernels show at most 1.5 of the plain formula's errors,
the gradients of k and v of torch's CPU kernel 2.1 (it adds them up in 16 bits), and at most 2.4 in the worst row.

An error below `ABSOLUTE` per element counts for nothing. It is the noise of sums in fp32 of numbers of about 1, and all
there is where the exact gradient is 0, as with one key.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite, sqrt
from typing import Any

from ..run.correctness import Tensor

ROUNDING_FACTOR = 3.0
FP32_ROUNDING_FACTOR = 32.0
"""In fp32 the sums themselves are rounded at each step, which one rounding of the result does not show."""
PLAIN_FACTOR = 2.0
ROW_FACTOR = 4.0
FAINTEST = 1e-3
"""Of the median row's length: a row that is shorter may be 0."""
ABSOLUTE = 4e-6
CHUNK = 2**25
"""Most scores at once: 256 MiB in FP64."""

Tensors = dict[Tensor, Any]


def exact(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None, upstream: Any = None,
          kept: Any = None, dropout_p: float = 0.0) -> Tensors:
    """The output and, where `upstream` is given, the gradients, in FP64, by tensor name.

    As `torch.nn.functional.scaled_dot_product_attention` documents it; dropout only where `kept` says what it did. A row without keys gives zeros
    and passes no gradient on.

    Args:
        q, k, v: `[..., length, head_dim]`; k and v may have fewer heads (GQA).
        mask: bool (True may be seen) or floats that are added, broadcast to `[..., queries, keys]`.
        is_causal: aligned at the top left, as torch documents it: query i sees the keys 0 … i.
        scale: of the scores; 1 ÷ √head_dim where it is `None`.
        upstream: gradient of the output, in its shape.
        kept: bool `[..., queries, keys]`: the weights that dropout kept, each ÷ (1 − `dropout_p`).
    """
    import torch

    return _formula(torch.float64, q, k, v, mask, is_causal, scale, upstream, kept, dropout_p)


def plain(q: Any, k: Any, v: Any, mask: Any = None, *, is_causal: bool = False, scale: float | None = None, upstream: Any = None,
          kept: Any = None, dropout_p: float = 0.0, wide_scores: bool = False) -> Tensors:
    """The same in the type of q: each step of the formula is one torch operation, and is rounded. Arguments as for `exact`.

    wide_scores: the scores stay in fp32, as every SDPA backend keeps them
    """
    return _formula(q.dtype, q, k, v, mask, is_causal, scale, upstream, kept, dropout_p, wide_scores)


def _formula(dtype: Any, q: Any, k: Any, v: Any, mask: Any, is_causal: bool, scale: float | None, upstream: Any,
             kept: Any, dropout_p: float, wide_scores: bool = False) -> Tensors:
    """softmax(q · kᵀ × scale + mask) · v and its derivatives, worked out by hand, some queries at a time."""
    import torch

    wide = torch.float64 if dtype is torch.float64 else torch.float32
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    heads, kv_heads = (tuple(one.shape[:-2]) for one in (q, k))
    with torch.no_grad():
        wide_mask = None if mask is None else mask.detach().expand(*q.shape[:-1], k.shape[-2])
        q, k, v = q.detach().to(dtype), _spread(k.detach().to(dtype), heads), _spread(v.detach().to(dtype), heads)
        out = q.new_zeros(*q.shape[:-1], v.shape[-1])
        found: Tensors = {"output": out}
        if upstream is not None:
            upstream = upstream.detach().to(dtype)
            sums = {name: torch.zeros_like(one, dtype=wide) for name, one in zip("qkv", (q, k, v))}
            of_mask = torch.zeros(mask.shape, dtype=wide, device=q.device) if mask is not None and mask.is_floating_point() else None
        for part in _parts(q.shape, k.shape[-2]):
            rows = q[..., part, :]
            score_rows, score_k = (rows.to(wide), k.to(wide)) if wide_scores else (rows, k)
            weights = _weights(score_rows, score_k, None if wide_mask is None else wide_mask[..., part, :], part.start if is_causal else None, scale, wide).to(dtype)
            factor = 1.0 if kept is None else kept[..., part, :].to(dtype) / (1.0 - dropout_p)
            out[..., part, :] = of_rows = _product(weights * factor, v)
            if upstream is None:
                continue
            of_out = upstream[..., part, :]
            of_weights = (_product(of_out, v.transpose(-2, -1)) * factor).to(wide)
            # the sum over the keys from the output, which is rounded by then: so does every fused kernel
            summed = (of_out.to(wide) * of_rows.to(wide)).sum(-1, keepdim=True)
            of_scores = (weights * (of_weights - summed)).to(dtype)
            sums["q"][..., part, :] = _product(of_scores * scale, k).to(wide)
            sums["k"] += _product((of_scores * scale).transpose(-2, -1), rows).to(wide)
            sums["v"] += _product((weights * factor).transpose(-2, -1), of_out).to(wide)
            if of_mask is not None:
                _add(of_mask, of_scores.to(wide), part)
        if upstream is not None:
            found["gradient of q"] = sums["q"].to(dtype)
            found["gradient of k"] = _gathered(sums["k"], kv_heads).to(dtype)
            found["gradient of v"] = _gathered(sums["v"], kv_heads).to(dtype)
            if of_mask is not None:
                found["gradient of the mask"] = of_mask.to(dtype)
    return found


def _weights(rows: Any, k: Any, mask: Any, causal_from: int | None, scale: float, wide: Any) -> Any:
    """Softmax of the scores of some queries, in their type; zeros in a row without keys. causal_from: number of the first of them."""
    import torch

    scores = _product(rows, k.transpose(-2, -1)) * scale
    if causal_from is not None:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril_(causal_from)
        scores = scores.masked_fill(~seen, -inf)
    if mask is not None:
        scores = scores.masked_fill(~mask, -inf) if mask.dtype is torch.bool else scores + mask.to(scores.dtype)
    if not scores.shape[-1]:
        return scores
    empty = scores.amax(-1, keepdim=True) == -inf
    return torch.softmax(scores.to(wide), -1).masked_fill(empty, 0.0).to(rows.dtype)


def _product(left: Any, right: Any) -> Any:
    """`left @ right`, each element summed in fp32 at least and rounded once. A CPU without 16-bit matrix units takes ten times as long for its own product."""
    narrow = left.device.type == "cpu" and left.element_size() == 2
    return (left.float() @ right.float()).to(left.dtype) if narrow else left @ right


def _parts(shape: Any, keys: int) -> list[slice]:
    """The queries in pieces whose scores are at most `CHUNK`."""
    *heads, queries, _ = shape
    many = 1
    for one in heads:
        many *= one
    length = max(1, CHUNK // max(1, many * keys))
    return [slice(begin, min(begin + length, queries)) for begin in range(0, queries, length)]


def _spread(one: Any, heads: tuple[int, ...]) -> Any:
    """k or v with as many heads as q has: neighbouring query heads share one (GQA)."""
    if not heads or one.shape[-3] == heads[-1] or not one.shape[-3]:
        return one
    return one.repeat_interleave(heads[-1] // one.shape[-3], dim=-3)


def _gathered(one: Any, heads: tuple[int, ...]) -> Any:
    """The gradient of what `_spread` spread."""
    if not heads or one.shape[-3] == heads[-1] or not heads[-1]:
        return one
    return one.unflatten(-3, (heads[-1], -1)).sum(-3)


def _add(total: Any, of_scores: Any, part: slice) -> None:
    """Adds the gradient of some queries' scores to that of a mask, which may be broadcast."""
    to = total if total.dim() < 2 or total.shape[-2] == 1 else total[..., part, :]
    to += of_scores.sum_to_size(to.shape)


def compare(tensor: Tensor, value: Any, exact: Any, plain: Any = None, slack: float = 1.0) -> dict[str, Any]:
    """The fields of `run.Compared`: `value` beside the FP64 tensor `exact` and the plain formula's `plain`, all of one shape.

    Rounding is that to the type of `value`. A value that is not finite is not right and has no error; where the exact one is NaN,
    NaN is right, and anything else hides it. What the plain formula cannot give in this type (it is `None`, or not finite) allows nothing.
    slack: so many times more of the plain formula's error is accepted
    """
    import torch

    if value.shape != exact.shape:
        return {"tensor": tensor, "right": False, "error": None, "not_finite": 0, "elements": value.numel()}
    value, exact = value.detach(), exact.detach().double()
    nothing = exact.isnan()
    not_finite, hidden = int((~torch.isfinite(value) & ~nothing).sum()), int((~value.isnan() & nothing).sum())
    value, exact = value.masked_fill(nothing, 0.0), exact.masked_fill(nothing, 0.0)
    plain = None if plain is None else plain.masked_fill(nothing, 0.0)
    counts = {"tensor": tensor, "not_finite": not_finite, "hidden": hidden, "elements": value.numel()}
    if not value.numel():
        return {**counts, "right": True, "error": 0.0, "allowed": 0.0, "row_error": 0.0, "row_allowed": 0.0}
    whole, worst = _allowed(value.dtype, exact, plain, slack)
    if not_finite:
        return {**counts, "right": False, "error": None, "allowed": whole, "row_error": None, "row_allowed": worst}
    error, row_error = _errors(value, exact)
    if plain is not None and _left_out(value, exact, plain):
        row_error = max(row_error, 1.0)
    return {**counts, "right": error <= whole and row_error <= worst and not hidden, "error": error, "allowed": whole, "row_error": row_error, "row_allowed": worst}


def _allowed(dtype: Any, exact: Any, plain: Any, slack: float) -> tuple[float, float]:
    """What is accepted for the whole and for the worst row."""
    import torch

    factor = FP32_ROUNDING_FACTOR if dtype in (torch.float32, torch.float64) else ROUNDING_FACTOR
    rounded = _errors(exact.to(dtype), exact)
    stepwise = (0.0, 0.0) if plain is None else _errors(plain, exact)
    noise = (ABSOLUTE / size for size in _sizes(exact))
    least = factor * torch.finfo(dtype).eps / 8  # a short tensor may be exact in its type by chance
    found = [max(one for one in (least, factor * once, slack * more * step, small) if isfinite(one))
             for once, more, step, small in zip(rounded, (PLAIN_FACTOR, ROW_FACTOR), stepwise, noise)]
    return found[0], found[1]


def _sizes(exact: Any) -> tuple[float, float]:
    """Root mean square of an element, in the whole and in the median row; 1 where all are 0."""
    lengths = exact.norm(dim=-1).flatten()
    width = sqrt(exact.shape[-1])
    whole = float(lengths.norm()) / width / sqrt(len(lengths)) or 1.0
    return whole, float(lengths.median()) / width or whole


def _errors(value: Any, exact: Any) -> tuple[float, float]:
    """‖value − exact‖ ÷ ‖exact‖ of the whole and of the worst row."""
    whole, row = _sizes(exact)
    width, lengths = sqrt(exact.shape[-1]), exact.norm(dim=-1)
    apart = (value.detach().double() - exact).norm(dim=-1)
    return float(apart.norm()) / (whole * width * sqrt(apart.numel())), float((apart / lengths.clamp(min=row * width)).max())


def _left_out(value: Any, exact: Any, plain: Any) -> bool:
    """A row is 0 that is neither in the plain formula nor in FP64, where it is long enough to be told from nothing."""
    lengths = exact.norm(dim=-1)
    empty = ~value.any(-1) & plain.any(-1) & (lengths > FAINTEST * lengths.median())
    return bool(empty.any())


def errors_in_words(compared: Mapping[str, Any]) -> str:
    """What is off, in numbers: `the gradient of k has 12 of 4,096 values that are not finite`."""
    name = f"the {compared['tensor']}"
    if compared["not_finite"]:
        return f"{name} has {compared['not_finite']:,} of {compared['elements']:,} values that are not finite"
    if compared.get("hidden"):
        return f"{name} has {compared['hidden']:,} of {compared['elements']:,} values that are finite where NaN went in"
    if compared["error"] is None:
        return f"{name} has another shape"
    if compared["error"] > compared["allowed"]:
        return f"{name} has a relative error of {compared['error']:.2g}, allowed {compared['allowed']:.2g}"
    return f"a row of {name} has a relative error of {compared['row_error']:.2g}, allowed {compared['row_allowed']:.2g}"
