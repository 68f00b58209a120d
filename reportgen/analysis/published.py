"""The article's values, read from `published.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def load() -> dict[str, Any]:
    """The whole file; `math_slowdown` and the other single values also stand at the top level."""
    data = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    return {**data, **data["values"]}


def of(variant: str, quantity: str) -> Any:
    """One published value of a variant, or `None` where the article gives none."""
    return load()["variants"].get(variant, {}).get(quantity)
