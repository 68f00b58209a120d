"""One probe on one run, and all of them together: typed values only (see `correctness` for what follows from them)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from variants.backends import BACKENDS

from ..probes import Kind, Probe
from ..run import DEFAULT, Correctness, Cured, Pick, ProbeRun, Tried

PINS = tuple(BACKENDS)
"""The choices of a caller who pins one backend, in the order of `BACKENDS`."""


class Standing(Enum):
    """How one probe stands on this device."""

    DEFAULT = "reproduces where nothing is pinned"
    ELSEWHERE = "reproduces on a pinned backend alone"
    NOWHERE = "every choice that ran gave a right result"
    REFUSED = "torch refused it everywhere"
    BROKE_OFF = "no choice gave a result, and one broke off"
    NOT_HERE = "its inputs do not fit this device"
    NOT_RUN = "the run did not try it"


class Healing(Enum):
    """What a probe's cure did, run with the first choice that reproduces the probe."""

    CURES = "wrong before, right after"
    FAILS = "wrong before, and not right after"
    NOT_NEEDED = "nothing was wrong before"
    NOT_RUN = "the cure was not run"
    NONE = "the probe has no cure"


@dataclass(frozen=True)
class ProbeFacts:
    """One probe and what the run recorded of it; `run` is `None` where it did not try it."""

    probe: Probe
    run: ProbeRun | None = None

    @property
    def trap(self) -> bool:
        return self.probe.kind is Kind.TRAP

    def tried(self, choice: str) -> Tried | None:
        return self.run.tried.get(choice) if self.run else None

    def controlled(self, choice: str) -> Tried | None:
        return self.run.control.get(choice) if self.run else None

    def gave(self, choice: str) -> bool:
        """Whether the choice gave a result, right or wrong."""
        return any(one is not None and one.outcome in ("right", "reproduces") for one in (self.tried(choice), self.controlled(choice)))

    def wrong(self, choice: str) -> bool:
        """Whether what the choice gave is not what the caller may expect: for the probe's inputs, or for those of its control."""
        return any(one is not None and one.outcome == "reproduces" for one in (self.tried(choice), self.controlled(choice)))

    def right(self, choice: str) -> bool:
        return self.gave(choice) and not self.wrong(choice)

    def broke_off(self, choice: str) -> bool:
        return any(one is not None and one.outcome == "failed" for one in (self.tried(choice), self.controlled(choice)))

    @property
    def wrong_pins(self) -> tuple[str, ...]:
        """The backends that reproduce it when they are pinned."""
        return tuple(choice for choice in PINS if self.wrong(choice))

    @property
    def right_pins(self) -> tuple[str, ...]:
        return tuple(choice for choice in PINS if self.right(choice))

    @property
    def picked(self) -> str | None:
        """The backend that ran when nothing was pinned; `None` where no op told."""
        found = self.tried(DEFAULT)
        return found.picked if found else None

    @property
    def standing(self) -> Standing:
        if self.run is None or not (self.run.tried or self.run.not_here):
            return Standing.NOT_RUN
        if self.run.not_here:
            return Standing.NOT_HERE
        if self.wrong(DEFAULT):
            return Standing.DEFAULT
        if self.wrong_pins:
            return Standing.ELSEWHERE
        if any(self.gave(choice) for choice in self.run.tried):
            return Standing.NOWHERE
        return Standing.BROKE_OFF if any(self.broke_off(choice) for choice in self.run.tried) else Standing.REFUSED

    @property
    def cured(self) -> Cured | None:
        return self.run.cured if self.run else None

    @property
    def healing(self) -> Healing:
        if self.probe.cure is None:
            return Healing.NONE
        if self.standing not in (Standing.DEFAULT, Standing.ELSEWHERE):
            return Healing.NOT_NEEDED
        if self.cured is None:
            return Healing.NOT_RUN
        return Healing.CURES if self.cured.outcome == "right" else Healing.FAILS


@dataclass(frozen=True)
class Watch:
    """All probes: those that this program knows, in its order, with what the run recorded of each.

    unknown: ids that the run recorded and this program has no probe for; reason: why nothing was tried; seconds: what all of it took
    """

    probes: tuple[ProbeFacts, ...] = ()
    unknown: tuple[str, ...] = ()
    picks: tuple[Pick, ...] = ()
    reason: str | None = None
    seconds: float | None = None

    @property
    def taken(self) -> bool:
        """Whether the run tried any probe that this program knows."""
        return any(one.run is not None for one in self.probes)


def build(recorded: Correctness, known: Iterable[Probe]) -> Watch:
    """What a run recorded, beside the probes that this program knows."""
    probes = tuple(ProbeFacts(probe, recorded.probes.get(probe.id)) for probe in known)
    ids = {one.probe.id for one in probes}
    return Watch(probes, tuple(id for id in recorded.probes if id not in ids), recorded.picks, recorded.reason, recorded.seconds)
