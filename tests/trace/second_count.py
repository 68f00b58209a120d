"""What a trace holds, counted a second time by other means: the whole document in memory, plain loops, nothing of the product.

It knows Kineto's keys from its documents alone, and says nothing but counts, sums and names.
"""

from __future__ import annotations

import bisect
import gzip
import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

GPU = {"kernel": "kernel", "gpu_memcpy": "memcpy", "memcpy": "memcpy", "gpu_memset": "memset", "memset": "memset"}
BACKENDS = ("flash", "efficient", "cudnn", "math", "overrideable")


def load(file: Path) -> Any:
    data = file.read_bytes()
    return json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data, strict=False)


def events_of(document: Any) -> list[dict[str, Any]]:
    events = document.get("traceEvents", []) if isinstance(document, dict) else document
    return [event for event in events if isinstance(event, dict) and event.get("ph") == "X" and isinstance(event.get("cat"), str)]


def is_trace(document: Any) -> bool:
    if not isinstance(document, (dict, list)):
        return False
    return any(event["cat"].lower() in (*GPU, "cpu_op", "operator") or event["cat"].lower().endswith(("runtime", "driver")) for event in events_of(document))


class Count:
    """activities: kind → how many; seconds: kind → their sum; apis: host call → activities; unlinked: activities without a host call
    calls: SDPA ops by backend, and backend ops outside of one as `alone flash`; owners: op → device-to-device copies under it, `""` without one
    """

    def __init__(self, document: Any) -> None:
        self.activities: Counter[str] = Counter()
        self.apis: Counter[str] = Counter()
        self.unlinked: Counter[str] = Counter()
        self.owners: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._durations: dict[str, list[float]] = defaultdict(list)
        ops: dict[tuple[Any, Any], list[tuple[float, float, str]]] = defaultdict(list)
        launches: dict[int, list[dict[str, Any]]] = defaultdict(list)
        gpu: dict[str, dict[str, Any]] = {}
        for number, event in enumerate(events_of(document)):
            category = event["cat"].lower()
            if category in GPU:
                if not timed(event) or (event["ts"] == 0 and event["dur"] == 0):
                    continue
                args = event.get("args", {})
                same = json.dumps([event["name"], event["ts"], event["dur"], args.get("device"), args.get("stream"), args.get("correlation")])
                gpu[same if args.get("correlation") and float(event["dur"]) else f"{same} {number}"] = event
            elif category in ("cpu_op", "operator"):
                if timed(event):
                    ops[(str(event.get("pid")), str(event.get("tid")))].append((float(event["ts"]), float(event["ts"]) + float(event["dur"]), event["name"]))
            elif category.endswith(("runtime", "driver")) and timed(event):
                launches[int(event.get("args", {}).get("correlation") or 0)].append(event)
        for lane in ops.values():
            lane.sort(key=lambda op: (op[0], -op[1]))
        late = max((op[1] for lane in ops.values() for op in lane), default=0.0)
        self._slack = 0.001 + 2 * math.ulp(late)
        self._starts = {thread: [op[0] for op in lane] for thread, lane in ops.items()}
        self._ops = ops
        for event in gpu.values():
            self._gpu(event, launches)
        self._sdpa()

    @property
    def seconds(self) -> dict[str, float]:
        return {kind: math.fsum(values) * 1e-6 for kind, values in self._durations.items()}

    def _gpu(self, event: dict[str, Any], launches: dict[int, list[dict[str, Any]]]) -> None:
        kind = GPU[event["cat"].lower()]
        self.activities[kind] += 1
        self._durations[kind].append(float(event["dur"]))
        found = launches.get(int(event.get("args", {}).get("correlation") or 0), []) if event.get("args", {}).get("correlation") else []
        if not found:
            self.unlinked[kind] += 1
        else:
            launch = max(found, key=lambda call: float(call["dur"]))
            self.apis[launch["name"]] += 1
        if kind == "memcpy" and ("DtoD" in event["name"] or "DeviceToDevice" in event["name"]):
            self.owners[self._owner(launch) if found else ""] += 1

    def _around(self, thread: tuple[str, str], start: float, end: float, strictly_before: int | None = None) -> list[str]:
        """The ops around this time, innermost first."""
        lane = self._ops.get(thread, [])
        last = strictly_before if strictly_before is not None else bisect.bisect_right(self._starts.get(thread, []), start)
        names = []
        for begin, finish, name in reversed(lane[:last]):
            if begin <= start and finish + self._slack >= end and finish > start:
                names.append(name)
        return names

    def _owner(self, launch: dict[str, Any]) -> str:
        start = float(launch["ts"])
        inside = self._around((str(launch.get("pid")), str(launch.get("tid"))), start, start + float(launch["dur"]))
        return inside[0] if inside else ""

    def _sdpa(self) -> None:
        for lane in self._ops.values():
            for at, (start, end, name) in enumerate(lane):
                if name == "aten::scaled_dot_product_attention":
                    self.calls[f"sdpa {self._backend_below(lane, at, end)}"] += 1
                elif (backend := backend_of(name)) and not any(other == "aten::scaled_dot_product_attention" for other in self._near(lane, at, start, end)):
                    self.calls[f"alone {backend}"] += 1

    @staticmethod
    def _backend_below(lane: list[tuple[float, float, str]], at: int, end: float) -> str:
        for start, _, name in lane[at + 1:]:
            if start >= end:
                break
            if backend := backend_of(name):
                return backend
        return "unknown"

    def _near(self, lane: list[tuple[float, float, str]], at: int, start: float, end: float) -> list[str]:
        return [name for begin, finish, name in lane[max(0, at - 400):at] if begin <= start and finish + self._slack >= end]


def backend_of(name: str) -> str | None:
    """flash, efficient, …: of `aten::_scaled_dot_product_flash_attention` and its like, no backward pass."""
    inner = name.removeprefix("aten::_scaled_dot_product_")
    if inner == name or inner.endswith("backward"):
        return None
    if inner.startswith("flash_attention_for_cpu"):
        return "cpu flash"
    return next((backend for backend in BACKENDS if backend in inner), None)


def timed(event: dict[str, Any]) -> bool:
    try:
        start, duration = float(event["ts"]), float(event["dur"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    return 0 <= start <= 1e17 and 0 <= duration <= 1e10 and isinstance(event.get("name"), str)
