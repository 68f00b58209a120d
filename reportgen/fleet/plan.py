"""Which kinds of GPU a cluster has, and how a job gets one: a small TOML file.

    cluster = "slurm"                  # or "local": one job after another on this machine
    python = "/shared/torch/bin/python"

    [kinds.h200]
    partition = "h200"
    gres = "gpu:h200:1"
    container = ["apptainer", "exec", "--nv", "/shared/torch.sif"]

What stands above the kinds holds for all of them. `recipes/fleet.toml` names every field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

from ..errors import ReportError
from ..run import names
from ..run.decode import Misfit, decode
from ..run.ranges import Line, Size
from ..run.workload import PRESETS

CURE = "recipes/fleet.toml names every field, with an example"
SPARE = 5
"""Minutes that a job is given beside those of profiling, so that what ends a long one is we, in our words, and not Slurm."""
SLURM = ("partition", "gres", "constraint", "nodelist", "account", "qos")
"""What goes into the head of the `sbatch` file as it stands."""
CLUSTERS = ("slurm", "local")


@dataclass(frozen=True)
class Kind:
    """A kind of GPU, and how Slurm gives a node with it.

    python: that has torch there; container: what is written before it, word by word
    setup: lines of shell before it, for Slurm only; minutes: that profiling may take
    workload, label, device: as `profile` has them
    """

    name: str
    python: Line
    partition: Line | None = None
    gres: Line | None = None
    constraint: Line | None = None
    nodelist: Line | None = None
    account: Line | None = None
    qos: Line | None = None
    minutes: Size = 30
    container: tuple[Line, ...] = ()
    setup: tuple[Line, ...] = ()
    device: Literal["cuda", "cpu"] = "cuda"
    workload: Line | None = None
    label: Line | None = None

    def command(self, into: Path) -> list[str]:
        """What runs on the node; it writes the run below `into` and holds no lock, for the command that waits for it does."""
        options = [word for name in ("workload", "label") if (value := getattr(self, name)) for word in (f"--{name}", value)]
        return [*self.container, self.python, "-m", "reportgen", "profile", "--for-report", "--into", str(into), "--device", self.device, *options]

    def slurm(self) -> dict[str, Any]:
        """The parameters of submitit's Slurm executor: one node, which is this job's alone with all of its memory (`--mem=0`); no key of submitit's own."""
        given = {name: value for name in SLURM if (value := getattr(self, name))}
        return {"job_name": f"reportgen-{self.name}", "time": int(self.minutes) + SPARE, "nodes": 1, "ntasks_per_node": 1, "exclusive": True,
                "mem": "0", "wckey": None, **given, **({"setup": list(self.setup)} if self.setup else {})}


@dataclass(frozen=True)
class Fleet:
    """cluster: whose jobs they are; `local` has no Slurm and takes one kind after another."""

    cluster: Literal["slurm", "local"]
    kinds: tuple[Kind, ...]


def read(file: Path) -> Fleet:
    """The fleet in `file`.

    Raises:
        ReportError: names the file and the field.
    """
    data = _toml(file)
    kinds = data.pop("kinds", None)
    cluster = data.pop("cluster", "slurm")
    if cluster not in CLUSTERS:
        raise ReportError(f"cluster is {cluster!r}, expected one of {', '.join(CLUSTERS)}", where=str(file), cure=CURE)
    if not isinstance(kinds, dict) or not kinds:
        raise ReportError("names no kind of GPU", where=str(file), cure="add one: [kinds.h200]")
    return Fleet(cluster, tuple(_kind(name, data, own, cluster, file) for name, own in kinds.items()))


def _toml(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReportError("there is no such file", where=str(file), cure="copy recipes/fleet.toml there and write your kinds of GPU into it, or name another file: FLEET=…") from None
    except OSError as error:
        raise ReportError(f"cannot be read ({error.strerror})", where=str(file), cure="make it readable, or name another file: FLEET=…") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ReportError(f"is no TOML ({error})", where=str(file), cure=CURE) from None


def _kind(name: str, shared: Mapping[str, Any], own: Any, cluster: str, file: Path) -> Kind:
    place = f"kinds.{name}"

    def wrong(problem: str, cure: str) -> ReportError:
        return ReportError(problem, where=str(file), cure=cure)

    if not names.fits(name):
        raise wrong(f"the kind {name!r} cannot be part of a folder's name", f"use {names.WORDS}")
    if not isinstance(own, dict):
        raise wrong(f"{place} is {own!r}, expected a table", f"write [{place}] on a line of its own, and its fields below it")
    known = [one.name for one in fields(Kind) if one.name != "name"]
    for above, table in (("", shared), (f"{place}.", own)):
        for field in table:
            if field not in known:
                raise wrong(f"{above}{field} is no field of a kind", f"there are {', '.join(known)}")
            if cluster == "local" and field in (*SLURM, "setup"):
                raise wrong(f"{above}{field} is for Slurm, and cluster is 'local'", "leave it out, or write cluster = \"slurm\"")
    try:
        kind: Kind = decode(Kind, {**shared, **own, "name": name}, place)
    except Misfit as misfit:
        raise wrong(str(misfit), CURE) from None
    if kind.workload is not None and kind.workload not in PRESETS:
        raise wrong(f"{place}.workload is {kind.workload!r}, which is no preset", f"there are {', '.join(sorted(PRESETS))}")
    if kind.label is not None and not names.fits(kind.label):
        raise wrong(f"{place}.label is {kind.label!r}, which cannot be part of a folder's name", f"use {names.WORDS}")
    return kind
