"""Writes a run atomically: the whole run is there, or the former one."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from . import names, scrub, seal
from .model import RUN_FILE, slot_name


def save(data: dict[str, Any], traces: Mapping[str, dict[str, Any]], runs_root: Path) -> Path:
    """Writes a run atomically into its slot below `runs_root` and returns the folder.

    The whole run is built beside the slot, validated, and moved into place; an interrupted save
    leaves the former run untouched. Everything is scrubbed first.

    Args:
        data: the content of `run.json`; each variant that has a trace must name it.
        traces: variant id → Kineto trace as read from torch.
    """
    from . import slots, swap  # slots reads runs by the package's own names

    slot = slot_name(data["device"]["slug"], data["workload"]["name"], data["label"])
    target = names.below(runs_root, runs_root / slot)
    target.parent.mkdir(parents=True, exist_ok=True)
    machine = scrub.Machine.here()
    staging = Path(tempfile.mkdtemp(prefix=".recording-", dir=target.parent))
    try:
        for variant, trace in traces.items():
            name = names.trace_file(variant)
            data["variants"][variant]["trace"] = name
            write_trace(staging / name, scrub.trace(trace, machine))
        content = json.loads(json.dumps(known(scrub.content(data, machine)), allow_nan=False))  # as it will be read again
        content[seal.FIELD] = seal.seal(content, staging, tuple(names.trace_file(variant) for variant in traces))
        (staging / RUN_FILE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        slots.put(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        swap.remove_if_empty(target.parent)
    return target


def known(value: Any) -> Any:
    """`value` with `None` for every number that is not finite: torch or a tool answered, and it is not known how much.

    A gradient that is NaN, a counter that overflowed, or half of a letter in a reason shall not cost the run that was measured.
    """
    if isinstance(value, dict):
        return {known(key): known(item) for key, item in value.items()}
    if isinstance(value, str):
        return value.encode("utf-8", errors="replace").decode("utf-8")
    if isinstance(value, (list, tuple)):
        return [known(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def write_trace(file: Path, trace: dict[str, Any]) -> None:
    """Gzips a trace without a time stamp or file name, so that equal traces are equal files."""
    payload = json.dumps(trace, separators=(",", ":"), ensure_ascii=False).encode("utf-8", errors="replace")
    with open(file, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=9) as packed:
        packed.write(payload)
