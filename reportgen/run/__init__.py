"""The recorded run: immutable evidence on disk, and its frozen form in memory.

A run is a folder `docs/runs/<device>/<workload>[+label]/` with `run.json` and one
`<variant>.trace.json.gz` per variant that ran. It is written atomically and never rewritten:
older schema versions are upgraded in memory, and what they did not record is `None`.
"""

from .conditions import PARTS, Clocks, ClockSample, Host, Look, LostPart, Noticed, Protocol, Shortened, recorded
from .correctness import CHOICES, DEFAULT, Compared, Correctness, Cured, OwnShape, Pick, ProbeRun, Tried
from .counters import Counters, KernelCounters
from .model import (
    QUANTITIES,
    RUN_FILE,
    SCHEMA_VERSION,
    STATUSES,
    Ceilings,
    DeviceRecord,
    MaskedRow,
    Run,
    Status,
    Training,
    VariantRun,
    slot_name,
)
from .probes import Autograd, Chains, DefaultBackend, MaskOp, MaskStep, MinimalRefusal, OccupancyProbe, ProbeLaunch, Probes
from .read import discover, from_json, load
from .write import save, write_trace

__all__ = [
    "CHOICES", "DEFAULT", "Compared", "Correctness", "Cured", "OwnShape", "Pick", "ProbeRun", "Tried",
    "PARTS", "QUANTITIES", "RUN_FILE", "SCHEMA_VERSION", "STATUSES", "Autograd", "Ceilings", "Chains", "ClockSample", "Clocks", "Counters", "DefaultBackend",
    "DeviceRecord", "Host", "KernelCounters", "Look", "LostPart", "MaskOp", "MaskStep", "MaskedRow", "MinimalRefusal", "Noticed", "OccupancyProbe", "ProbeLaunch", "Probes",
    "Protocol", "Run", "Shortened",
    "Status", "Training", "VariantRun", "discover", "from_json", "load", "recorded", "save", "slot_name", "write_trace",
]  # fmt: skip
