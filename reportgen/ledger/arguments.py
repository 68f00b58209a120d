"""An op's arguments as recorded → what attention was given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..trace.whole import Raw
from .model import Arguments, Tensor

_TENSORS = ("query", "key", "value", "mask")


@lru_cache(maxsize=4096)
def read(raw: Raw, names: tuple[str, ...]) -> Arguments | None:
    """The arguments by their names; `None` where the op has none that are known."""
    if not names or not (raw.dims or raw.values):
        return None
    tensors: dict[str, Tensor | None] = {}
    quoted: dict[str, str] = {}
    values: dict[str, str] = {}
    for place, name in enumerate(names):
        if not name:
            continue
        if name in _TENSORS:
            tensors[name] = tensor(raw, place)
            found = tensors[name]
            if found is not None:
                quoted[name] = _quoted(found)
        elif place < len(raw.values) and raw.values[place] != "":
            values[name] = quoted[name] = raw.values[place]
    return Arguments(**tensors, mask_known="mask" in names and names.index("mask") < len(raw.dims), dropout=_number(values.get("dropout")),
                     causal=_flag(values.get("causal")), scale=_number(values.get("scale")), gqa=_flag(values.get("gqa")), quoted=quoted)


def tensor(raw: Raw, place: int) -> Tensor | None:
    """The tensor at a place of the arguments; `None` where there is none, or nothing was recorded of it."""
    dims = _at(raw.dims, place)
    kind = _at(raw.types, place) or ""
    if not isinstance(dims, tuple) or not dims or not all(isinstance(size, int) for size in dims) or kind == "Scalar":
        return None
    strides = _at(raw.strides, place)
    return Tensor(dims, str(kind), strides if isinstance(strides, tuple) and len(strides) == len(dims) else None)


def _at(values: Sequence[Any], place: int) -> Any:
    return values[place] if place < len(values) else None


def _quoted(found: Tensor) -> str:
    sizes = "[" + ", ".join(map(str, found.dims)) + "]"
    strides = "" if found.strides is None else " strides [" + ", ".join(map(str, found.strides)) + "]"
    return f"{sizes} {found.type}{strides}"


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _flag(text: str | None) -> bool | None:
    return {"True": True, "False": False, "1": True, "0": False}.get(text or "")
