"""What may be part of a path below `docs/`: one grammar for slugs, workloads, labels, variant ids and trace files.

A run may come from anywhere, and these words of it become folders, files and addresses of pages. They are checked
where a run is saved, loaded and placed, and whatever is written is checked once more to lie below its root.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ..errors import RunInvalid

LONGEST = 80
TRACE_ENDING = ".trace.json.gz"
WORDS = f"letters, digits, dots, dashes and underscores, at most {LONGEST}, with a letter, digit or underscore first and no dot last"
"""The grammar for a person."""
CURE = "restore the file from version control, or record the run again; a run from elsewhere must keep to these names"
_NAME = re.compile(rf"[A-Za-z0-9_](?:[A-Za-z0-9._-]{{0,{LONGEST - 2}}}[A-Za-z0-9_-])?")
_DEVICES_OF_WINDOWS = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)


def fits(name: object) -> bool:
    """True if `name` can be a folder or a file on every system, and stays where it is put."""
    return isinstance(name, str) and bool(_NAME.fullmatch(name)) and not _DEVICES_OF_WINDOWS.fullmatch(name)


def problem(field: str, name: object) -> str | None:
    """`device.slug is '../x', which cannot name a folder`, or `None` where it can."""
    if fits(name):
        return None
    shown = repr(name)
    return f"{field} is {shown if len(shown) <= 60 else shown[:59] + '…'}, which cannot name a folder (it takes {WORDS})"


def slot(device: object, workload: object, label: object) -> str:
    """`<device>/<workload>[+label]`, a run's place below `docs/runs/`.

    Raises:
        RunInvalid: one of them cannot be part of a path.
    """
    given = {"device.slug": device, "workload.name": workload, **({} if label is None else {"label": label})}
    found = next(filter(None, (problem(field, name) for field, name in given.items())), None)
    if found:
        raise RunInvalid(found, cure=CURE)
    return f"{device}/{workload}{'' if label is None else f'+{label}'}"


def trace_file(variant: object) -> str:
    """`<variant>.trace.json.gz`, the only name that a variant's trace may have.

    Raises:
        RunInvalid: the variant's id cannot be part of a path.
    """
    found = problem("the id of a variant", variant)
    if found:
        raise RunInvalid(found, cure=CURE)
    return f"{variant}{TRACE_ENDING}"


def problems(device: object, workload: object, label: object, traces: Mapping[str, object]) -> list[str]:
    """Every name of a run that cannot be part of a path; traces: variant id → its trace file or `None`."""
    given = {"device.slug": device, "workload.name": workload, **({} if label is None else {"label": label})}
    found = [problem(field, name) for field, name in given.items()]
    for variant, trace in traces.items():
        found.append(problem("the id of a variant", variant))
        if fits(variant) and trace is not None and trace != f"{variant}{TRACE_ENDING}":
            found.append(f"variants.{variant}.trace is {trace!r}, and it can only be '{variant}{TRACE_ENDING}'")
    return [one for one in found if one]


def below(root: Path, target: Path, what: str = "would be written to") -> Path:
    """`target`, if it lies below `root` with every link followed.

    Raises:
        RunInvalid: it does not.
    """
    if not target.resolve().is_relative_to(root.resolve()) or target.resolve() == root.resolve():
        raise RunInvalid(f"{what} {target}, which is outside of {root}", cure="remove the link that leads out of the folder, or the run with that name")
    return target
