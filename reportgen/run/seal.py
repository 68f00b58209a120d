"""The seal of a run: hashes over what was saved, by which an edited number is told from a measured one.

It says so and refuses nothing: who edits a number can make the seal anew. Runs that were saved
before there were seals have none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .model import RUN_FILE

FIELD = "seal"


def seal(data: Mapping[str, Any], folder: Path, traces: tuple[str, ...]) -> dict[str, Any]:
    """The seal of `run.json`'s content and of the trace files that lie in `folder`, by name."""
    return {"run": _content(data), "traces": {name: _file(folder / name) for name in sorted(traces)}}


def edited(data: Mapping[str, Any], folder: Path) -> tuple[str, ...] | None:
    """The files of the run that are not as they were saved; `None` where the run has no seal."""
    if FIELD not in data:
        return None
    found: dict[str, Any] = data[FIELD] if isinstance(data[FIELD], dict) else {}
    given = found.get("traces")
    traces: dict[str, Any] = given if isinstance(given, dict) else {}
    changed = [RUN_FILE] if found.get("run") != _content(data) else []
    variants = data.get("variants")
    named = {entry.get("trace") for entry in variants.values() if isinstance(entry, dict)} if isinstance(variants, dict) else set()
    return (*changed, *(name for name in sorted(set(traces) | {name for name in named if isinstance(name, str)})
                        if Path(name).name == name and _file(folder / name) != traces.get(name)))


def _content(data: Mapping[str, Any]) -> str:
    """Over the content, not over the file: blanks and the order of fields are nobody's number."""
    content = {name: value for name, value in data.items() if name != FIELD}
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _file(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return None
