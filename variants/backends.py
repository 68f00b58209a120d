"""SDPA's backends: what each is called, how it is pinned, and the op that shows in a trace that it ran."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Backend:
    """title: as sentences call it; member: of `torch.nn.attention.SDPBackend`
    ops: by whole name, what it alone dispatches, the GPU's first; flash has another on a CPU
    """

    title: str
    member: str
    ops: tuple[str, ...]

    @property
    def pin(self) -> str:
        """What `sdpa_kernel(…)` is given to hold SDPA to it."""
        return f"SDPBackend.{self.member}"


BACKENDS = {
    "math": Backend("math", "MATH", ("aten::_scaled_dot_product_attention_math",)),
    "efficient": Backend("efficient", "EFFICIENT_ATTENTION", ("aten::_scaled_dot_product_efficient_attention",)),
    "flash": Backend("flash", "FLASH_ATTENTION", ("aten::_scaled_dot_product_flash_attention", "aten::_scaled_dot_product_flash_attention_for_cpu")),
    "cudnn": Backend("cuDNN", "CUDNN_ATTENTION", ("aten::_scaled_dot_product_cudnn_attention",)),
}
"""Our name of a backend → the backend. A variant that is pinned to one has it as `BACKEND`, and is called `sdpa_<name>`."""

BY_OP = {op: name for name, backend in BACKENDS.items() for op in backend.ops} | {"aten::_scaled_dot_product_fused_attention_overrideable": "overrideable"}
"""Op → name of the backend that dispatches it; the last is what a device of another vendor puts in, and no variant pins it."""


def title(name: str) -> str:
    """As sentences call the backend of that name; the name itself where it is none of ours."""
    return BACKENDS[name].title if name in BACKENDS else name


SDPA_OP = "aten::scaled_dot_product_attention"
"""The one call, whatever runs below it."""
