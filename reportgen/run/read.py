"""Loads and validates recorded runs; upgrades older schema versions in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Optional

from ..errors import RunInvalid
from . import names, seal
from .decode import Misfit, decode, step
from .model import RUN_FILE, SCHEMA_VERSION, Run, VariantRun
from .ranges import Setting, Size
from .upgrade import upgraded
from .whole import fault

_SWITCHES = {"environment": Optional[Mapping[str, str]], "float32_matmul_precision": Optional[str]}
"""Settings whose form is known; any other is a leaf or a list of leaves."""
RESTORE = "restore the file from version control, or record the run again"


def discover(runs_root: Path) -> list[Path]:
    """The folders of all recorded runs below `runs_root`, in slot order."""
    return sorted(file.parent for file in runs_root.glob(f"*/*/{RUN_FILE}") if not file.parent.name.startswith("."))


def load(folder: Path) -> Run:
    """Reads and validates a recorded run.

    Raises:
        RunInvalid: the file is missing, is not JSON, has a field that no measurement can give, or is
            newer than this program.
    """
    file = folder / RUN_FILE
    if not file.exists():
        raise RunInvalid("there is no run here", where=str(folder), cure="record one with `make profile`, or remove the folder")
    data = document(file, "restore the file from version control; runs are never edited by hand")
    return replace(from_json(data, folder), edited=seal.edited(data, folder))


def document(file: Path, cure: str) -> Any:
    """What a JSON file holds.

    Raises:
        RunInvalid: it cannot be read, or holds no JSON.
    """
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RunInvalid(f"cannot be read ({error.strerror})", where=str(file), cure="see who may read it, and whether it is a file") from None
    except RecursionError:
        raise RunInvalid("not valid JSON (nested too deep)", where=str(file), cure=cure) from None
    except ValueError as error:  # no JSON, no UTF-8, or a number of thousands of digits
        raise RunInvalid(f"not valid JSON ({error})", where=str(file), cure=cure) from None


def from_json(data: Any, folder: Path) -> Run:
    """The frozen form of `run.json`'s content; traces are looked for in `folder`.

    Raises:
        RunInvalid: names the file, the field, what it is, and what was expected.
    """
    where = str(folder / RUN_FILE)
    try:
        whole = decode(Mapping[str, Any], data)
        _refuse_newer(whole, where)
        whole = upgraded(whole)
        entries = _part(Mapping[str, Any], whole, "variants")
        variants = {name: _variant(name, entry, folder) for name, entry in entries.items()}
        run: Run = decode(Run, whole, path=folder, variants=variants, settings=settings(whole), edited=None)
        _check_complete(whole)
        _check_names(run, {name: entry.get("trace") for name, entry in entries.items()})
        _check_whole(run)
    except Misfit as problem:
        raise RunInvalid(str(problem), where=where, cure=RESTORE) from None
    return run


def _refuse_newer(whole: Mapping[str, Any], where: str) -> None:
    version = _part(Size, whole, "schema_version")
    if version > SCHEMA_VERSION:
        raise RunInvalid(f"recorded with schema {version}, and this program reads up to {SCHEMA_VERSION}", where=where,
                         cure="update this program to the version that recorded the run")


def _part(kind: Any, whole: Mapping[str, Any], name: str) -> Any:
    if name not in whole:
        raise Misfit(f"{name} is missing")
    return decode(kind, whole[name], name)


def settings(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Switches by name; the environment variables that were set are the one group among them.

    Raises:
        Misfit: `settings` is missing, or a switch is no leaf.
    """
    given = _part(Mapping[str, Any], whole, "settings")
    return {name: decode(_SWITCHES.get(name, Setting), value, step("settings", name)) for name, value in given.items()}


def _variant(name: str, entry: Any, folder: Path) -> VariantRun:
    place = step("variants", name)
    trace = decode(Optional[str], decode(Mapping[str, Any], entry, place).get("trace"), f"{place}.trace")
    variant: VariantRun = decode(VariantRun, entry, place, id=name, trace_path=folder / trace if trace else None)
    return replace(variant, status="wrong") if variant.status in ("ok", "failed") and _above(variant) else variant


def _above(variant: VariantRun) -> bool:
    """The recorded error says that the result is wrong, whatever the recorded status says."""
    return variant.relative_error is not None and variant.allowed_error is not None and variant.relative_error > variant.allowed_error


def _check_complete(whole: Mapping[str, Any]) -> None:
    """What has a default for whoever makes a workload by hand, and none for a recorded one."""
    for name in ("dtype", "causal"):
        if whole["workload"].get(name) is None:
            raise Misfit(f"workload.{name} is missing")


def _check_names(run: Run, traces: Mapping[str, str | None]) -> None:
    """Nothing of a run becomes a path that is not a plain name; only then is a trace looked for."""
    found = names.problems(run.device.slug, run.workload.name, run.label, traces)
    if found:
        raise Misfit(found[0])
    for variant, trace in traces.items():
        if trace and not (run.path / trace).is_file():
            raise RunInvalid(f"{variant} names the trace {trace}, which is not there", where=str(run.path / RUN_FILE), cure="restore the file from version control")
        if trace:  # what a link leads to would be quoted in an error, or copied
            names.below(run.path, run.path / trace, "is read from")


def _check_whole(run: Run) -> None:
    problem = fault(run)
    if problem:
        raise Misfit(problem)
