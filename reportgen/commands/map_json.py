"""A device's map as one JSON object for other tools: times in microseconds, shares of the fastest time, `null` for unknown."""

from __future__ import annotations

from dataclasses import asdict
from statistics import median
from typing import Any

from ..analysis import policy
from ..analysis.map_series import crossovers, length, series
from ..analysis.maps import MapFacts, Spot
from ..shapes.record import Reading


def to_json(facts: MapFacts) -> dict[str, Any]:
    """What `facts --json` has under `map`."""
    return {
        "software": dict(facts.header.software), "recorded_on": facts.header.recorded_on, "rounds": facts.header.rounds, "floor": facts.floor, "threshold": facts.threshold,
        "default_takes_longer": {"mean": facts.regret, "worst": max((spot.loss for spot in facts.spots if spot.loss is not None), default=None)},
        "points": [_point(spot) for spot in facts.spots],
        "crossovers": [{"from": one.before.winner, "at": length(one.before.call), "to": one.after.winner, "by": length(one.after.call), "calls": [one.before.call.id, one.after.call.id]}
                       for one in crossovers(series(facts))],
        "policy": [{"calls": [spot.call.id for spot in rule.evidence.spots], "backends": list(rule.order)} for rule in policy.build(facts).rules],
    }


def _point(spot: Spot) -> dict[str, Any]:
    return {
        "id": spot.call.id, **asdict(spot.call), "flop": spot.call.flop, "standing": spot.standing.name.lower(), "leaders": list(spot.leaders), "margin": spot.margin,
        "torch_picks": spot.point.picked, "default": spot.default.name.lower(), "default_takes_longer": spot.loss, "host_is_the_limit": spot.host_bound,
        "checked": list(spot.point.checked), "backends": {reading.backend: reading_json(reading) for reading in spot.point.readings},
    }


def reading_json(reading: Reading) -> dict[str, Any]:
    return {"state": reading.state, "reason": reading.reason, "gpu_time_us": _us(reading.gpu), "host_time_us": _us(reading.host), "rounds": len(reading.gpu),
            "first_us": None if reading.first is None else round(reading.first * 1e6, 4), "peak_memory_bytes": reading.peak_bytes, "relative_error": reading.error,
            "allowed_error": reading.allowed, "tensor": reading.tensor}


def _us(values: tuple[float, ...]) -> float | None:
    return round(median(values) * 1e6, 4) if values else None
