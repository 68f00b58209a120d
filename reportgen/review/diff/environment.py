"""What surrounds the two runs: device, software, settings, host, workload."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from ...analysis import RunFacts
from ...run import recorded
from ...run.noise import other_settings, other_software, switches
from ...saying.units import Bytes
from .model import EnvironmentChange, Part

_DEVICE = {"name": "device", "gfx": "architecture", "compute_capability": "compute capability", "sm_count": "SMs", "memory_bytes": "memory", "l2_cache_bytes": "last-level cache",
           "mig_profile": "MIG profile", "ecc": "ECC", "power_limit_watts": "power limit (W)"}
_PROTOCOL = ("processes", "rounds", "start_method", "timer", "input_sets", "settle_seconds")
_TOLERANCE_WATTS = 1.0
"""Drivers report a limit with a fraction of a watt that moves; the slot's name uses the same margin."""


def environment(old: RunFacts, new: RunFacts) -> tuple[EnvironmentChange, ...]:
    """Differences, device first. What only one side recorded is shown and is no new baseline."""
    changes = [*_device(old, new)]
    if old.label != new.label:
        changes.append(EnvironmentChange("label", "label", "label", old.label, new.label, False))
    if old.workload.describe() != new.workload.describe():
        changes.append(EnvironmentChange("workload", "workload", "workload", old.workload.describe(), new.workload.describe(), True))
    changes += _mapping("software", old.software, new.software, other_software(old.software, new.software))
    decisive = other_settings(old.settings, new.settings, new.device.kind)
    changes += _mapping("setting", switches(old.settings), switches(new.settings), decisive)
    changes += _mapping("host", recorded(old.host), recorded(new.host), ())
    before, after = ({name: getattr(run.protocol, name) for name in _PROTOCOL} for run in (old, new))
    changes += _mapping("protocol", before, after, ())
    return tuple(changes)


def _device(old: RunFacts, new: RunFacts) -> list[EnvironmentChange]:
    changes = []
    for name, label in _DEVICE.items():
        before, after = getattr(old.device, name), getattr(new.device, name)
        if name == "power_limit_watts" and before is not None and after is not None and abs(before - after) <= _TOLERANCE_WATTS:
            continue
        if before != after:
            # Memory as the driver reports it moves by a few MiB between driver versions.
            sized = name.endswith("_bytes")
            show = (lambda value: str(Bytes(value))) if sized else str
            one, other = (None if value is None else show(value) for value in (before, after))
            changes.append(EnvironmentChange("device", name, label, one, other, not sized and before is not None and after is not None))
    return changes


def _mapping(part: Part, old: Mapping[str, Any], new: Mapping[str, Any], decisive: Collection[str]) -> list[EnvironmentChange]:
    names = [*old, *(name for name in new if name not in old)]
    return [EnvironmentChange(part, name, name if part == "software" else f"{part} {name}", _text(old.get(name)), _text(new.get(name)), name in decisive)
            for name in names if old.get(name) != new.get(name)]


def _text(value: Any) -> str | None:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return None if value is None else str(value)
