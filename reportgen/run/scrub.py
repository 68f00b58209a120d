"""Takes what identifies a machine out of a run before it is written."""

from __future__ import annotations

import re
from typing import Any


def trim_trace(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace without what identifies a machine: its name, its id, environment dumps."""
    drop = ("traceName", "trace_id", "distributedInfo", "hostname", "host_name", "username")
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
