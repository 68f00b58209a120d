"""Hardware counters: their tool starts while nothing is timed, and waits for the GPU until all else has been done."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ..run.workload import Workload
from . import evidence, processes
from .counters import Outcome
from .faults import ChildFailed
from .journal import Journal


class CounterStage:
    """Begun, finished or given up, in this order; only `finish` waits.

    mode: see `counters.measure`
    """

    def __init__(self, journal: Journal, device: str, workload: Workload, mode: str) -> None:
        self.journal, self._arguments = journal, (device, workload, mode)
        self._folder = tempfile.TemporaryDirectory()
        self._gate = Path(self._folder.name) / "gate"
        self._child: processes.Started | None = None
        self._failed: str | None = None

    def begin(self, variants: tuple[str, ...]) -> None:
        """Starts the tool. It comes as far as importing torch, and touches no GPU."""
        if self._child is None and self._failed is None:
            try:
                self._child = processes.Started(evidence.count, (variants, *self._arguments, self._gate))
            except ChildFailed as failure:
                self._failed = failure.reason

    def finish(self, variants: tuple[str, ...]) -> Outcome:
        """Hands it the GPU. The counters of these variants, or the reason why there are none."""
        self.begin(variants)
        child, self._child = self._child, None
        if child is None:
            return None, f"taking them failed: {self._failed}"
        self._gate.touch()
        try:
            found: Any = child.listen(self.journal.progress.at, lambda key, value: None)
            return found[0], found[1]
        except ChildFailed as failure:
            return None, f"taking them failed: {failure.reason}"

    def give_up(self) -> None:
        """Ends the tool where it was begun and not finished, and takes the gate away."""
        child, self._child = self._child, None
        if child is not None:
            child.give_up()
        self._folder.cleanup()
