"""PyTorch's own kernels: elementwise operations, reductions, softmax, triangular masks."""

from __future__ import annotations

import re

from .shapes import KernelName, Part, shorten

LOOPS = "PyTorch source, aten/src/ATen/native/cuda/CUDALoops.cuh"
SOURCE = "PyTorch source, aten/src/ATen/native/cuda"
TYPES = {"c10::BFloat16": "bf16", "c10::Half": "fp16", "float": "fp32", "double": "fp64", "bool": "bool"}

_LOOPS = {
    "vectorized_elementwise_kernel": "one operation on every element, with wide loads and stores",
    "unrolled_elementwise_kernel": "one operation on every element, unrolled, where wide loads do not fit (a cast, for instance)",
    "elementwise_kernel": "one operation on every element, with index arithmetic for each (broadcast or strided operands)",
    "legacy_elementwise_kernel": "one operation on every element, with index arithmetic for each",
    "elementwise_kernel_manual_unroll": "one operation on every element, with index arithmetic for each, unrolled by hand (ROCm)",
    "elementwise_kernel_with_index": "fills each element from its own index",
}
_SOFTMAX = {
    "softmax_warp_forward": "softmax of short rows (at most 1,024), each by one warp, in registers",
    "cunn_SoftMaxForward": "softmax of long rows, each by one block",
    "cunn_SoftMaxForwardSmem": "softmax of long rows, each by one block, kept in shared memory",
    "cunn_SoftMaxForwardReg": "softmax of long rows, each by one block, kept in registers",
    "cunn_SoftMaxForwardGmem": "softmax of long rows, each by one block, re-read from global memory",
    "cunn_SpatialSoftMaxForward": "softmax along a dimension that is not the last",
}


def decode(name: str) -> KernelName | None:
    flat = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("<unnamed>::", "").replace("at::native::", "").replace("at::", "")
    function = re.match(r"\w+(?:::\w+)*", flat)
    base = function.group(0).rsplit("::", 1)[-1] if function else ""
    if base in _LOOPS:
        return _elementwise(name, flat, base)
    parts: tuple[Part, ...]
    if base == "reduce_kernel":
        what = operation(flat) or "reduction"
        parts = (Part(base, "combines many elements into one", SOURCE), Part(what, "the operation", SOURCE))
        return KernelName(name, "ATen reduction", shorten(f"{'all' if what == 'and' else what} (reduce)"), parts, "no", "a reduction adds or compares; it multiplies no matrices")
    if base in _SOFTMAX:
        types = re.search(r"<\s*(?:\(int\))?(?:\d+, )?([\w:]+), ([\w:]+), ([\w:]+)", flat)
        roles = ("input", "output", "accumulation") if base == "softmax_warp_forward" else ("input", "accumulation", "output")
        parts = (Part(base, _SOFTMAX[base], f"{SOURCE}/SoftMax.cu"), *_softmax_types(types, roles))
        return KernelName(name, "ATen softmax", shorten(base), parts, "no", "exponentials and sums on CUDA cores; no matrix instruction")
    if base == "triu_tril_kernel":
        parts = (Part(base, "keeps one triangle of a matrix and zeroes the other", SOURCE),)
        element = re.search(r"triu_tril_kernel<([\w:]+)", flat)
        if element and element.group(1) in TYPES:
            parts += (Part(element.group(1), f"element type {TYPES[element.group(1)]}", SOURCE),)
        return KernelName(name, "ATen triangular mask", "triu_tril", parts, "no", "it only copies or zeroes elements")
    return None


def _softmax_types(types: re.Match[str] | None, roles: tuple[str, str, str]) -> tuple[Part, ...]:
    if not types:
        return ()
    return tuple(Part(text, f"type of the {role}", f"{SOURCE}/SoftMax.cu") for text, role in zip(types.groups(), roles))


def _elementwise(name: str, flat: str, base: str) -> KernelName:
    what = operation(flat)
    parts = [Part(base, _LOOPS[base], LOOPS)]
    width = re.search(re.escape(base) + r"<(?:\(int\))?(\d+)(?:, (?:\(int\))?(\d+))?", flat)
    if width and base == "vectorized_elementwise_kernel":
        parts.append(Part(width.group(1), "elements per load", LOOPS))
    elif width and width.group(2):
        parts += [Part(width.group(1), "threads per block", LOOPS), Part(width.group(2), "elements per thread", LOOPS)]
    if what:
        parts.append(Part(what, "the operation", SOURCE))
    for text in element_types(flat):
        parts.append(Part(text, f"element type {TYPES.get(text, text)}", SOURCE))
    loop = base.removesuffix("_kernel")
    return KernelName(name, "ATen elementwise", shorten(f"{_spoken(what, flat)} ({loop})"), tuple(parts), "no", "one element per lane on CUDA cores; no matrix instruction")


def _spoken(what: str | None, flat: str) -> str:
    if what is None:
        return "elementwise"
    if what in ("bfloat16_copy", "float16_copy"):
        return "cast to bf16" if what.startswith("b") else "cast to fp16"
    if what == "direct_copy":
        return "cast" if "LoadWithCast" in flat else "copy"
    if what == "Fill":
        types = element_types(flat)
        return f"fill {TYPES.get(types[0], types[0])}" if types else "fill"
    return what


def operation(flat: str) -> str | None:
    """The operation that a templated loop applies: `mul`, `masked_fill`, `where`, `direct_copy`, `and`, …"""
    # The host function whose lambda is the loop's body.
    host = re.search(r"(\w+?)_kernel(?:_impl|_cuda)*\s*\(\s*(?:at::)?(?:native::)?TensorIterator", flat)
    if host:
        return host.group(1)
    functor = re.search(r"CUDAFunctor_(\w+?)<|CUDAFunctorOn\w+_(\w+?)<", flat)
    if functor:
        return functor.group(1) or functor.group(2)
    for found in re.findall(r"(\w+?)Functor<", flat):
        if found not in ("AUnary", "BUnary", "Binary", "Unary", "BitwiseUnary"):
            return str(found) if found == "Fill" else str(found).lower()
    ops = re.search(r"(\w+?)Ops<", flat)
    return ops.group(1).lower() if ops else None


def element_types(flat: str) -> tuple[str, ...]:
    """Types of the operands as the template writes them, without repetition."""
    for body in re.finditer(r"lambda\(([^()]+)\)|(?:AUnaryFunctor|BUnaryFunctor|BinaryFunctor|FillFunctor|CUDAFunctor_\w+)<([^<>]+?)(?:,\s*binary_internal|>)", flat):
        types = tuple(dict.fromkeys(text for text in (piece.strip() for piece in (body.group(1) or body.group(2)).split(",")) if text in TYPES))
        if types:
            return types
    return ()
