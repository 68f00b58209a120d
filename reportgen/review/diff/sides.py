"""From a run's folder to a side of a comparison."""

from __future__ import annotations

from pathlib import Path

from ... import run as run_room
from ...run import Run
from ...run import noise as noise_room
from .model import Side


def load(folder: Path) -> Side:
    """The run in `folder`, validated and built.

    Raises:
        RunInvalid, TraceMalformed: it cannot be read.
    """
    return side(run_room.load(folder))


def side(run: Run) -> Side:
    """Facts, outcomes and floor of a loaded run."""
    from ... import analysis as facts_room
    from ... import findings

    facts = facts_room.build(run)
    return Side(facts, findings.outcomes(facts), noise_room.current(run))
