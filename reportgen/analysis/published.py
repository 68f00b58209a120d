"""The article's values, read from `published.toml`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import tomllib

from ..run.workload import ARTICLE
from .model import RunFacts


@cache
def load() -> dict[str, Any]:
    """The whole file; `math_slowdown` and the other single values also stand at the top level."""
    data = tomllib.loads(Path(__file__).with_name("published.toml").read_text(encoding="utf-8"))
    return {**data, **data["values"]}


def same_workload(facts: RunFacts) -> bool:
    """Whether the article's values may stand beside this run's: the same computation."""
    return facts.workload.same_shape(ARTICLE)


def of(variant: str, quantity: str) -> Any:
    """One published value of a variant, or `None` where the article gives none."""
    return load()["variants"].get(variant, {}).get(quantity)
