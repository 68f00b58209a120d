"""A ledger as plain values for other tools: typed values, and beside them the sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from . import words
from .model import CallSite, Ledger

FORMAT = 1
_LEFT_OUT = {("Call", "parts"), ("Call", "activities"), ("Call", "place"), ("Drag", "activities")}


def as_json(ledger: Ledger) -> dict[str, Any]:
    """Times in seconds, shares from 0 to 1. Enums by their names."""
    return {"format": FORMAT, **_plain(ledger), "text": words.sentences(ledger)}


def _plain(value: Any) -> Any:
    if isinstance(value, CallSite):
        found = {**_members(value), "time": _plain(value.time), "where_text": words.where(value.where), "kind_text": words.kind(value), "drags_text": [words.drag(one) for one in value.drags],
                 "reasons_text": [words.reason(one) for one in value.reasons], "advice_text": [words.advice(one) for one in value.advice]}
        found["calls"] = len(value.calls)
        found["first"] = _plain(value.calls[0]) if value.calls else None
        return found
    if is_dataclass(value) and not isinstance(value, type):
        return _members(value)
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(one) for one in value]
    return value


def _members(value: Any) -> dict[str, Any]:
    kind = type(value).__name__
    return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if (kind, one.name) not in _LEFT_OUT and not (isinstance(value, CallSite) and one.name == "calls")}


