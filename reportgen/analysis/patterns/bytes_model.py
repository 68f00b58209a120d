"""How many bytes an activity must move and how many FLOP it does, modelled from role and workload.

*Requested bytes* count each tensor that a kernel reads or writes once, however often it really
touches it and wherever it finds it. Counted DRAM traffic differs: an input just written may still
lie in the last-level cache (less is read), and what was written may not have left it yet (less is
written, or the former kernel's bytes are written in this one's time).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from ...hardware.kernel_names import decode
from ...hardware.kernel_names.aten import TYPES
from ...run.workload import Workload
from .math_fallback import OP as MATH
from .shapes import Shown

_SIZES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp64": 8, "bool": 1}
_FP32 = 4
ADDS = "aten::baddbmm"
"""The op that adds a bias to the product."""
_WORK_PER_THREAD = (1, 2, 4)
"""ATen's loops handle the template's vector width per thread, or twice or four times it for narrow types."""


@dataclass(frozen=True)
class Modelled:
    """bytes: read plus written; flop: operations, matrix products only. `None` where the model does not reach."""

    bytes: float | None = None
    flop: float | None = None


NOTHING = Modelled()


def model(activity: Shown, role: str, workload: Workload) -> Modelled:
    """Requested bytes and FLOP of one activity of one forward of `workload`."""
    if activity.kind == "memset":
        return Modelled(activity.bytes)
    if activity.kind == "memcpy":
        return Modelled(None if activity.bytes is None else 2 * activity.bytes)
    if activity.name.startswith("triton_") or any(op.startswith("triton_") for op in activity.op_path):
        return NOTHING  # what torch.compile fused into it is not known from the role
    rule = _RULES.get(role)
    return rule(activity, workload) if rule else NOTHING


def _operand(workload: Workload) -> int:
    """Elements of one of Q, K, V, output."""
    return workload.batch * workload.heads * workload.sequence * workload.head_dim


def _matmul(activity: Shown, workload: Workload) -> Modelled:
    """q·kᵀ reads two operands and writes the scores; weights·v reads the scores and one operand and writes one: the same sum. `baddbmm` reads what it adds to."""
    size = _matmul_element(activity, workload)
    added = workload.score_elements if ADDS in activity.op_path else 0
    moved = None if size is None else (2 * _operand(workload) + workload.score_elements + added) * size
    return Modelled(moved, workload.matmul_flop)


def _matmul_element(activity: Shown, workload: Workload) -> int | None:
    name = activity.name
    if re.search(r"bf16|fp16|f16(?!\d)|_tst_|_hsh_|_BBS_|_HHS_", name):
        return 2
    if re.search(r"f32f32|sgemm|_SB_", name):
        return _FP32
    # The math backend casts 16-bit input up, or was told not to: a name that does not tell leaves it open.
    return None if MATH in activity.op_path else workload.element_bytes


def _fused(activity: Shown, workload: Workload) -> Modelled:
    return Modelled(workload.operand_bytes, workload.causal_flop if workload.causal else workload.full_flop)


def _element(activity: Shown, workload: Workload) -> int | None:
    """Bytes of the first element type that the kernel's template names."""
    for part in decode(activity.name).parts:
        if part.text in TYPES:
            return _SIZES[TYPES[part.text]]
    return None if MATH in activity.op_path else workload.element_bytes


def _sized(elements: Callable[[Workload, int], float]) -> Callable[[Shown, Workload], Modelled]:
    """A rule from bytes as a function of workload and element size."""
    def rule(activity: Shown, workload: Workload) -> Modelled:
        size = _element(activity, workload)
        return NOTHING if size is None else Modelled(elements(workload, size))
    return rule


def _scale(activity: Shown, workload: Workload) -> Modelled:
    """The naive variants scale the scores, or the queries: the grid tells which. The math backend scales q and k by √scale beforehand."""
    size = _element(activity, workload)
    operand, scores = _operand(workload), workload.score_elements
    count = operand if MATH in activity.op_path else _elements_by_grid(activity, (scores, operand)) or scores
    return NOTHING if size is None else Modelled(2 * count * size)


def _mask(activity: Shown, workload: Workload) -> Modelled:
    """The scores, or a square that is added to them: in and out, beside a square of flags."""
    size, square = _element(activity, workload), workload.sequence**2
    count = _elements_by_grid(activity, (workload.score_elements, square)) or workload.score_elements
    return NOTHING if size is None else Modelled(2 * count * size + square)


def _copied(activity: Shown, workload: Workload) -> Modelled:
    """The scores, in and out; `baddbmm` copies the square that it adds out to the size of the scores."""
    size = _element(activity, workload)
    read = workload.sequence**2 if ADDS in activity.op_path else workload.score_elements
    return NOTHING if size is None else Modelled((read + workload.score_elements) * size)


def _cast(activity: Shown, workload: Workload) -> Modelled:
    """Between the workload's type and FP32, on an operand or on the whole score matrix: the grid tells which."""
    count = _elements_by_grid(activity, (_operand(workload), workload.score_elements))
    return NOTHING if count is None else Modelled(count * (workload.element_bytes + _FP32))


def _elements_by_grid(activity: Shown, candidates: tuple[int, ...]) -> int | None:
    """The candidate that the launch's threads cover, at the work per thread that the template names."""
    if not activity.grid or not activity.block:
        return None
    blocks, threads = prod(activity.grid), prod(activity.block)
    width = re.search(r"vectorized_elementwise_kernel<(?:\(int\))?(\d+)|ul>, (?:\(int\))?(\d+), TrivialOffset|\belementwise_kernel<\d+, (?:\(int\))?(\d+)", activity.name)
    base = int(next(filter(None, width.groups()))) if width else 4
    for factor in _WORK_PER_THREAD:
        for count in candidates:
            if blocks == -(-count // (threads * base * factor)):
                return count
    return None


def _fill(activity: Shown, workload: Workload) -> Modelled:
    """`ones` fills the square of the mask; `scalar_tensor` fills a single element."""
    size = _element(activity, workload)
    if size is None:
        return NOTHING
    if "aten::scalar_tensor" in activity.op_path:
        return Modelled(size)
    return Modelled(workload.sequence**2 * size) if "aten::ones" in activity.op_path else NOTHING


def _where(activity: Shown, workload: Workload) -> Modelled:
    """For the mask: a square of flags in, a square of values out. In safe softmax: a flag per row, and the weights in and out."""
    size = _where_value(activity)
    if size is None:
        return NOTHING
    if "aten::_safe_softmax" in activity.op_path:
        rows = workload.batch * workload.heads * workload.sequence
        return Modelled(2 * workload.score_elements * size + rows)
    return Modelled(workload.sequence**2 * (1 + size))


def _where_value(activity: Shown) -> int | None:
    """The lambda is (bool, T, T): the type of the values is the last."""
    types = [part.text for part in decode(activity.name).parts if part.text in TYPES]
    return _SIZES[TYPES[types[-1]]] if types else None


_RULES: dict[str, Callable[[Shown, Workload], Modelled]] = {
    "matmul": _matmul,
    "fused attention": _fused,
    "scale": _scale,
    "copy": _copied,
    "mask": _mask,
    "softmax": _sized(lambda w, size: 2 * w.score_elements * size),
    "add": _sized(lambda w, size: 2 * w.score_elements * size + w.sequence**2 * size),
    "isneginf": _sized(lambda w, size: w.score_elements * (size + 1)),
    "all": lambda activity, w: Modelled(w.score_elements + w.batch * w.heads * w.sequence),
    "tril": _sized(lambda w, size: 2 * w.sequence**2 * size),
    "cast": _cast,
    "fill": _fill,
    "where": _where,
}
