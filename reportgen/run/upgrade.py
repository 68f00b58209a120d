"""Older schema versions, brought into the form of the current one in memory. Recorded files stay as they are.

What does not look as it should is passed on as it is, for the decoder to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .model import SCHEMA_VERSION

Whole = Mapping[str, Any]

NOT_TRIED_IN_1 = ("not asked for in this run", "compiling takes longer than the rest of a CPU run; ask for this variant by name to have it")
"""The reasons with which schema 1 recorded a variant that nobody tried as `unavailable`."""
WRONG_IN_1 = "wrong result: "
"""How the reason began with which schema 1 recorded a wrong result as `failed`."""


def upgraded(whole: Whole) -> Whole:
    """The content of `run.json` as the current schema has it; `schema_version` stays the recorded one."""
    for version in range(whole["schema_version"], SCHEMA_VERSION):
        whole = _UPGRADES[version](whole)
    return whole


def _from_1(whole: Whole) -> Whole:
    """Schema 1 had no word for a wrong result nor for a variant that was not tried, and the occupancy probe's launches without a name."""
    probes, variants = whole.get("probes"), whole.get("variants")
    return {**whole, **({"probes": _probes(probes)} if isinstance(probes, dict) else {}),
            **({"variants": {name: _variant(entry) for name, entry in variants.items()}} if isinstance(variants, dict) else {})}


def _probes(probes: Mapping[str, Any]) -> Mapping[str, Any]:
    launches = probes.get("occupancy_probe")
    return {**probes, "occupancy_probe": {"launches": launches}} if isinstance(launches, list) else probes


def _variant(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    status, reason = entry.get("status"), entry.get("reason")
    if status == "unavailable" and reason in NOT_TRIED_IN_1:
        return {**entry, "status": "not-tried"}
    if status == "failed" and isinstance(reason, str) and reason.startswith(WRONG_IN_1):
        return {**entry, "status": "wrong"}
    return entry


_UPGRADES: dict[int, Callable[[Whole], Whole]] = {1: _from_1}
"""Schema version → how it becomes the next one."""
