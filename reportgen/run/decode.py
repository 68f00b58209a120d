"""What JSON holds → the frozen form that a type asks for; says which field does not fit, and what was expected.

Types are read as they are meant: nested dataclasses, `X | None`, `tuple[X, ...]`, `Mapping[str, X]`, `Literal`,
`Estimate`, with ranges as `Annotated` metadata (see `ranges`). What a type does not name is left out in silence,
since another program may have recorded more; `null` is as good as not recorded where a field has a default. Text is
read without what steers a terminal or turns the order of reading (see `saying.signs`).

A type is looked through once and becomes a reader: a function of the value and its place.
"""

from __future__ import annotations

import collections.abc
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from math import isfinite
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ..numbers.statistics import Estimate
from ..saying import signs
from .ranges import Known

LONGEST_SHOWN = 60
Reader = Callable[[Any, str], Any]


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
    return _record(kind, value, place, given) if given else _reader(kind)(value, place)


def step(place: str, name: str) -> str:
    """The path of a field in `place`, on one line whatever the field is called."""
    plain = name if name.isprintable() else repr(name)
    return f"{place}.{plain}" if place else plain


@cache
def _reader(kind: Any) -> Reader:
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any:
        return lambda value, place: value
    if origin is Annotated:
        return _limited(_reader(inside[0]), inside[1:])
    if origin in (Union, UnionType):
        return _one_of(inside)
    if origin is Literal:
        return _word(inside)
    if origin is tuple:
        return _tuple(inside)
    if origin is collections.abc.Mapping:
        return _mapping(*inside)
    if kind is Estimate:
        return _estimate
    if isinstance(kind, type) and is_dataclass(kind):
        return lambda value, place: _record(kind, value, place, {})
    return _leaf(kind)


def _misfit(value: Any, place: str, words: str) -> Misfit:
    text = repr(value)
    shown = text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN - 1]}…"
    return Misfit(f"{place or 'the whole file'} is {shown}, expected {words}")


def _limited(read: Reader, limits: tuple[Any, ...]) -> Reader:
    def limited(value: Any, place: str) -> Any:
        found = read(value, place)
        for index, one in enumerate(found.samples if isinstance(found, Estimate) else (found,)):
            for limit in limits:
                if not limit.admits(one):
                    raise _misfit(one, f"{place}[{index}]" if isinstance(found, Estimate) else place, limit.words)
        return found

    return limited


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return _is_number(value) and (isinstance(value, int) or isfinite(value))


def _is_text(value: Any) -> bool:
    """Text that can be written to a file: half of a surrogate pair cannot."""
    return isinstance(value, str) and (value.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in value))


_LEAVES: dict[Any, tuple[Callable[[Any], bool], str]] = {
    str: (_is_text, "text"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    int: (lambda value: _is_finite(value) and value == int(value), "a whole number"),
    float: (_is_finite, "a number"),
    type(None): (lambda value: value is None, "null"),
}


def _leaf(kind: Any) -> Reader:
    fits, words = _LEAVES[kind]

    def leaf(value: Any, place: str) -> Any:
        if not fits(value):
            raise _misfit(value, place, "a finite number" if kind is float and _is_number(value) else words)
        return signs.shown(value) if kind is str else int(value) if kind is int else value

    return leaf


def _one_of(kinds: tuple[Any, ...]) -> Reader:
    """By the first kind whose JSON form the value has, so that the message is about the form that was meant."""
    readers = {_form(kind): _reader(kind) for kind in reversed(kinds)}
    words = " or ".join(dict.fromkeys(_words(kind) for kind in kinds if kind is not type(None)))

    def one_of(value: Any, place: str) -> Any:
        read = readers.get(_FORMS.get(type(value), ""))
        if read is None:
            raise _misfit(value, place, words)
        return read(value, place)

    return one_of


_FORMS: dict[type, str] = {bool: "flag", int: "number", float: "number", type(None): "null", str: "text", list: "list", dict: "object"}
"""What JSON calls a value."""


def _plain(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _form(kind: Any) -> str:
    """What JSON calls the values of a kind."""
    kind = _plain(kind)
    if kind is Estimate or get_origin(kind) is tuple:
        return "list"
    if get_origin(kind) is collections.abc.Mapping or is_dataclass(kind):
        return "object"
    return _FORMS.get(kind, "text")


def _words(kind: Any) -> str:
    kind = _plain(kind)
    if kind is Estimate:
        return "a list of numbers"
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    return _LEAVES[kind][1] if kind in _LEAVES else {"list": "a list", "object": "an object"}[_form(kind)]


def _word(words: tuple[Any, ...]) -> Reader:
    def word(value: Any, place: str) -> Any:
        if not isinstance(value, str):
            raise _misfit(value, place, "text")
        if value not in words:
            raise _misfit(value, place, f"one of {', '.join(words)}")
        return value

    return word


def _tuple(kinds: tuple[Any, ...]) -> Reader:
    any_length = kinds[-1] is Ellipsis
    readers = [_reader(kind) for kind in kinds if kind is not Ellipsis]

    def listed(value: Any, place: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _misfit(value, place, "a list")
        if not any_length and len(value) != len(readers):
            raise _misfit(value, place, f"a list of {len(readers)}")
        each = readers * len(value) if any_length else readers
        return tuple(read(item, f"{place}[{index}]") for index, (read, item) in enumerate(zip(each, value)))

    return listed


def _mapping(keys: Any, kind: Any) -> Reader:
    known = next((limit.names for limit in getattr(keys, "__metadata__", ()) if isinstance(limit, Known)), None)
    read_name, read = _reader(_plain(keys)), _reader(kind)

    def mapping(value: Any, place: str) -> Mapping[str, Any]:
        found = {}
        for name, item in _object(value, place).items():
            if known is None or name in known:
                found[read_name(name, f"a name in {place}")] = read(item, step(place, name))
        return found

    return mapping


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
def _fields(kind: Any) -> tuple[tuple[str, bool, Callable[[], Reader]], ...]:
    """The fields of a dataclass: name, whether it may be left out, and how to get its reader.

    Types are text until here. A reader is made when it is needed: a field that is given from elsewhere may have a type
    that JSON cannot hold.
    """
    hints = get_type_hints(kind, include_extras=True)
    return tuple((field.name, field.default is not MISSING or field.default_factory is not MISSING, lambda hint=hints[field.name]: _reader(hint))
                 for field in fields(kind))


def _record(kind: Any, value: Any, place: str, given: Mapping[str, Any]) -> Any:
    entry = _object(value, place)
    found = dict(given)
    for name, optional, reader in _fields(kind):
        if name in found or optional and entry.get(name) is None:
            continue
        inside = f"{place}.{name}" if place else name
        if name not in entry:
            raise Misfit(f"{inside} is missing")
        found[name] = reader()(entry[name], inside)
    return kind(**found)
