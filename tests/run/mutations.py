"""Random damage to the content of a `run.json`, the same for the same seed: what a bad disk, a bad merge or a bad hand could leave.

    mutated(content, seed) → (copy, what was done to it, one line each)
    fields(content)        → each kind of wrong value in each field, one after another
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

HUGE, TINY = 1e300, 1e-300
WORDS = ("", "ok", "okay", "flash", "cuda", "nan", "wrong", "not-tried", "1", "a\nb", "<b>x</b>", "[x](y)", "\ud800", "../../x", "x" * 5000)
OTHERS: tuple[Any, ...] = (None, True, False, 0, 1, -1, 1.5, "", "text", [], {}, [1], ["a"], {"a": 1}, [None], [[]], {"reason": "x"})
NUMBERS = (float("nan"), float("inf"), float("-inf"), 0, 0.0, -1, -0.5, HUGE, -HUGE, TINY, 10**40, 2**63, 1e9, 0.5, 1e-9)
STOP = 0.25
"""How likely a walk from the root ends at a container, so that whole sections are hit as often as single numbers."""

Place = tuple[Any, Any]
"""A container and the key or index in it."""


def mutated(content: Any, seed: int) -> tuple[Any, list[str]]:
    """A damaged copy: one to four changes, anywhere."""
    source, copy = random.Random(seed), deepcopy(content)
    done = []
    for _ in range(source.choice((1, 1, 1, 2, 2, 3, 4))):
        container, key, path = _somewhere(copy, source)
        change = source.choice(_FOR.get(type(container[key]), ()) + _ANY)
        done.append(f"{change.__name__.strip('_')} {path}")
        change(container, key, source, copy)
    return copy, done


def fields(content: Any) -> Iterator[tuple[Any, str]]:
    """One field at a time, the first entry standing for all of a list."""
    for path in _paths(content):
        for value in ("delete", *OTHERS, *NUMBERS, *WORDS[:4]):
            copy = container = content.copy()
            for key in path[:-1]:
                container[key] = container[key].copy()
                container = container[key]
            if value == "delete":
                del container[path[-1]]
            else:
                container[path[-1]] = deepcopy(value)
            yield copy, f"{'.'.join(map(str, path))}: {value!r}"


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    for key in value if isinstance(value, dict) else range(min(1, len(value))):
        yield (key,)
        if isinstance(value[key], (dict, list)):
            yield from ((key, *path) for path in _paths(value[key]))


def _somewhere(root: Any, source: random.Random) -> tuple[Any, Any, str]:
    container, path = root, ""
    while True:
        key = source.choice(list(container) if isinstance(container, dict) else range(len(container)))
        path += f".{key}"
        inside = container[key]
        if not isinstance(inside, (dict, list)) or not inside or source.random() < STOP / (1 + path.count(".")):
            return container, key, path[1:]
        container = inside


def _all(value: Any) -> Iterator[Place]:
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _all(value[key])


def _delete(container: Any, key: Any, source: random.Random, root: Any) -> None:
    del container[key]


def _retype(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key] = deepcopy(source.choice(OTHERS))


def _number(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key] = source.choice(NUMBERS)


def _negate(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key] = -container[key]


def _scale(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key] *= 10 ** source.choice((-12, -6, -3, -1, 1, 3, 6, 12))


def _word(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key] = source.choice(WORDS)


def _flip(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key] = not container[key]


def _empty(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key].clear()


def _reverse(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key].reverse()


def _longer(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key].extend(container[key][-source.choice((1, 2)):] or [1])


def _shorter(container: Any, key: Any, source: random.Random, root: Any) -> None:
    del container[key][source.choice((1, -1, len(container[key]) // 2)):]


def _flatten(container: Any, key: Any, source: random.Random, root: Any) -> None:
    """Every number below becomes the same one."""
    value = source.choice((0.0, 1.0, 1e-12, 1e-4))
    for inside, name in _all(container[key]):
        if isinstance(inside[name], (int, float)) and not isinstance(inside[name], bool):
            inside[name] = value


def _rename(container: Any, key: Any, source: random.Random, root: Any) -> None:
    entry = container[key]
    if entry:
        entry[source.choice(("later", "a\nb", "../x", "naive", ""))] = entry.pop(source.choice(list(entry)))


def _add(container: Any, key: Any, source: random.Random, root: Any) -> None:
    container[key][source.choice(("later", "reason", "status"))] = deepcopy(source.choice(OTHERS))


def _exchange(container: Any, key: Any, source: random.Random, root: Any) -> None:
    """Two values of one kind trade places."""
    others = [(inside, name) for inside, name in _all(root) if type(inside[name]) is type(container[key])]
    inside, name = source.choice(others)
    if not isinstance(inside[name], (dict, list)):
        inside[name], container[key] = container[key], inside[name]
    else:
        container[key] = deepcopy(inside[name])


Change = Callable[[Any, Any, random.Random, Any], None]
_ANY: tuple[Change, ...] = (_delete, _retype, _exchange)
_FOR: dict[type, tuple[Change, ...]] = {
    int: (_number, _number, _negate, _scale), float: (_number, _number, _negate, _scale), str: (_word, _word), bool: (_flip,),
    list: (_empty, _reverse, _longer, _shorter, _flatten), dict: (_empty, _rename, _add, _flatten),
}
