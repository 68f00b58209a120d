"""The frozen form of a recorded run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal, get_args

from ..numbers import quantities
from . import names
from .conditions import Clocks, Host, LostPart, Noticed, Protocol
from .correctness import Compared, Correctness, OwnShape
from .counters import Counters
from .probes import Probes
from .ranges import Amount, Capability, Count, Extent, Few, Known, Line, Rate, Seconds, Setting, Times, Watts
from .workload import Workload

SCHEMA_VERSION = 2
RUN_FILE = "run.json"
QUANTITIES = quantities.recorded()
Status = Literal["ok", "wrong", "unavailable", "failed", "not-tried"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True)
class DeviceRecord:
    """The device as the run saw it.

    kind: `cuda`, `rocm` or `cpu`
    name: as the driver gives it; in words where it gives none
    slug: the folder below `docs/runs/` (see `device_slug`)
    compute_capability: `9.0`; `None` on a CPU and on ROCm
    gfx: ROCm's name of the architecture (`gfx942`), else `None`
    memory_bytes, l2_cache_bytes: bytes; on a CPU the last-level cache, where known
    power_limit_watts, default_power_limit_watts: W, from NVML: the limit that is set, not the one enforced at the moment
    mig_profile: `1g.18gb`, or `None` where MIG is off
    """

    kind: Literal["cuda", "rocm", "cpu"]
    name: Line
    slug: str
    compute_capability: Capability | None = None
    sm_count: Extent | None = None
    memory_bytes: Count | None = None
    l2_cache_bytes: Count | None = None
    power_limit_watts: Watts | None = None
    default_power_limit_watts: Watts | None = None
    mig_profile: str | None = None
    ecc: bool | None = None
    gfx: str | None = None


@dataclass(frozen=True)
class Ceilings:
    """Rates this run reached with plain large work; medians over repetitions, per second.

    copy_bytes_per_s: device copy, bytes read plus bytes written
    matmul_flop_per_s: square matmul on random data in the workload's dtype
    fp32_flop_per_s: the same in fp32 with TF32 off
    copy_bytes, matmul_size: what was run
    """

    copy_bytes_per_s: Rate | None = None
    matmul_flop_per_s: Rate | None = None
    fp32_flop_per_s: Rate | None = None
    copy_bytes: Count | None = None
    matmul_size: Extent | None = None


@dataclass(frozen=True)
class MaskedRow:
    """What came out for a query row whose every key is masked.

    outcome: `other` is finite and not all zero
    reason: torch's words where it refused
    """

    outcome: Literal["nan", "infinite", "zeros", "other", "refused", "takes-no-mask"]
    reason: str | None = None


@dataclass(frozen=True)
class Training:
    """One forward and backward of a variant.

    gpu_time: seconds per forward + backward, one value per repetition, or `None` on a CPU
    wall_time: seconds, likewise
    kernels: GPU kernels of one forward + backward
    peak_memory_bytes: above the inputs
    compared: the three gradients beside FP64; `wrong`: one of them is off
    """

    status: Literal["ok", "wrong", "unavailable", "failed"]
    reason: str | None = None
    gpu_time: Times | None = None
    wall_time: Times | None = None
    kernels: Few | None = None
    peak_memory_bytes: Count | None = None
    compared: tuple[Compared, ...] = ()


@dataclass(frozen=True)
class VariantRun:
    """One variant's samples and trace, or the reason why there are none.

    source: the variant's file as it was when the run was recorded
    prediction: the steps one would expect, as `(step, what it is)` (see `variants`)
    status: `wrong` ran, and its error is above the allowed one or its output is not finite; `unavailable`:
        torch has no such kernel here; `failed`: it broke off; `not-tried`: nobody asked for it. What is
        not `ok` has a `reason` as a rule
    samples: quantity → one value per fresh process, seconds
    timer: how GPU time was taken: `cuda-graph`, `queued-events`, or `None` without a GPU
    trace_path: absolute path of the gzipped Kineto trace, or `None`
    relative_error, allowed_error: ‖out − ref‖ ÷ ‖ref‖ against FP64, and the most that is accepted
    own_mask: the same attention with its causal mask given as a mask, forward and backward
    """

    id: str
    title: Line
    status: Status
    reason: str | None = None
    source: str = ""
    prediction: tuple[tuple[str, str], ...] = ()
    named: bool = True
    samples: Mapping[Annotated[str, Known(QUANTITIES)], Times] = field(default_factory=dict)
    timer: str | None = None
    timer_note: str | None = None
    trace_path: Path | None = None
    peak_memory_bytes: Count | None = None
    relative_error: Amount | None = None
    allowed_error: Amount | None = None
    masked_row: MaskedRow | None = None
    own_mask: OwnShape | None = None
    training: Training | None = None


@dataclass(frozen=True)
class Run:
    """One recorded run.

    settings: switches that change results (TF32, determinism, …), name → value; `environment` holds the
        environment variables that were set
    ceilings: `None` where they were not measured
    counters: hardware counters per variant, or `None`; `counters_reason` says why there are none
    phases: seconds that each phase of the capture took
    correctness: public reports of wrong results, tried here (see `reportgen/probes`)
    noticed: what kept the run from being whole before it began; empty as well where it was not recorded
    lost: parts of the evidence that could not be taken, with the reason
    edited: files that are not as they were saved (see `seal`); `None` for a run without a seal
    """

    path: Path
    schema_version: Count
    recorded_on: str
    device: DeviceRecord
    software: Mapping[str, str | None]
    host: Host
    settings: Mapping[str, Setting | Mapping[str, str]]
    workload: Workload
    label: str | None
    protocol: Protocol
    variants: Mapping[str, VariantRun]
    ceilings: Ceilings | None = None
    clocks: Clocks = Clocks()
    probes: Probes = Probes()
    correctness: Correctness = Correctness()
    phases: Mapping[str, Seconds] = field(default_factory=dict)
    counters: Counters | None = None
    counters_reason: str | None = None
    noticed: tuple[Noticed, ...] = ()
    lost: tuple[LostPart, ...] = ()
    edited: tuple[str, ...] | None = None

    @property
    def older(self) -> bool:
        """Recorded by an older version, so what it lacks may not have been measured yet when it was recorded."""
        return self.schema_version < SCHEMA_VERSION

    @property
    def slot(self) -> str:
        """`<device>/<workload>[+label]`, the run's place below `docs/runs/`."""
        return slot_name(self.device.slug, self.workload.name, self.label)


def slot_name(device_slug: str, workload_name: str, label: str | None) -> str:
    """A run's place below `docs/runs/`. Raises `RunInvalid` for a name that is no folder's (see `names`)."""
    return names.slot(device_slug, workload_name, label)
