"""Older schema versions, brought into the form of the current one in memory. Recorded files stay as they are."""

from __future__ import annotations

from typing import Any, Mapping


def upgraded(whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """The content of `run.json` as the current schema has it. What does not look as it should is left for the decoder to refuse."""
    return {**whole, "probes": _probes(whole["probes"])} if isinstance(whole.get("probes"), dict) else whole


def _probes(probes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Schema 1 had the launches of the occupancy probe, or a reason in their place."""
    launches = probes.get("occupancy_probe")
    return {**probes, "occupancy_probe": {"launches": launches}} if isinstance(launches, list) else probes
