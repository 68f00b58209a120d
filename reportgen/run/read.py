"""Loads and validates recorded runs; upgrades older schema versions in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..errors import RunInvalid
from . import names
from .workload import Workload
from .model import QUANTITIES, RUN_FILE, SCHEMA_VERSION, STATUSES, Ceilings, DeviceRecord, MaskedRow, Run, Training, VariantRun
from .types import checked, each, estimate


def discover(runs_root: Path) -> list[Path]:
    """The folders of all recorded runs below `runs_root`, in slot order."""
    return sorted(file.parent for file in runs_root.glob(f"*/*/{RUN_FILE}") if not file.parent.name.startswith("."))


def load(folder: Path) -> Run:
    """Reads and validates a recorded run.

    Raises:
        RunInvalid: the file is missing, is not JSON, lacks a field, or is newer than this program.
    """
    file = folder / RUN_FILE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RunInvalid("there is no run here", where=str(folder), cure="record one with `make profile`, or remove the folder") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise RunInvalid(f"not valid JSON ({error})", where=str(file), cure="restore the file from version control; runs are never edited by hand") from None
    return from_json(_upgrade(data, file), folder)


def _upgrade(data: dict[str, Any], file: Path) -> dict[str, Any]:
    version = data.get("schema_version")
    if not isinstance(version, int):
        raise RunInvalid("schema_version is missing", where=str(file), cure="restore the file from version control")
    if version > SCHEMA_VERSION:
        raise RunInvalid(f"recorded with schema {version}, and this program reads up to {SCHEMA_VERSION}", where=str(file),
                         cure="update this program to the version that recorded the run")
    return data


def from_json(data: dict[str, Any], folder: Path) -> Run:
    """The frozen form of `run.json`'s content; trace paths are resolved against `folder`."""
    where = str(folder / RUN_FILE)
    try:
        checked(Run, data, "", may_be_null=("clocks", "probes", "phases"))
        _names(data)
        variants = {key: _variant(key, entry, folder) for key, entry in data["variants"].items()}
        return Run(
            path=folder,
            schema_version=data["schema_version"],
            recorded_on=data["recorded_on"],
            device=DeviceRecord(**checked(DeviceRecord, data["device"], "device.")),
            software=each(data["software"], (str, type(None)), "software.", "text"),
            host=data["host"],
            settings=data["settings"],
            workload=Workload(**checked(Workload, data["workload"], "workload.")),
            label=data["label"],
            protocol=data["protocol"],
            ceilings=Ceilings(**checked(Ceilings, data["ceilings"], "ceilings.")) if data.get("ceilings") else None,
            clocks=data.get("clocks") or {},
            probes=data.get("probes") or {},
            variants=variants,
            phases=each(data.get("phases") or {}, (int, float), "phases.", "a number"),
            counters=data.get("counters"),
            counters_reason=data.get("counters_reason"),
        )
    except KeyError as error:
        raise RunInvalid(f"field {error} is missing", where=where, cure="restore the file from version control, or record the run again") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise RunInvalid(f"a field has the wrong form ({error})", where=where, cure="restore the file from version control, or record the run again") from None


def _names(data: dict[str, Any]) -> None:
    """Nothing of a run becomes a path that is not a plain name; what is no text at all is named by its type's check.

    Raises:
        ValueError: something is not.
    """
    traces = {key: entry.get("trace") if isinstance(entry, dict) else None for key, entry in data["variants"].items()}
    device, workload = checked(DeviceRecord, data["device"], "device."), checked(Workload, data["workload"], "workload.")
    found = names.problems(device["slug"], workload["name"], data["label"], traces)
    if found:
        raise ValueError(found[0])


def _variant(key: str, entry: dict[str, Any], folder: Path) -> VariantRun:
    place = f"variants.{key}."
    checked(VariantRun, entry, place, may_be_null=("samples",))
    if entry["status"] not in STATUSES:
        raise ValueError(f"status of {key} is {entry['status']!r}, not one of {', '.join(STATUSES)}")
    samples = entry.get("samples") or {}
    trace = entry.get("trace")
    if trace is not None and not isinstance(trace, str):
        raise TypeError(f"{place}trace is {trace!r}, expected text")
    if trace and not (folder / trace).is_file():
        raise RunInvalid(f"{key} names the trace {trace}, which is not there", where=str(folder / RUN_FILE), cure="restore the file from version control")
    return VariantRun(
        id=key,
        title=entry["title"],
        status=entry["status"],
        reason=entry.get("reason"),
        source=entry.get("source", ""),
        prediction=tuple((step, meaning) for step, meaning in entry.get("prediction", ())),
        named=entry.get("named", True),
        samples={name: estimate(samples[name], f"{place}samples.{name}") for name in QUANTITIES if samples.get(name)},
        timer=entry.get("timer"),
        timer_note=entry.get("timer_note"),
        trace_path=folder / trace if trace else None,
        peak_memory_bytes=entry.get("peak_memory_bytes"),
        relative_error=entry.get("relative_error"),
        allowed_error=entry.get("allowed_error"),
        masked_row=MaskedRow(**checked(MaskedRow, entry["masked_row"], f"{place}masked_row.")) if entry.get("masked_row") else None,
        training=_training(entry.get("training"), f"{place}training."),
    )


def _training(entry: dict[str, Any] | None, place: str = "training.") -> Training | None:
    if not entry:
        return None
    checked(Training, entry, place)
    times = {name: estimate(entry[name], f"{place}{name}") if entry.get(name) else None for name in ("gpu_time", "wall_time")}
    return Training(**{**entry, **times})
