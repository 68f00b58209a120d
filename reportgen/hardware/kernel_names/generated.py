"""Kernels that torch.compile writes with Triton."""

from __future__ import annotations

import re

from .shapes import KernelName, Part, TensorCores, shorten

INDUCTOR = "PyTorch source, torch/_inductor/codegen/triton.py"
_KINDS = {"poi": "pointwise: one operation after the other on every element", "red": "reduction in a loop over the row",
          "per": "persistent reduction: the row stays in registers", "mm": "matrix multiplication from a template",
          "tem": "from a template (matrix multiplication, attention)"}


def decode(name: str) -> KernelName | None:
    match = re.search(r"\btriton_(poi|red|per|mm|tem)(?![a-z0-9])_?(?:fused_)?(\w*)", name)
    if not match:
        return None
    kind, rest = match.groups()
    rest = rest.strip("_")
    multiplies = kind in ("mm", "tem") or re.search(r"(?:^|_)(?:b?mm|addmm|baddbmm|matmul|dot)(?:_|$)", rest) is not None
    cores: TensorCores = "unknown" if multiplies else "no"
    why = "a Triton template's name does not tell which units it uses" if multiplies else "torch.compile's pointwise and reduction kernels multiply no matrices"
    number = re.search(r"_(\d+)$", rest)
    fused = rest[: number.start()] if number else rest
    parts = [Part("triton", "written by torch.compile in Triton", INDUCTOR), Part(kind, _KINDS[kind], INDUCTOR)]
    if fused:
        parts.append(Part(fused, "the operations that were fused into it", INDUCTOR))
    if number:
        parts.append(Part(number.group(1), "running number", INDUCTOR))
    return KernelName(name, "Triton (torch.compile)", shorten(f"triton_{kind} {fused}".strip()), tuple(parts), cores, why)
