"""Facts and outcomes as one JSON object for other tools: times in microseconds, sizes in bytes, `null` for unknown.

The shape is versioned apart from the run's own schema: `SCHEMA_VERSION` rises when a field changes
its meaning or goes away, not when one is added.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from ..analysis import ActivityFacts, RunFacts, State, VariantFacts, correctness
from ..analysis import traffic as traffic_room
from ..analysis.correctness import masked_gradients, own_gradients
from ..numbers import quantities
from ..numbers.statistics import Estimate
from ..questions import caveats
from ..questions.model import Outcome
from ..readings import answers

SCHEMA_VERSION = 1


def to_json(facts: RunFacts, outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """The object that `python -m reportgen facts RUN --json` prints."""
    workload = facts.workload.to_json()
    return {
        "schema_version": SCHEMA_VERSION,
        "slot": facts.slot,
        "older": facts.older,
        "label": facts.label,
        "device": asdict(facts.device),
        "software": dict(facts.software),
        "settings": dict(facts.settings),
        "workload": workload,
        "ceilings": _ceilings(facts),
        "counters_tool": facts.counters_tool,
        "counters_reason": facts.counters_reason,
        **_needs(facts),
        "quantities": {name: {"label": quantity.label, "unit": quantity.unit, "origin": quantity.origin, "decides": list(quantity.decides), "has_floor": quantity.has_floor}
                       for name, quantity in quantities.QUANTITIES.items()},
        "noticed": [asdict(notice) for notice in facts.noticed],
        "lost": [asdict(part) for part in facts.lost],
        "host_time": {"launches_wait": list(facts.launches_wait), "watched_by": None if facts.watched_by is None else list(facts.watched_by)},
        "caveats": list(caveats.all_said(facts)),
        "correctness": _correctness(facts),
        "variants": {name: _variant(facts, variant) for name, variant in facts.variants.items()},
        "claims": {claim: {"verdict": outcome.verdict, "case": outcome.case, "headline": outcome.headline,
                           "because": list(outcome.because), "caveats": list(outcome.caveats), "advice": [piece.text for piece in outcome.pieces]}
                   for claim, outcome in outcomes.items()},
        "readings": {name: {"case": said.case, "sentence": said.headline, "because": list(said.because), "caveats": list(said.caveats)}
                     for name, said in answers(facts).items()},
    }


def _correctness(facts: RunFacts) -> dict[str, Any] | None:
    """Every probe that this program knows with what came out, which calls are unsafe, what torch picks; `null` where nothing was tried."""
    if not facts.watch.taken:
        return None
    return {
        "unsafe_unpinned": [sorted(need.name for need in needs) for needs in correctness.unsafe_needs(facts)],
        "probes": {one.probe.id: {"kind": one.probe.kind.name.lower(), "title": one.probe.title, "reports": [{"name": report.name, "url": report.url} for report in one.probe.reports],
                                  "needs": sorted(need.name for need in one.probe.needs), "standing": one.standing.name.lower(), "avoid": one.probe.avoid,
                                  "cure": {"words": one.probe.cure.words, "code": one.probe.cure.code, "healing": one.healing.name.lower()} if one.probe.cure else None,
                                  **(asdict(one.run) if one.run else {"tried": None})} for one in facts.watch.probes},
        "picks": [asdict(pick) for pick in facts.watch.picks],
    }


def _ceilings(facts: RunFacts) -> dict[str, Any] | None:
    """The measured ceilings; the matmul's also under its type (`bf16_flop_per_s`)."""
    if facts.ceilings is None:
        return None
    short = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}[facts.workload.dtype]
    return {**asdict(facts.ceilings), f"{short}_flop_per_s": facts.ceilings.matmul_flop_per_s} | (
        {"fp32_flop_per_s": facts.ceilings.fp32_flop_per_s})


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1e6, 4)


def _estimate(value: Estimate | None) -> dict[str, float | int | None] | None:
    if value is None:
        return None
    return {"median": _us(value.median), "low": _us(value.low), "high": _us(value.high), "samples": len(value.samples)}


def _variant(facts: RunFacts, variant: VariantFacts) -> dict[str, Any]:
    return {
        "title": variant.title,
        "named": variant.named,
        "status": "ok" if variant.ok else "failed" if variant.state in (State.WRONG, State.FAILED) else "unavailable",
        "state": variant.state.value,
        "lost": {lost.what: lost.reason for lost in variant.lost},
        "reason": variant.reason,
        "kernels": variant.kernels,
        "memcpys": variant.memcpys,
        "memsets": variant.memsets,
        "ops": variant.op_count,
        "transposes": variant.transposes,
        **{f"{quantity.name}_us": _estimate(variant.time(quantity.name)) for quantity in quantities.times()},
        "peak_memory_bytes": variant.peak_memory_bytes,
        "relative_error": variant.relative_error,
        "allowed_error": variant.allowed_error,
        "masked_row": asdict(variant.masked_row) if variant.masked_row else None,
        "training": _training(variant),
        "own_mask": _own_mask(variant),
        "marks": [one.probe.id for one in correctness.marks(facts, variant.id)],
        **_counted(facts, variant),
        "activities": [_activity(activity) for activity in variant.activities],
    }


def _needs(facts: RunFacts) -> dict[str, Any]:
    """What any implementation must move and compute, and the time that the measured ceilings allow for it."""
    best = traffic_room.best(facts)
    return {"operand_bytes": facts.workload.operand_bytes, "needed_flop": traffic_room.needed_flop(facts), "full_flop": facts.workload.full_flop,
            "best_time_us": _us(best.time) if best else None}


def _counted(facts: RunFacts, variant: VariantFacts) -> dict[str, Any]:
    """What hardware counters saw of one forward; the bytes of copies and memsets are the trace's."""
    moved, doubt = traffic_room.forward_traffic(variant), traffic_room.why_no_ratio(facts)
    return {
        "counters_reason": variant.counters_reason,
        "dram_bytes": moved.total if moved else None,
        "dram_read_bytes": moved.read if moved else None,
        "dram_written_bytes": moved.written if moved else None,
        "dram_bytes_from_trace": moved.from_trace if moved else None,
        "dram_per_operand_byte": traffic_room.operand_ratio(facts, variant),
        "dram_per_operand_byte_reason": doubt.value if moved and doubt else None,
        "tensor_core_flop": traffic_room.tensor_core_flop(variant),
        "flop_per_dram_byte": traffic_room.intensity(variant),
    }


def _training(variant: VariantFacts) -> dict[str, Any] | None:
    training = variant.training
    if training is None:
        return None
    return {"status": training.status, "reason": training.reason, "gpu_time_us": _estimate(training.gpu_time),
            "wall_time_us": _estimate(training.wall_time), "kernels": training.kernels, "peak_memory_bytes": training.peak_memory_bytes,
            "gradients": own_gradients(variant).value, "compared": [asdict(one) for one in training.compared]}


def _own_mask(variant: VariantFacts) -> dict[str, Any] | None:
    """Output and gradients under the variant's mask given as a mask."""
    return {**asdict(variant.own_mask), "gradients": masked_gradients(variant).value} if variant.own_mask else None


def _activity(activity: ActivityFacts) -> dict[str, Any]:
    counted, resident, moved = activity.counters, activity.occupancy, traffic_room.activity_traffic(activity)
    return {
        "kind": activity.kind,
        "name": activity.name,
        "role": activity.role,
        "op": activity.op,
        "op_path": list(activity.op_path),
        "launch_api": activity.launch_api,
        "duration_us": _us(activity.duration),
        "bytes": activity.bytes,
        "requested_bytes": activity.requested_bytes,
        "flop": activity.flop,
        "grid": list(activity.grid) if activity.grid else None,
        "block": list(activity.block) if activity.block else None,
        "registers_per_thread": activity.registers,
        "shared_memory_bytes": activity.shared_memory,
        "family": activity.decoded.family if activity.decoded else None,
        "tensor_cores": activity.decoded.tensor_cores if activity.decoded else None,
        "dram_bytes": moved.total if moved else None,
        "dram_read_bytes": moved.read if moved else None,
        "dram_written_bytes": moved.written if moved else None,
        "dram_bytes_from": None if moved is None else "trace" if moved.from_trace else "counters",
        "l2_bytes": counted.l2_bytes if counted else None,
        "tensor_core_flop": counted.tensor_core_flop if counted else None,
        "occupancy": {
            "theoretical_pct": resident.theoretical if resident else None,
            "resident_blocks": resident.resident_blocks if resident else None,
            "resident_warps": resident.resident_warps if resident else None,
            "limiters": list(resident.limiters) if resident else None,
            "profiler_pct": activity.profiler_occupancy,
            "counted_theoretical_pct": counted.theoretical_pct if counted else None,
            "achieved_pct": counted.achieved_pct if counted else None,
        } if activity.kind == "kernel" else None,
    }
