"""The kernels of a forward: which one is meant, on which unit it multiplies, in which type, by its name and its counters."""

from __future__ import annotations

import re

from ..hardware.kernel_names import Implementation, TensorCores
from .model import ActivityFacts, RunFacts, VariantFacts

_ELEMENT_TYPE = re.compile(r"(?:^|_)(bf16|f16|f32)(?=_|$)")
_TYPE_NAMES = {"bf16": "bfloat16", "f16": "float16", "f32": "float32"}


def readable(facts: RunFacts) -> list[VariantFacts]:
    """Variants whose result is right and whose GPU activities are known, in their own order."""
    return [variant for variant in facts.variants.values() if variant.ok and variant.activities]


def kernels(variant: VariantFacts) -> tuple[ActivityFacts, ...]:
    """The kernels of one forward, in launch order; copies and memsets are none."""
    return tuple(activity for activity in variant.activities if activity.kind == "kernel")


def main_kernel(variant: VariantFacts | None) -> ActivityFacts | None:
    """The kernel that takes most of a forward's GPU time; `None` without kernels."""
    return max(kernels(variant), key=lambda kernel: kernel.duration, default=None) if variant else None


def matmuls(variant: VariantFacts) -> tuple[ActivityFacts, ...]:
    """The kernels that are a matrix product and nothing else, in launch order."""
    return tuple(kernel for kernel in kernels(variant) if kernel.role == "matmul")


def tensor_cores(kernel: ActivityFacts) -> TensorCores:
    """`yes`, `no` or `unknown`: by counted Tensor Core operations where there are any, else by the name."""
    if kernel.counters and kernel.counters.tensor_core_flop is not None:
        return "yes" if kernel.counters.tensor_core_flop > 0 else "no"
    return kernel.decoded.tensor_cores if kernel.decoded else "unknown"


def in_tf32(kernel: ActivityFacts) -> bool:
    """Whether a Tensor Core kernel's name says that it multiplies FP32 operands as TF32.

    Its ceiling is another than that of 16-bit types, and is not measured.
    """
    return tensor_cores(kernel) == "yes" and named_tf32(kernel)


def named_tf32(kernel: ActivityFacts) -> bool:
    """Whether the name says TF32, whatever was counted."""
    name = kernel.name.lower()
    return "tf32" in name or "tensorop_s1688gemm_" in name


def uses_tf32(variant: VariantFacts) -> bool:
    """Whether any kernel of a forward multiplies in TF32."""
    return any(in_tf32(kernel) for kernel in kernels(variant))


def tf32_setting(facts: RunFacts) -> str | None:
    """What `float32_matmul_precision` is in this run where it lets FP32 matmuls use TF32."""
    precision = facts.settings.get("float32_matmul_precision")
    return precision if facts.device.kind == "cuda" and precision not in (None, "highest") else None


def element_type(kernel: ActivityFacts) -> str | None:
    """The element type that the kernel's own name states (`bf16` → `bfloat16`), or `None` where it is silent."""
    for part in kernel.decoded.parts if kernel.decoded else ():
        found = _ELEMENT_TYPE.search(part.text)
        if found:
            return _TYPE_NAMES[found[1]]
    return None


def implementation(kernel: ActivityFacts | None) -> Implementation | None:
    """Which fused attention the kernel's name belongs to; `None` where it tells none."""
    return kernel.decoded.implementation if kernel and kernel.decoded else None


def known_family(kernel: ActivityFacts) -> str | None:
    """The family that the kernel's name tells, `None` where it tells none."""
    return kernel.decoded.family if kernel.decoded and kernel.decoded.known else None
