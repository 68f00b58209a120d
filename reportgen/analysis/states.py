"""In which state a variant of a run is. Decided here alone; never is one state dressed as another."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import isfinite
from typing import Literal

from ..run import Run, VariantRun
from ..trace import TraceLoss
from ..trace import in_words as trace_words


class State(Enum):
    """What became of a variant; the value is the word that tables show.

    OK: it ran and its result is right. LOST: the same, but a part of its evidence could not be taken
    (see `Lost`). WRONG: it ran, and its error is above the allowed one. REFUSED: torch would not run it
    here. FAILED: it broke off. NOT_TRIED: nobody asked for it. RECORDED_BEFORE: the run is older than it.
    """

    OK = "ok"
    LOST = "lost evidence"
    WRONG = "wrong result"
    REFUSED = "refused"
    FAILED = "failed"
    NOT_TRIED = "not tried"
    RECORDED_BEFORE = "recorded before"

    @property
    def ran(self) -> bool:
        """It gave a result, right or wrong."""
        return self in (State.OK, State.LOST, State.WRONG)

    @property
    def right(self) -> bool:
        """It gave a right result, so its numbers count."""
        return self in (State.OK, State.LOST)


@dataclass(frozen=True)
class Lost:
    """A part of the evidence that should be there and is not. reason: without a full stop."""

    what: Literal["trace", "GPU records", "GPU time"]
    reason: str


_WORDS = {"unavailable": State.REFUSED, "failed": State.FAILED, "wrong": State.WRONG, "not-tried": State.NOT_TRIED}
"""A run's word for a status → the state."""


def is_wrong(variant: VariantRun) -> bool:
    """Whether the variant's own error says that its result is wrong, whatever its status says."""
    error, allowed = variant.relative_error, variant.allowed_error
    return error is not None and allowed is not None and not (isfinite(error) and error <= allowed)


def of(run: Run, variant: VariantRun, loss: TraceLoss | None = None) -> tuple[State, tuple[Lost, ...]]:
    """The state of one variant of `run`, and which of its evidence was lost. loss: what its trace lacks."""
    if variant.status in ("ok", "failed", "wrong") and is_wrong(variant):
        return State.WRONG, ()
    if variant.status != "ok":
        return _WORDS[variant.status], ()
    lost = _lost(run, variant, loss)
    return (State.LOST if lost else State.OK), lost


def _lost(run: Run, variant: VariantRun, loss: TraceLoss | None) -> tuple[Lost, ...]:
    found = []
    missing = run.probes.traces_missing.get(variant.id)
    if missing and variant.trace_path is None:
        found.append(Lost("trace", missing.rstrip(".")))
    if loss is not None:
        said = next((part.reason for part in run.lost if part.what == "records" and part.variant == variant.id), None)
        found.append(Lost("GPU records", said or trace_words(loss)))
    if run.device.kind != "cpu" and "gpu_time" not in variant.samples and variant.timer_note:
        found.append(Lost("GPU time", variant.timer_note.rstrip(".")))
    return tuple(found)
