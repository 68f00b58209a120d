"""SDPA's backends: what each is called, how it is pinned, and the op that shows in a trace that it ran."""

from __future__ import annotations

from dataclasses import dataclass

from reportgen.hardware.attention_ops import DISPATCHED, SDPA_OP
from reportgen.hardware.attention_ops import Backend as Ran

__all__ = ["BACKENDS", "BY_OP", "SDPA_OP", "Backend", "title"]


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
    "math": Backend("math", "MATH", (DISPATCHED[Ran.MATH],)),
    "efficient": Backend("efficient", "EFFICIENT_ATTENTION", (DISPATCHED[Ran.EFFICIENT],)),
    "flash": Backend("flash", "FLASH_ATTENTION", (DISPATCHED[Ran.FLASH], DISPATCHED[Ran.CPU_FLASH])),
    "cudnn": Backend("cuDNN", "CUDNN_ATTENTION", (DISPATCHED[Ran.CUDNN],)),
}
"""Our name of a backend → the backend. A variant that is pinned to one has it as `BACKEND`, and is called `sdpa_<name>`."""

BY_OP = {op: name for name, backend in BACKENDS.items() for op in backend.ops} | {DISPATCHED[Ran.OVERRIDEABLE]: "overrideable"}
"""Op → name of the backend that dispatches it; the last is what a device of another vendor puts in, and no variant pins it."""


def title(name: str) -> str:
    """As sentences call the backend of that name; the name itself where it is none of ours."""
    return BACKENDS[name].title if name in BACKENDS else name

