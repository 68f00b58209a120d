"""Is a tensor right? Its error beside FP64, as a whole and in its worst row, and what rounding excuses."""

from __future__ import annotations

from typing import Any

ROUNDINGS = {"torch.bfloat16": 3.0, "torch.float16": 3.0, "torch.float32": 1000.0}
"""Accepted error, in errors of rounding the exact result once. In FP32 the sums themselves are rounded, and some kernels split
each product in three of TF32; a thousand roundings of FP32 are still 3 · 10⁻⁵."""
PLAIN = 4.0
"""Accepted error, in errors of our own plain program in the same type (`exact.plain`). torch's CPU kernel, which adds up
gradients in 16 bits, shows 2.3."""
ROW = 6.0
"""The same for one row, where a lucky rounding weighs more."""
CANCELLED = 0.05
"""Accepted error, in units in the last place of the terms that cancel in a sum."""


def compare(tensor: str, value: Any, exact: Any, size: Any, plain: Any) -> dict[str, Any]:
    """The fields of `run.Compared`.

    Args:
        value: what a backend gave, in its type; exact, size: FP64, of the same shape (see `exact.Result`);
        plain: `exact.plain`'s value, FP32.
    """
    import torch

    if value.shape != exact.shape:
        return _judged(tensor, value, right=False)
    wanted = exact.isnan()
    broken = int((~torch.isfinite(value) & ~wanted).sum())
    hidden = int((~value.isnan() & wanted).sum())
    if broken:
        return _judged(tensor, value, right=False, not_finite=broken, hidden=hidden)
    off, by_rounding, by_plain = (_rows((other.double() - exact).masked_fill(wanted, 0.0)) for other in (value, exact.to(value.dtype), plain))
    exact, size = (_rows(each.masked_fill(wanted, 0.0)) for each in (exact, size.double()))
    unit = CANCELLED * torch.finfo(value.dtype).eps
    roundings = ROUNDINGS[str(value.dtype)]
    allowed = max(roundings * by_rounding.norm(), PLAIN * by_plain.norm(), unit * size.norm())
    divisor = exact.norm() if exact.norm() > unit * size.norm() else size.norm()
    if not float(divisor):
        exactly = not float(off.norm())
        return _judged(tensor, value, right=exactly and not hidden, hidden=hidden, error=0.0 if exactly else 1.0, allowed=0.0)
    share = by_plain.norm() / divisor
    rows = ROW * torch.stack([by_rounding * roundings / 3, by_plain, share * exact, unit * size]).amax(0)
    worst = int((off / rows.clamp_min(torch.finfo(torch.float64).tiny)).argmax())
    row = next(each for each in (exact[worst], size[worst], divisor) if float(each))
    right = float(off.norm()) <= float(allowed) and float(off[worst]) <= float(rows[worst]) and not hidden
    return _judged(tensor, value, right=right, hidden=hidden, error=off.norm() / divisor, allowed=allowed / divisor,
                   row_error=off[worst] / row, row_allowed=rows[worst] / row)


def same(tensor: str, value: Any, first: Any) -> dict[str, Any]:
    """The fields of `run.Compared` for a value that must equal another bit for bit."""
    off, size = (value.double() - first.double()).norm(), first.double().norm()
    equal = bool(((value == first) | (value.isnan() & first.isnan())).all())
    return _judged(tensor, value, right=equal, error=off / size if float(size) else off, allowed=0.0)


def _rows(value: Any) -> Any:
    """The norm of every row: the last dimension is gone."""
    return value.flatten(0, -2).norm(dim=-1) if value.dim() > 1 else value.abs()


def _judged(tensor: str, value: Any, *, right: bool, not_finite: int = 0, hidden: int = 0, **numbers: Any) -> dict[str, Any]:
    return {"tensor": tensor, "right": right, "not_finite": not_finite, "hidden": hidden, "elements": value.numel(),
            **{name: _amount(number) for name, number in numbers.items()}}


def _amount(number: Any) -> float | None:
    """As `run.ranges.Amount` has it: what is far below any rounding is 0; `None` where it is no number."""
    plain = float(number)
    return None if plain != plain or plain > 1e30 else plain if plain >= 1e-12 else 0.0
