"""What each of SDPA's backends accepts, by torch's own checks: a table with its source, read from `sdpa_backends.toml`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tomllib


@dataclass(frozen=True)
class Accepts:
    """One condition. cells: backend (a key of `variants.backends.BACKENDS`) → what it accepts; source: torch's function that checks it, or empty."""

    asks: str
    cells: dict[str, str]
    source: str


@dataclass(frozen=True)
class Conditions:
    """All conditions. read: the sources that they were read from; url: their address."""

    read: str
    url: str
    rows: tuple[Accepts, ...]


@cache
def conditions() -> Conditions:
    """The whole file."""
    data = tomllib.loads(Path(__file__).with_name("sdpa_backends.toml").read_text(encoding="utf-8"))
    rows = tuple(Accepts(row["asks"], {name: text for name, text in row.items() if name not in ("asks", "source")}, row["source"]) for row in data["row"])
    return Conditions(data["read"], data["url"], rows)
