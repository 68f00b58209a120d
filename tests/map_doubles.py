"""Synthetic maps: points with times in microseconds, and what is told of a backend that has none."""

from __future__ import annotations

from typing import Any

from reportgen.analysis import maps
from reportgen.analysis.maps import MapFacts
from reportgen.run.model import DeviceRecord
from reportgen.shapes import Call
from reportgen.shapes.record import Header, Point, Reading, ShapeMap

US = 1e-6
STEADY = (1.0, 1.001, 0.999, 1.002, 0.998)
"""Rounds that spread by 0.4 %."""


def square(length: int, **more: Any) -> Call:
    """Batch × length is 4,096; 16 heads of 64, causal, bf16."""
    return Call(**{"batch": max(1, 4096 // length), "heads": 16, "kv_heads": 16, "queries": length, "keys": length, "head_dim": 64, "value_dim": 64, **more})


def reading(backend: str, told: float | str | tuple[float, ...], host: float | None = 20.0) -> Reading:
    """told: microseconds, those of each round, or a state: `refused`, `wrong`, `no memory`, `untimed`"""
    if told == "untimed":
        return Reading(backend, "ok", "its calls could not be queued in time, so its GPU time is not known", error=0.002, allowed=0.005, tensor="output")
    if told == "wrong":
        return Reading(backend, "wrong", error=0.4, allowed=0.005, tensor="gradient of q")
    if isinstance(told, str):
        return Reading(backend, told, f"{backend} said why not")  # type: ignore[arg-type]
    rounds = told if isinstance(told, tuple) else tuple(told * one for one in STEADY)
    return Reading(backend, "ok", gpu=tuple(value * US for value in rounds), host=() if host is None else (host * US,) * len(rounds), first=0.01, peak_bytes=2**20,
                   error=0.002, allowed=0.005, tensor="output")


def point(call: Call, picked: str | None, *, host: float | None = 20.0, **told: float | str | tuple[float, ...]) -> Point:
    return Point(call, picked, tuple(reading(name, value, host) for name, value in told.items()), 0.5, (3, call.batch * call.kv_heads))


def shape_map(*points: Point, kind: str = "cuda") -> ShapeMap:
    device = DeviceRecord(kind, "NVIDIA H200" if kind == "cuda" else "Some CPU", "nvidia-h200" if kind == "cuda" else "some-cpu")  # type: ignore[arg-type]
    return ShapeMap(Header(1, device, {"torch": "2.11.0+cu130", "cuda": "13.0", "cudnn": "9.19.0"}, recorded_on="2026-12-03", rounds=5), points)


def built(*points: Point, kind: str = "cuda") -> MapFacts:
    found = shape_map(*points, kind=kind)
    return maps.build(found, found.header.device.slug)
