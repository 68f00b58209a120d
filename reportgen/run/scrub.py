"""Takes what identifies a machine or its owner out of a run before it is written.

Names that mean something (slugs, kernels, ops, keys, titles) are left alone, whatever the user or the machine is called. What
a person or a library has written as a sentence is *free text*: there, names of users and hosts, addresses, tokens and
URLs go as well. `FREE_TEXT` says which fields these are. Out of everything go this machine's own folders, other absolute
paths, UUIDs and pointers, which no name contains.
"""

from __future__ import annotations

import ipaddress
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FREE_TEXT = frozenset({"reason", "timer_note", "note", "message", "counters_reason", "warning", "said"})
"""Fields of `run.json` that hold a sentence, at any depth."""
FREE_BRANCHES = frozenset({"traces_missing", "environment"})
"""Fields below which every text is free."""
CODE = frozenset({"source", "code"})
"""Fields that hold source code: in it `q@k.T` is no address, and no word is a name."""
TRACE_KEYS = ("schemaVersion", "deviceProperties", "record_shapes", "with_stack", "with_flops", "with_modules", "profile_memory",
              "cupti_version", "cuda_runtime_version", "cuda_driver_version", "hip_runtime_version", "hip_driver_version", "roctracer_version",
              "rocprofiler_version", "displayTimeUnit", "baseTimeNanoseconds", "traceEvents")
"""What a trace keeps of its top level; Kineto has called the host `hostname` and `host_name` there, and its next name is not known."""
COMMON_NAMES = frozenset(
    "root localhost user users ubuntu debian fedora runner main admin guest test tester worker node local default docker container jetson orin "
    "nvidia amd intel apple xeon epyc ryzen cuda rocm torch pytorch python triton numpy linux windows aten native cutlass cudnn cublas flash attention "
    "naive math efficient kernel memory device host error runtime driver compute tensor article small long wide none true false half float double "
    "bfloat16 float16 float32 float64 matmul softmax mask copy forward backward".split())
"""Accounts and machines called like this are nobody's, and the words are the product's own."""
PUBLIC_SITES = ("pytorch.org", "github.com", "nvidia.com", "amd.com", "python.org")
"""Where torch's and the tools' own messages point to."""

_FOLDER_END = r"(?:[/\\][^\s\"'<>():,;]*)?"
_PATH = re.compile(r"(?<![\w/.>-])(?<!</)(?<!-[IL])(?:/[\w.@+~=%-]+){2,}/?|(?<=-[IL])(?:/[\w.@+~=%-]+)+/?|(?<![\w])[A-Za-z]:[\\/](?![\\/])[^\s\"']+|(?<![\w~])~/[^\s\"']+"
                   r"|(?<![\w\\])\\\\[\w.$-]+\\[^\s\"']+")
_PATH_IN_CODE = re.compile(r"(?<![\w/.)\]])/(?:home|Users|root|mnt|media|data|tmp|var|opt|srv|scratch|workspace|usr|etc|nfs|lustre|gpfs)(?:/[\w.@+~=%-]+)+/?|[A-Za-z]:[\\/](?![\\/])[^\s\"']+"
                           r"|(?<=[\"'])~/[^\s\"']+")
"""In code `a /b/ c` is arithmetic, so a path must begin as one."""
_UUID = re.compile(r"\b(?:GPU-|MIG-)?[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b|\b(?:GPU|MIG)-[0-9a-fA-F]{4,}[0-9a-fA-F-]*\b")
_POINTER = re.compile(r"\b0x[0-9a-f]{9,16}\b")
_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]{1,15}://(?P<owner>[^\s/@\"'<>]*@)?(?P<site>[\w.\[\]:-]*)[^\s\"'<>)]*")
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{10,}|\bgh[pousr]_[A-Za-z0-9]{10,}|\bgithub_pat_\w{10,}|\bglpat-[\w-]{10,}|\b(?:AKIA|ASIA)[0-9A-Z]{12,}|\bsk-[\w-]{16,}"
                    r"|\bxox[abpr]-[\w-]{10,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|(?<=Bearer )\S{8,}")
_SECRET = re.compile(r"(?i)\b((?:[\w-]*_)?(?:password|passwd|secret|token|api_?key|access_?key))(\s*[=:]\s*)[^\s,;]{4,}")
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.(?:[a-zA-Z]{2}|com|org|net|edu|gov|mil|info|local|lan|internal|corp|example|test|cloud|dev)\b")
_MAC = re.compile(r"(?<![\w:])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:])")
_PCI = re.compile(r"\b(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]\b")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?:%\w+)?(?![\w:])")
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?![\w.]\d|\w)")
_VERSION_BEFORE = re.compile(r"(?:version|release|cudnn|cublas|cuda|cupti|nccl|driver|nvrtc|rocm|[=<>~]=|\bv|\+)\s*[:=]?\s*$", re.IGNORECASE)
_ONE_LEVEL = re.compile(r"(?<![\w/.<-])/[a-zA-Z][\w.-]{2,}(?![\w/])")


@dataclass(frozen=True)
class Machine:
    """What would give this machine away.

    users, hosts: names that are replaced in free text; folders: absolute paths that are replaced everywhere
    """

    users: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    @cached_property
    def _names(self) -> re.Pattern[str] | None:
        """Users and hosts as words, a host with the domain that follows it."""
        told = sorted((name for name in {*self.users, *self.hosts} if telling(name)), key=len, reverse=True)
        if not told:
            return None
        words = [re.escape(name) + (r"(?:\.[A-Za-z][\w-]*)*" if name in self.hosts else "") for name in told]
        return re.compile(rf"(?<!\w)(?:{'|'.join(words)})(?!\w)", re.IGNORECASE)

    @cached_property
    def _folders(self) -> re.Pattern[str] | None:
        told = sorted((folder.rstrip("/\\") for folder in self.folders if len(folder.rstrip("/\\")) > 1), key=len, reverse=True)
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, told))})(?![\w-]){_FOLDER_END}") if told else None

    def name(self, text: str) -> str:
        """A name without what no name contains: folders, paths, UUIDs, pointers."""
        return self._without(text, _PATH)

    def _without(self, text: str, paths: re.Pattern[str]) -> str:
        if self._folders:
            text = self._folders.sub("<path>", text)
        return _POINTER.sub("<address>", _UUID.sub("<uuid>", paths.sub("<path>", text)))

    def code(self, text: str) -> str:
        """Source code without paths, and without what a login is made of."""
        return self._without(_TOKEN.sub("<secret>", _URL.sub(_public, text)), _PATH_IN_CODE)

    def text(self, text: str) -> str:
        """A sentence without anything that identifies the machine or its owner."""
        text = _URL.sub(_public, text)
        text = _SECRET.sub(r"\1\2<secret>", _TOKEN.sub("<secret>", text))
        text = self.name(_MAIL.sub("<mail>", text))
        for pattern in (_MAC, _PCI):
            text = pattern.sub("<address>", text)
        text = _IPV4.sub(_address, _IPV6.sub(_address, text))
        if self._names:
            text = self._names.sub("<host>", text)
        return _ONE_LEVEL.sub("<path>", text)

    @staticmethod
    def here() -> Machine:
        """This machine and the account that runs this process."""
        import getpass
        import socket

        users = {os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME", "SUDO_USER")} | {Path(_home()).name}
        try:
            users.add(getpass.getuser())
        except (KeyError, OSError, ImportError):
            pass  # an account without a name, as containers have
        hosts = {socket.gethostname(), socket.gethostname().split(".")[0]}
        folders = {_home(), os.getcwd(), tempfile.gettempdir(), sys.prefix, str(Path(__file__).resolve().parents[2])}
        return Machine(*(tuple(sorted(filter(None, group))) for group in (users, hosts, folders)))


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:
        return ""


def telling(name: str) -> bool:
    """True if a name is long and rare enough to point at somebody."""
    return len(name) > 3 and name.lower() not in COMMON_NAMES and not name.isdigit()


def _public(found: re.Match[str]) -> str:
    """A URL of a public site stays; of any other not even the site does."""
    site = found["site"].split(":")[0].lower()
    return found[0] if not found["owner"] and any(site == one or site.endswith("." + one) for one in PUBLIC_SITES) else "<url>"


def _address(found: re.Match[str]) -> str:
    """`<address>` for what is one: four numbers after `cuDNN` or `==` are a version, and `c10::add` is a name."""
    try:
        parsed = ipaddress.ip_address(found[0].split("%")[0])
    except ValueError:
        return found[0]
    if parsed.version == 4:
        version = _VERSION_BEFORE.search(found.string, 0, found.start())
        return found[0] if version else "<address>"
    groups = [group for group in found[0].split(":") if group]
    return "<address>" if len(groups) >= 3 or found[0].lower().startswith(("fe80", "fc", "fd", "2")) or found[0] == "::1" else found[0]


def content(data: Any, machine: Machine | None = None) -> Any:
    """The content of `run.json` without what identifies a machine; keys, names and structure unchanged."""
    return _walk(data, machine or Machine.here(), None)


def sentences(value: Any, machine: Machine | None = None) -> Any:
    """A structure whose every text is free, for an answer that somebody may show around."""
    machine = machine or Machine.here()
    return _walk(value, machine, machine.text)


def _walk(value: Any, machine: Machine, how: Callable[[str], str] | None) -> Any:
    """how: what is done to texts below a free branch, `None` elsewhere."""
    if isinstance(value, dict):
        return {key: _walk(item, machine, how or _how(machine, key)) if not isinstance(item, str)
                else (how or _how(machine, key) or machine.name)(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_walk(item, machine, how) for item in value]
    return (how or machine.name)(value) if isinstance(value, str) else value


def _how(machine: Machine, key: str) -> Callable[[str], str] | None:
    if key in CODE:
        return machine.code
    return machine.text if key in FREE_TEXT or key in FREE_BRANCHES else None


def trace(given: dict[str, Any], machine: Machine | None = None) -> dict[str, Any]:
    """A Kineto trace without what identifies a machine: only the known keys of its top level, and its own paths taken out.

    Names of events are names; only what a process or a thread is called (`ph` M) is free text.
    """
    machine = machine or Machine.here()
    kept = {key: value for key, value in given.items() if key in TRACE_KEYS}
    events = kept.get("traceEvents")
    return {**_walk({key: value for key, value in kept.items() if key != "traceEvents"}, machine, None),
            **({"traceEvents": [_event(event, machine) for event in events]} if isinstance(events, list) else {})}


def _event(event: Any, machine: Machine) -> Any:
    called = isinstance(event, dict) and event.get("ph") == "M"
    return {key: _walk(value, machine, machine.text if called and key == "args" else None) for key, value in event.items()} if isinstance(event, dict) else event
