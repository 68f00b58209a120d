"""The recorded run: immutable evidence on disk, and its frozen form in memory.

A run is a folder `docs/runs/<device>/<workload>[+label]/` with `run.json` and one
`<variant>.trace.json.gz` per variant that ran. It is written atomically and never rewritten:
older schema versions are upgraded in memory, and what they did not record is `None`.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping

from .errors import RunInvalid
from .statistics import Estimate
from .workload import Workload

SCHEMA_VERSION = 1
RUN_FILE = "run.json"
QUANTITIES = ("gpu_time", "gpu_time_cold", "wall_time", "host_time", "first_call", "first_call_new_shape")
STATUSES = ("ok", "unavailable", "failed")


@dataclass(frozen=True)
class DeviceRecord:
    """The device as the run saw it.

    kind: `cuda`, `rocm` or `cpu`
    compute_capability: `9.0`; `None` on a CPU and on ROCm
    memory_bytes, l2_cache_bytes: bytes; on a CPU the last-level cache, where known
    power_limit_watts, default_power_limit_watts: W, from NVML
    mig_profile: `1g.18gb`, or `None` where MIG is off
    """

    kind: str
    name: str
    slug: str
    compute_capability: str | None = None
    sm_count: int | None = None
    memory_bytes: int | None = None
    l2_cache_bytes: int | None = None
    power_limit_watts: float | None = None
    default_power_limit_watts: float | None = None
    mig_profile: str | None = None
    ecc: bool | None = None


@dataclass(frozen=True)
class Ceilings:
    """Rates this run reached with plain large work; medians over repetitions, per second.

    copy_bytes_per_s: device copy, bytes read plus bytes written
    matmul_flop_per_s: square matmul on random data in the workload's dtype
    fp32_flop_per_s: the same in fp32 with TF32 off
    copy_bytes, matmul_size: what was run
    """

    copy_bytes_per_s: float | None = None
    matmul_flop_per_s: float | None = None
    fp32_flop_per_s: float | None = None
    copy_bytes: int | None = None
    matmul_size: int | None = None


@dataclass(frozen=True)
class MaskedRow:
    """What came out for a query row whose every key is masked.

    outcome: `nan`, `zeros`, `other` (finite, not all zero), `refused`, or `takes-no-mask`
    reason: torch's words where it refused
    backend_ran: the SDPA op that was pinned really ran; `None` where it does not apply
    """

    outcome: str
    reason: str | None = None


@dataclass(frozen=True)
class Training:
    """One forward and backward of a variant.

    gpu_time: seconds per forward + backward, one value per repetition, or `None` on a CPU
    wall_time: seconds, likewise
    kernels: GPU kernels of one forward + backward
    peak_memory_bytes: above the inputs
    """

    status: str
    reason: str | None = None
    gpu_time: Estimate | None = None
    wall_time: Estimate | None = None
    kernels: int | None = None
    peak_memory_bytes: int | None = None


@dataclass(frozen=True)
class VariantRun:
    """One variant's samples and trace, or the reason why there are none.

    source: the variant's file as it was when the run was recorded
    prediction: the steps one would expect, as `(step, what it is)` (see `variants`)
    samples: quantity (one of `QUANTITIES`) → one value per fresh process, seconds
    timer: how GPU time was taken: `cuda-graph`, `queued-events`, or `None` without a GPU
    trace_path: absolute path of the gzipped Kineto trace, or `None`
    relative_error, allowed_error: ‖out − ref‖ ÷ ‖ref‖ against FP64, and the most that is accepted
    """

    id: str
    title: str
    status: str
    reason: str | None = None
    source: str = ""
    prediction: tuple[tuple[str, str], ...] = ()
    named: bool = True
    samples: Mapping[str, Estimate] = field(default_factory=dict)
    timer: str | None = None
    timer_note: str | None = None
    trace_path: Path | None = None
    peak_memory_bytes: int | None = None
    relative_error: float | None = None
    allowed_error: float | None = None
    masked_row: MaskedRow | None = None
    training: Training | None = None


@dataclass(frozen=True)
class Run:
    """One recorded run.

    settings: switches that change results (TF32, determinism, environment variables), name → value
    protocol: how the numbers were taken (processes, rounds, start method, input sets, …)
    clocks: NVML samples and what they warn of, or the reason why there are none
    probes: smaller experiments beside the variants, by name (`default_backend`, `autograd`,
        `saving_accumulates`, `occupancy_probe`, …); a missing name was not recorded
    counters: hardware counters per variant, or `None`; `counters_reason` says why there are none
    phases: seconds that each phase of the capture took
    """

    path: Path
    schema_version: int
    recorded_on: str
    device: DeviceRecord
    software: Mapping[str, str | None]
    host: Mapping[str, Any]
    settings: Mapping[str, Any]
    workload: Workload
    label: str | None
    protocol: Mapping[str, Any]
    ceilings: Ceilings | None
    clocks: Mapping[str, Any]
    probes: Mapping[str, Any]
    variants: Mapping[str, VariantRun]
    phases: Mapping[str, float]
    counters: Mapping[str, Any] | None = None
    counters_reason: str | None = None

    @property
    def slot(self) -> str:
        """`<device>/<workload>[+label]`, the run's place below `docs/runs/`."""
        return slot_name(self.device.slug, self.workload.name, self.label)


def slot_name(device_slug: str, workload_name: str, label: str | None) -> str:
    return f"{device_slug}/{workload_name}{f'+{label}' if label else ''}"


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
        variants = {key: _variant(key, entry, folder) for key, entry in data["variants"].items()}
        return Run(
            path=folder,
            schema_version=data["schema_version"],
            recorded_on=data["recorded_on"],
            device=DeviceRecord(**data["device"]),
            software=data["software"],
            host=data["host"],
            settings=data["settings"],
            workload=Workload(**data["workload"]),
            label=data["label"],
            protocol=data["protocol"],
            ceilings=Ceilings(**data["ceilings"]) if data.get("ceilings") else None,
            clocks=data.get("clocks") or {},
            probes=data.get("probes") or {},
            variants=variants,
            phases=data.get("phases") or {},
            counters=data.get("counters"),
            counters_reason=data.get("counters_reason"),
        )
    except KeyError as error:
        raise RunInvalid(f"field {error} is missing", where=where, cure="restore the file from version control, or record the run again") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise RunInvalid(f"a field has the wrong form ({error})", where=where, cure="restore the file from version control, or record the run again") from None


def _variant(key: str, entry: dict[str, Any], folder: Path) -> VariantRun:
    if entry["status"] not in STATUSES:
        raise ValueError(f"status of {key} is {entry['status']!r}, not one of {', '.join(STATUSES)}")
    samples = entry.get("samples") or {}
    trace = entry.get("trace")
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
        samples={name: Estimate(tuple(samples[name])) for name in QUANTITIES if samples.get(name)},
        timer=entry.get("timer"),
        timer_note=entry.get("timer_note"),
        trace_path=folder / trace if trace else None,
        peak_memory_bytes=entry.get("peak_memory_bytes"),
        relative_error=entry.get("relative_error"),
        allowed_error=entry.get("allowed_error"),
        masked_row=MaskedRow(**entry["masked_row"]) if entry.get("masked_row") else None,
        training=_training(entry.get("training")),
    )


def _training(entry: dict[str, Any] | None) -> Training | None:
    if not entry:
        return None
    times = {name: Estimate(tuple(entry[name])) if entry.get(name) else None for name in ("gpu_time", "wall_time")}
    return Training(**{**entry, **times})


def save(data: dict[str, Any], traces: Mapping[str, dict[str, Any]], runs_root: Path) -> Path:
    """Writes a run atomically into its slot below `runs_root` and returns the folder.

    The whole run is built beside the slot, validated, and moved into place; an interrupted save
    leaves the former run untouched. Everything is scrubbed first.

    Args:
        data: the content of `run.json`; each variant that has a trace must name it.
        traces: variant id → Kineto trace as read from torch.
    """
    slot = slot_name(data["device"]["slug"], data["workload"]["name"], data["label"])
    target = runs_root / slot
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".recording-", dir=target.parent))
    try:
        for variant, trace in traces.items():
            name = f"{variant}.trace.json.gz"
            data["variants"][variant]["trace"] = name
            write_trace(staging / name, scrub(trim_trace(trace)))
        (staging / RUN_FILE).write_text(json.dumps(scrub(data), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        load(staging)
        os.chmod(staging, 0o755)
        _replace_evidence(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def _replace_evidence(staging: Path, target: Path) -> None:
    """Swaps whole folders by rename; generated pages beside the evidence are rendered anew."""
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=".replaced-", dir=target.parent))
        os.replace(target, old / "run")
        try:
            os.replace(staging, target)
        except OSError:
            os.replace(old / "run", target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    else:
        os.replace(staging, target)


def write_trace(file: Path, trace: dict[str, Any]) -> None:
    """Gzips a trace without a time stamp or file name, so that equal traces are equal files."""
    payload = json.dumps(trace, separators=(",", ":"), ensure_ascii=False).encode()
    with open(file, "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0, compresslevel=9) as packed:
        packed.write(payload)


def trim_trace(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace without what identifies a machine: its name, its id, environment dumps."""
    drop = ("traceName", "trace_id", "distributedInfo", "hostname", "username")
    return {key: value for key, value in trace.items() if key not in drop}


_PATH = re.compile(r"(?<![\w:/.<-])(?:/[\w.@+~-]+){2,}/?|(?<![\w])[A-Za-z]:\\[^\s\"']+|~/[^\s\"']+")
_UUID = re.compile(r"\b(?:GPU-|MIG-)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b")
# four numbers alone may be a version (cuDNN 9.19.0.56), so an address needs a port or a scheme
_ADDRESS = re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}\b(?=:\d)|(?<=://)(?:\d{1,3}\.){3}\d{1,3}\b|\b0x[0-9a-f]{9,16}\b")


def scrub(value: Any, secrets: tuple[str, ...] | None = None) -> Any:
    """`value` without paths, user and host names, UUIDs and addresses; structure unchanged."""
    secrets = _secrets() if secrets is None else secrets
    if isinstance(value, dict):
        return {key: scrub(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrub(item, secrets) for item in value]
    if not isinstance(value, str):
        return value
    value = _UUID.sub("<uuid>", _PATH.sub("<path>", value))
    value = _ADDRESS.sub("<address>", value)
    for secret in secrets:
        value = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "<host>", value)
    return value


def _secrets() -> tuple[str, ...]:
    """User and host names of this machine, where they are long enough not to be common words."""
    import getpass
    import socket

    names = {socket.gethostname(), socket.gethostname().split(".")[0]}
    try:
        names.add(getpass.getuser())
    except (KeyError, OSError):
        pass
    common = {"root", "localhost", "user", "ubuntu", "runner", "main", "admin", "torch", "python", "attention", "naive", "flash", "host", "device", "cuda"}
    return tuple(sorted(name for name in names if len(name) > 3 and name.lower() not in common))


def discover(runs_root: Path) -> list[Path]:
    """The folders of all recorded runs below `runs_root`, in slot order."""
    return sorted(file.parent for file in runs_root.glob(f"*/*/{RUN_FILE}") if not file.parent.name.startswith("."))
