"""Measures what lies beside SDPA's backends: the same points, checks and rounds, with the fused backends in the same rounds."""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from variants.backends import BACKENDS

from ..shapes import Call, record
from . import extras, map_inputs, mapping, operands
from .map_clock import CpuClock, GpuClock
from .map_session import Work
from .processes import Report

LEFT_OUT = "math"
"""Far behind, and in the map."""


def measure(report: Report, plan: mapping.Plan) -> bool:
    """Hands over each point as it is done; true where all were. A point's extras that are absent are refused, with what to install."""
    with tempfile.TemporaryDirectory(prefix="extras-") as folder:  # compiled code of others' runs would hide what compiling costs
        os.environ.update(TORCHINDUCTOR_CACHE_DIR=folder, TRITON_CACHE_DIR=os.path.join(folder, "triton"))
        operands.start(plan.device)
        clock = GpuClock(plan.device) if operands.is_gpu(plan.device) else CpuClock()
        known = {name: extras.load(name) for name in extras.NAMES}
        away = {name: reason for name, extra in known.items() if (reason := extra.missing(plan.device))}
        for call in plan.calls:
            if time.monotonic() >= plan.until:
                return False
            report.result(call.id, _point(report, call, plan, clock, known, away))
    return True


def _point(report: Report, call: Call, plan: mapping.Plan, clock: Any, known: dict[str, extras.Extra], away: dict[str, str]) -> dict[str, Any]:
    dead = {choice: reason for name, choice, reason in plan.skip if name == call.id}

    def ways(tensors: map_inputs.Tensors) -> dict[str, mapping.Way]:
        pins = {name: way for name, way in mapping.pins(tensors).items() if name != LEFT_OUT}
        return pins | {name: mapping.Way(nullcontext, extras.runner(extra, tensors)) for name, extra in known.items() if name not in away}

    found = mapping.readings(report, call.id, call, partial(map_inputs.make, call, plan.device), plan, clock, dead, ways)
    found["readings"] += [{"backend": name, "state": "refused", "reason": f"{reason}; {known[name].INSTALL}"} for name, reason in away.items()]
    return {"call": asdict(call), **found}


def _there(file: Path) -> tuple[record.Header, set[Any]]:
    shape_map = record.read(file)
    return shape_map.header, set(shape_map.by_call)


def _lost(call: Call, reason: str) -> dict[str, Any]:
    readings = [{"backend": name, "state": "failed", "reason": reason} for name in extras.NAMES]
    return {"call": asdict(call), "picked": None, "readings": readings, "seconds": 0.0, "checked": [0, call.batch * call.kv_heads]}


EXTRAS = Work("extras", "points", measure, mapping.Plan, _there, _lost, choices=(*BACKENDS, *extras.NAMES))
