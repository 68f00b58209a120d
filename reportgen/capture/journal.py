"""What a capture has done so far: the seconds of each phase, what was lost on the way, and what is said meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..run import PARTS
from ..saying.progress import Progress


class Journal:
    """phases: seconds by name, parts as `timing: first call`; lost: see `run.LostPart`."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.phases: dict[str, float] = {}
        self.lost: list[dict[str, Any]] = []

    @contextmanager
    def stage(self, name: str, title: str) -> Iterator[None]:
        self.progress.stage(name, title)
        began = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - began)
        self.progress.done()

    def add(self, phase: str, seconds: float) -> None:
        self.phases[phase] = self.phases.get(phase, 0.0) + seconds

    def lose(self, what: str, reason: str, variant: str | None = None) -> None:
        """A part of the evidence that should be there could not be taken: it is recorded, and said at once. what: a key of `run.PARTS`."""
        self.lost.append({"what": what, "variant": variant, "reason": reason})
        of = f" of {variant}" if variant else ""
        self.progress.note(f"warning: {PARTS[what]}{of} could not be taken: {reason}")
