"""A process in reserve: it imports what takes seconds while another one measures nothing, and has its tasks when that one is gone."""

from __future__ import annotations

import importlib
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import evidence, processes
from .faults import ChildFailed
from .processes import Report

SLOW_IMPORTS = ("torch.fx.experimental.symbolic_shapes", "torch._dynamo", "torch._inductor")
"""What a backward pass with a gradient handed over, a dispatch mode and the profiler's start import at their first use: 1 to 3 s."""
LOOK = 0.01


class Reserve:
    """Begun, then taken or given up.

    compiles: something is to be compiled, so the compiler is imported as well
    arguments: what `evidence.work` is given beside its tasks
    """

    def __init__(self, compiles: bool, arguments: tuple[Any, ...]) -> None:
        self._arguments = (compiles, *arguments)
        self._folder = tempfile.TemporaryDirectory()
        self._handed = Path(self._folder.name) / "tasks.json"
        self._child: processes.Started | None = None

    def begin(self) -> None:
        """Starts it. It touches no device. Where it cannot be started, there is none."""
        try:
            self._child = processes.Started(wait_and_work, (self._handed, *self._arguments))
        except ChildFailed:
            self._child = None

    def take(self, tasks: Sequence[evidence.Task]) -> processes.Started | None:
        """The process, at work on these tasks; `None` where there is none (any more)."""
        child, self._child = self._child, None
        if child is not None:
            written = self._handed.with_suffix(".part")
            written.write_text(json.dumps(tasks), encoding="utf-8")
            os.replace(written, self._handed)
        return child

    def give_up(self) -> None:
        """Ends it where nobody took it."""
        child, self._child = self._child, None
        if child is not None:
            child.give_up()
        self._folder.cleanup()


def wait_and_work(report: Report, handed: Path, compiles: bool, *arguments: Any) -> None:
    """`evidence.work` with the tasks that the file `handed` holds, once it is there; what they import at first use is imported at once."""
    report.at("a process in reserve", "importing")
    with evidence.fresh_caches():
        for name in SLOW_IMPORTS:
            try:
                importlib.import_module(name)
            except Exception:  # noqa: BLE001 - what needs it will fail as well, and say why
                continue
        if compiles:
            evidence.prefetch_compiler()
        while not handed.exists():  # this process ends with its parent, so somebody makes it
            time.sleep(LOOK)
        tasks = tuple((task, name) for task, name in json.loads(handed.read_text(encoding="utf-8")))
        evidence.work(report, tasks, *arguments)
