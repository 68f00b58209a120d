"""The recorded run that every perturbation starts from, and the form in which it is edited."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

import variants

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "docs" / "runs" / "nvidia-h200" / "article"
SIX = ("naive", "naive_inplace", "sdpa_math", "sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
FUSED = ("sdpa_efficient", "sdpa_flash", "sdpa_cudnn")
COMPILED = "naive_compiled"


@cache
def _text(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@cache
def _trace_text(variant: str) -> str:
    return gzip.decompress((RECORDED / f"{variant}.trace.json.gz").read_bytes()).decode("utf-8")


def run() -> dict[str, Any]:
    """A fresh copy of `run.json`'s content."""
    return json.loads(_text("run.json"))


def now() -> dict[str, Any]:
    """The same as a capture of today would write it: what schema 1 had no word for has one."""
    content = run()
    if content["schema_version"] == 1:
        content["schema_version"] = 2
        content["probes"]["occupancy_probe"] = {"launches": content["probes"]["occupancy_probe"]}
    for one in variants.load():  # one that is newer than the recording is an entry all the same
        content["variants"].setdefault(one.id, {**dict.fromkeys(content["variants"][COMPILED]), "title": one.title, "status": "not-tried", "reason": "not asked for in this run", "source": one.source,
                                                "named": one.named, "prediction": [list(step) for step in one.prediction], "samples": {}})
    return content


def as_schema_1(content: dict[str, Any]) -> None:
    """Brings a run of today into the words of schema 1, in place: a recording of an older program."""
    content["schema_version"] = 1
    content.pop("correctness", None)
    content["probes"].pop("mask_step", None)
    if content["counters"]:
        content["counters"].pop("mask_step", None)
    for entry in content["variants"].values():
        entry.pop("own_mask", None)
        (entry["training"] or {}).pop("compared", None)
    probe = content["probes"].get("occupancy_probe")
    if probe and "launches" in probe:
        content["probes"]["occupancy_probe"] = probe["launches"]
    for entry in content["variants"].values():
        entry["status"] = {"wrong": "failed", "not-tried": "unavailable"}.get(entry["status"], entry["status"])


def floor() -> dict[str, Any]:
    """A fresh copy of the same-code floor beside it."""
    return json.loads(_text("noise.json"))


class Traces(MutableMapping[str, dict[str, Any]]):
    """Variant id → Kineto document. A trace is read when it is asked for, so that what nobody edits costs nothing."""

    def __init__(self) -> None:
        self._names = [file.name.split(".")[0] for file in sorted(RECORDED.glob("*.trace.json.gz"))]
        self._read: dict[str, dict[str, Any]] = {}

    def __getitem__(self, name: str) -> dict[str, Any]:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._read:
            self._read[name] = json.loads(_trace_text(name))
        return self._read[name]

    def __setitem__(self, name: str, document: dict[str, Any]) -> None:
        self._read[name] = document
        if name not in self._names:
            self._names.append(name)

    def __delitem__(self, name: str) -> None:
        self._names.remove(name)
        self._read.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._names))

    def __len__(self) -> int:
        return len(self._names)

    def edited(self, name: str) -> bool:
        """Whether somebody asked for the trace, so that it may differ from the recorded one."""
        return name in self._read
