"""A comparison of two sides, made up: what each did with a call, and a device that answers for both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from map_doubles import square

from reportgen.commands.two_sides import Broken
from reportgen.numbers.statistics import Estimate
from reportgen.run.model import DeviceRecord
from reportgen.shapes.asked import Asked
from reportgen.shapes.upgrade import Given, Pair, Process, Seen, Upgrade

US = 1e-6
NEAR = (0.0, 0.001, -0.001, 0.002, -0.002, 0.003, -0.003)
"""What seven processes lie away from their middle: 0.6 % from the first to the last."""
FLASH, CUDNN = ("pytorch_flash::flash_fwd_kernel<Flash>",), ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop",)


def around(us: float) -> Estimate:
    return Estimate(tuple(us * US * (1 + off) for off in NEAR))


def seen(us: float = 100.0, again: float | None = None, **more: Any) -> Seen:
    """GPU time of `us` in the first pass; `again`: in the second."""
    told: dict[str, Any] = {"state": "ok", "picked": "flash", "ops": ("aten::flash",), "kernels": FLASH, "error": 0.002, "allowed": 0.005, "inputs": "i", "output": "o", **more}
    return Seen(**told, times={"gpu_time": around(us)}, again={} if again is None else {"gpu_time": around(again)})


def pair(a: Seen, b: Seen, name: str = "a prompt", length: int = 1024) -> Pair:
    return Pair(Asked(name, square(length)), a, b)


A, B = Given({"torch": "2.9.1", "cudnn": "9.10.2"}), Given({"torch": "2.14.1", "cudnn": "9.19.0"})


def upgrade(*pairs: Pair, a: Given = A, b: Given = B, ran: tuple[Process, ...] = (), kind: Any = "cuda") -> Upgrade:
    device = DeviceRecord(kind, "NVIDIA H200" if kind == "cuda" else "Some CPU", "nvidia-h200" if kind == "cuda" else "some-cpu")
    return Upgrade(1, device, "2026-12-03", 7, a, b, ran, pairs)


CALLS = [Asked("a short prompt", square(256)), Asked("a prompt", square(1024)), Asked("a long prompt", square(4096))]


class FakeSide:
    """Answers for a side, and writes into `log` which side was asked for what.

    times: call → µs in the first and in the second pass; dies: (task, call) at which a process ends, once each
    """

    def __init__(self, letter: str, log: list[tuple[Any, ...]], times: dict[str, tuple[float, float]] | None = None, dies: tuple[tuple[str, str], ...] = (), **survey: Any) -> None:
        self.letter, self.log, self.times, self.dies, self.survey, self.passes = letter, log, times or {}, list(dies), survey, 0

    def ask(self, task: dict[str, Any], at: Callable[[str, str], None], result: Callable[[str, Any], None]) -> Any:
        if task["do"] == "survey":
            device = {"kind": "cuda", "name": "NVIDIA H200", "slug": "nvidia-h200", **self.survey}
            return {"chosen": "cuda", "device": device, "software": {"torch": self.letter}, "settings": {"environment": {}}}
        names = [one["name"] for one in task["asked"]]
        self.log.append((self.letter, task["do"], *names))
        self.passes += task["do"] == "time"
        for one in CALLS:
            if one.name not in names:
                continue
            if (task["do"], one.name) in self.dies:
                self.dies.remove((task["do"], one.name))
                raise Broken(one.id, "the process was killed by SIGSEGV")
            result(one.id, {"state": "ok", "picked": "flash", "kernels": ["k"]} if task["do"] == "show" else self._time(one.name))
        return {"sm_mhz": 1980.0}

    def _time(self, name: str) -> dict[str, float]:
        first, second = self.times.get(name, (100.0, 100.0))
        return {"gpu_time": (first if self.passes <= 7 else second) * US * (1 + NEAR[(self.passes - 1) % 7])}


def moved(found: Upgrade, **fields: Any) -> Upgrade:
    return replace(found, **fields)
