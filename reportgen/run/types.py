"""Whether what JSON holds has the type that a field wants; names the field where it has not."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Mapping

from ..numbers.statistics import Estimate

_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "text"), "int": ((int, float), "a number"), "float": ((int, float), "a number"),
    "bool": ((bool,), "true or false"), "Mapping": ((dict,), "an object"),
}
"""The first word of a field's type → what JSON may hold there, and how to say it."""


def checked(kind: Any, entry: Mapping[str, Any], place: str, may_be_null: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """`entry`, if each of its values has the type of the field of that name in the dataclass `kind`.

    Fields of other types than text, numbers, flags and objects are somebody else's to check.

    Raises:
        TypeError: a value has another type, or `entry` is no object.
    """
    if not isinstance(entry, dict):
        raise TypeError(f"{place.rstrip('.')} is {entry!r}, expected an object")
    for field in fields(kind):
        allowed, words = _KINDS.get(str(field.type).split("[")[0].split(" ")[0], ((), ""))
        if not allowed or field.name not in entry:
            continue
        value = entry[field.name]
        if value is None and ("None" in str(field.type) or field.name in may_be_null):
            continue
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise TypeError(f"{place}{field.name} is {_short(value)}, expected {words}")
    return entry


def estimate(values: Any, place: str) -> Estimate:
    """One value per process, or repetition.

    Raises:
        TypeError: it is no list of numbers.
    """
    if not isinstance(values, list) or any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        raise TypeError(f"{place} is {_short(values)}, expected a list of numbers")
    return Estimate(tuple(values))


def each(entry: Mapping[str, Any], allowed: tuple[type, ...], place: str, words: str) -> Mapping[str, Any]:
    """`entry`, if each of its values is of an allowed type.

    Raises:
        TypeError: one is not.
    """
    for name, value in entry.items():
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise TypeError(f"{place}{name} is {_short(value)}, expected {words}")
    return entry


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
