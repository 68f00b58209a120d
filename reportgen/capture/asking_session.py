"""Asking torch from outside: about one call, through crashes."""

from __future__ import annotations

import time
from typing import Any

from variants.backends import BACKENDS

from ..errors import CaptureFailed
from ..saying.progress import Progress
from ..shapes.asked import Asked
from . import asking, processes
from .faults import ChildFailed


def one(device: str, asked: Asked, seconds: float, progress: Progress) -> dict[str, Any]:
    """The fields of `shapes.answers.Answer`. A backend that ends the process is left out the next time, with the reason.

    Raises:
        CaptureFailed: there is no answer.
    """
    found: dict[str, Any] = {}
    skip: list[tuple[str, str, str]] = []
    reason = "no time was left"
    for _ in range(len(BACKENDS) + 1):
        questions = asking.Questions(device, (asked,), time.monotonic() + seconds, tuple(skip))
        try:
            processes.run(asking.ask, (questions,), at=progress.at, result=found.__setitem__, patience=seconds)
            break
        except ChildFailed as failure:
            reason = failure.reason
            if failure.phase not in BACKENDS or failure.phase in {backend for _, backend, _ in skip}:
                break
            skip.append((asked.id, failure.phase, failure.reason))
    if asked.id not in found:
        raise CaptureFailed(f"torch could not be asked ({reason})", cure="ask about a smaller call, or see `make doctor`")
    answer: dict[str, Any] = found[asked.id]
    return answer
