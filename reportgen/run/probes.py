"""Small experiments beside the variants, each with what it found or the reason why it found nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..numbers.statistics import Estimate
from .ranges import Amount, Count, Extent, Few, Percentage, Times, Triple


@dataclass(frozen=True)
class DefaultBackend:
    """The SDPA backend that runs when nothing is pinned: `flash`, and the op that was seen."""

    name: str | None = None
    op: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class MinimalRefusal:
    """The few lines in which an in-place mask breaks the backward pass. message: torch's, where it refused."""

    refused: bool
    code: str = ""
    message: str | None = None


@dataclass(frozen=True)
class Autograd:
    """Masking in place and the backward pass.

    gradients_equal: naive and in place give the same gradients bit for bit; `None` if one refused
    relative_difference: the largest of the three ‖difference‖ ÷ ‖gradient‖
    inplace_backward: whether the backward pass ran, with torch's `reason` where it did not
    """

    gradients_equal: bool | None = None
    relative_difference: Amount | None = None
    inplace_backward: Literal["ok", "refused"] | None = None
    reason: str | None = None
    minimal_refusal: MinimalRefusal | None = None


@dataclass(frozen=True)
class ProbeLaunch:
    """One launch of a kernel that does nothing. shared_memory: bytes; profiler_occupancy: percent, as written."""

    name: str
    launch_api: str
    shared_memory: Count | None = None
    profiler_occupancy: Percentage | None = None
    grid: Triple | None = None
    block: Triple | None = None
    registers: Few | None = None


@dataclass(frozen=True)
class OccupancyProbe:
    """Which of two kernels, launched in two ways, the profiler gives an occupancy of 0 (`capture.occupancy_probe`)."""

    launches: tuple[ProbeLaunch, ...] = ()
    reason: str | None = None


@dataclass(frozen=True)
class Chains:
    """Forwards in a row, the output of one being the queries of the next.

    layers: how many forwards a chain has, for each that was timed
    naive, naive_inplace: layers as text → seconds of the whole chain, one value per process
    """

    layers: tuple[Extent, ...] = ()
    timer: str | None = None
    naive: Mapping[str, Times] = field(default_factory=dict)
    naive_inplace: Mapping[str, Times] = field(default_factory=dict)
    reason: str | None = None

    @property
    def timed(self) -> bool:
        return bool(self.layers and self.naive and self.naive_inplace)

    def time(self, variant: str, layers: int) -> Estimate:
        """Seconds of the chain of so many forwards of `naive` or `naive_inplace`."""
        return {"naive": self.naive, "naive_inplace": self.naive_inplace}[variant][str(layers)]


@dataclass(frozen=True)
class MaskOp:
    """One elementwise op on the score matrix, timed alone.

    requested_bytes: every element of its operands read once, every one that it writes written once
    gpu_time: seconds, one value per process
    kernel: the name of the kernel that it launches, as the profiler saw it; grid, block, registers: of that launch
    """

    requested_bytes: Count | None = None
    gpu_time: Times | None = None
    kernel: str | None = None
    grid: Triple | None = None
    block: Triple | None = None
    registers: Few | None = None


@dataclass(frozen=True)
class MaskStep:
    """What the mask step costs with a mask that is broadcast, and with one of full size (`capture.mask_step`).

    ops: name (`broadcast`, `full`, `mul`) → what was found; note: what a reader must know of how the times were taken
    """

    ops: Mapping[str, MaskOp] = field(default_factory=dict)
    timer: str | None = None
    note: str | None = None
    reason: str | None = None

    @property
    def timed(self) -> bool:
        return all(name in self.ops and self.ops[name].gpu_time is not None for name in ("broadcast", "full", "mul"))


@dataclass(frozen=True)
class Probes:
    """What each probe found; `None` where the run does not have it.

    traces_missing: variant that ran → why it has no trace
    """

    default_backend: DefaultBackend | None = None
    autograd: Autograd | None = None
    occupancy_probe: OccupancyProbe | None = None
    saving_accumulates: Chains | None = None
    mask_step: MaskStep | None = None
    traces_missing: Mapping[str, str] = field(default_factory=dict)
