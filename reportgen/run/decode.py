"""What JSON holds → the frozen form that a type asks for; says which field does not fit, and what was expected.

Types are read as they are meant: nested dataclasses, `X | None`, `tuple[X, ...]`, `Mapping[str, X]`, `Literal`,
`Estimate`, with ranges as `Annotated` metadata (see `ranges`). What a type does not name is left out in silence,
since another program may have recorded more; `null` is as good as not recorded where a field has a default.
"""

from __future__ import annotations

import collections.abc
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from math import isfinite
from types import UnionType
from typing import Annotated, Any, Literal, Mapping, Union, get_args, get_origin, get_type_hints

from ..numbers.statistics import Estimate
from .ranges import Known

LONGEST_SHOWN = 60


class Misfit(ValueError):
    """One line: the field, what it is, what was expected."""


def decode(kind: Any, value: Any, place: str = "", /, **given: Any) -> Any:
    """`value` in the form of `kind`.

    Args:
        kind: a type, see above.
        value: what `json.loads` gave.
        place: the field's path with dots (`variants.naive.samples`), for the message.
        given: for a dataclass: fields that do not come from `value`.

    Raises:
        Misfit: a value has another type, is out of its range, or is missing.
    """
    origin = get_origin(kind)
    if kind is Any:
        return value
    if origin is Annotated:
        inner, *limits = get_args(kind)
        return _limited(decode(inner, value, place), limits, value, place)
    if origin in (Union, UnionType):
        return _one_of(get_args(kind), value, place)
    if origin is Literal:
        return _word(get_args(kind), value, place)
    if origin is tuple:
        return _tuple(get_args(kind), value, place)
    if origin is collections.abc.Mapping:
        return _mapping(get_args(kind), value, place)
    if kind is Estimate:
        return _estimate(value, place)
    return _record(kind, value, place, given) if isinstance(kind, type) and is_dataclass(kind) else _leaf(kind, value, place)


def _misfit(value: Any, place: str, words: str) -> Misfit:
    text = repr(value)
    shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN - 1]}…"
    return Misfit(f"{place or 'the whole file'} is {shown}, expected {words}")


def _limited(found: Any, limits: list[Any], value: Any, place: str) -> Any:
    parts = [(found, value, place)]
    if isinstance(found, Estimate):
        parts = [(one, one, f"{place}[{index}]") for index, one in enumerate(found.samples)]
    for limit in limits:
        for one, shown, where in parts:
            if not limit.admits(one):
                raise _misfit(shown, where, limit.words)
    return found


def _leaf(kind: type, value: Any, place: str) -> Any:
    fits, words = _LEAVES[kind]
    if not fits(value):
        raise _misfit(value, place, "a finite number" if kind is float and _is_number(value) else words)
    return int(value) if kind is int else value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or isfinite(value))


def _is_text(value: Any) -> bool:
    """Text that can be written to a file: half of a surrogate pair cannot."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


_LEAVES: dict[type, tuple[Any, str]] = {
    str: (_is_text, "text"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (lambda value: _is_finite(value) and value == int(value), "a whole number"),
    float: (_is_finite, "a number"),
    type(None): (lambda value: value is None, "null"),
}


def _one_of(kinds: tuple[Any, ...], value: Any, place: str) -> Any:
    """By the first kind whose JSON form `value` has, so that the message is about the form that was meant."""
    if value is None and type(None) in kinds:
        return None
    for kind in kinds:
        if _form(kind) == _form_of(value):
            return decode(kind, value, place)
    words = [_words(kind) for kind in kinds if kind is not type(None)]
    raise _misfit(value, place, " or ".join(dict.fromkeys(words)))


def _plain(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _form(kind: Any) -> str:
    """What JSON calls a kind."""
    kind = _plain(kind)
    if kind is Estimate or get_origin(kind) is tuple:
        return "list"
    if get_origin(kind) is collections.abc.Mapping or is_dataclass(kind):
        return "object"
    words: dict[Any, str] = {int: "number", float: "number", bool: "flag", type(None): "null"}
    return words.get(kind, "text")


def _form_of(value: Any) -> str:
    if isinstance(value, bool):
        return "flag"
    if _is_number(value):
        return "number"
    forms: dict[type, str] = {str: "text", list: "list", dict: "object"}
    return "null" if value is None else forms[type(value)]


def _words(kind: Any) -> str:
    kind = _plain(kind)
    if kind is Estimate:
        return "a list of numbers"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    return _LEAVES[kind][1] if kind in _LEAVES else {"list": "a list", "object": "an object"}[_form(kind)]


def _word(words: tuple[Any, ...], value: Any, place: str) -> Any:
    if not isinstance(value, str):
        raise _misfit(value, place, "text")
    if value not in words:
        raise _misfit(value, place, f"one of {', '.join(words)}")
    return value


def _tuple(kinds: tuple[Any, ...], value: Any, place: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise _misfit(value, place, "a list")
    if kinds[-1] is not Ellipsis and len(value) != len(kinds):
        raise _misfit(value, place, f"a list of {len(kinds)}")
    each = (kinds[0],) * len(value) if kinds[-1] is Ellipsis else kinds
    return tuple(decode(kind, item, f"{place}[{index}]") for index, (kind, item) in enumerate(zip(each, value)))


def _mapping(kinds: tuple[Any, Any], value: Any, place: str) -> Mapping[str, Any]:
    keys, kind = kinds
    known = next((limit.names for limit in getattr(keys, "__metadata__", ()) if isinstance(limit, Known)), None)
    found = {}
    for name, item in _object(value, place).items():
        if known is None:
            decode(keys, name, f"a name in {place}")
        if known is None or name in known:
            found[name] = decode(kind, item, f"{place}.{name}" if place else name)
    return found


def _object(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _misfit(value, place, "an object")
    return value


def _estimate(value: Any, place: str) -> Estimate:
    if not isinstance(value, list) or not all(_is_number(one) for one in value):
        raise _misfit(value, place, "a list of numbers")
    if not value:
        raise Misfit(f"{place} is an empty list, expected one value per process")
    return Estimate(tuple(value))


@cache
def _hints(kind: type) -> tuple[tuple[Field[Any], Any], ...]:
    """The fields of a dataclass with their types, which are text until here."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field, hints[field.name]) for field in fields(kind))


def _record(kind: type, value: Any, place: str, given: Mapping[str, Any]) -> Any:
    entry = _object(value, place)
    found = dict(given)
    for field, hint in _hints(kind):
        inside = f"{place}.{field.name}" if place else field.name
        optional = field.default is not MISSING or field.default_factory is not MISSING
        if field.name in found or optional and entry.get(field.name) is None:
            continue
        if field.name not in entry:
            raise Misfit(f"{inside} is missing")
        found[field.name] = decode(hint, entry[field.name], inside)
    return kind(**found)
