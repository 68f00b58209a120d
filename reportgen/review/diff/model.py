"""The shapes of a comparison. Values are as recorded; `render` turns them into text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from ...analysis import RunFacts, State
from ...analysis.watch import ProbeFacts
from ...numbers.statistics import Estimate
from ...questions.model import Outcome
from ...run.noise import Noise


@dataclass(frozen=True)
class Side:
    """One run as a comparison needs it: its facts, its outcomes, and the floor that holds for it."""

    facts: RunFacts
    outcomes: Mapping[str, Outcome]
    noise: Noise | None = None


Part = Literal["device", "label", "workload", "software", "setting", "host", "protocol"]
Kind = Literal["status", "source", "replaced", "added", "removed", "count", "launch", "memory", "masked row", "training"]


@dataclass(frozen=True)
class EnvironmentChange:
    """part, key: what differs, as it is recorded; name: what a comparison calls it
    baseline: the difference makes the new run a new baseline, so timings are not held against the code
    """

    part: Part
    key: str
    name: str
    old: str | None
    new: str | None
    baseline: bool


class Lack(Enum):
    """Why a new run is worse evidence than an old one; the value is the clause that says so of its subjects."""

    QUIET = "{} on the GPU"
    CLOCKS = "clocks that were held back"
    PROCESSES = "{}"
    RUN = "no right result of {}"
    TRACE = "no trace of {}"
    RECORDS = "no GPU records of {}"
    MEMSETS = "no memsets counted of {}"
    TIME = "no {}"
    TIMER = "a less exact timer for {}"
    TRAINING = "no forward and backward of {}"
    TRAINING_KERNELS = "no kernels counted of forward and backward of {}"
    COUNTERS = "no hardware counters"
    COUNTED = "no hardware counters of {}"
    CEILING = "no {}"
    PROBE = "no answer to the probe {}"
    WATCH = "no publicly reported case tried"
    GRADIENTS = "no gradients of {} compared with FP64"


@dataclass(frozen=True)
class ConditionChange:
    """A condition that differs, or evidence that one side has and the other lacks.

    name: what it is; old, new: how it was, `None` for not at all or not known
    lack: set where the new run is the worse for it; subject, why: what the clause names, and the cause in words
    """

    name: str
    old: str | None
    new: str | None
    lack: Lack | None = None
    subject: str = ""
    why: str = ""


@dataclass(frozen=True)
class VerdictChange:
    """The same claim on both sides. flipped: another verdict; else the same verdict by another case."""

    claim: str
    old: Outcome
    new: Outcome

    @property
    def flipped(self) -> bool:
        return self.old.verdict != self.new.verdict


@dataclass(frozen=True)
class Status:
    """What became of a variant, and why where it gave no right result."""

    state: State
    reason: str | None

    def __str__(self) -> str:
        return f"{self.state.value} ({self.reason})" if self.reason else self.state.value


@dataclass(frozen=True)
class StructureChange:
    """Something exact that differs in one variant.

    what: what is meant (`kernels`, `registers per thread`, a role); the same on every rerun
    subject: the activity of which it is meant, by its full name; `None` for the variant as a whole
    old, new: exact values or names, of a status a `Status`; `None` where that side has none
    times: how many activities changed alike
    """

    variant: str
    kind: Kind
    what: str
    old: object
    new: object
    times: int = 1
    subject: str | None = None

    @property
    def of_what(self) -> str:
        """`registers per thread of flash_fwd_kernel`: what is meant, in one text."""
        return f"{self.what} of {self.subject}" if self.subject else self.what

    @property
    def key(self) -> tuple[str, str, str, str, str]:
        """What a second pass must show again. The reason of a failure may hold a number that moves; the status may not."""
        old, new = (value.state.value if isinstance(value, Status) else str(value) for value in (self.old, self.new))
        return (self.variant, self.kind, self.of_what, old, new)


@dataclass(frozen=True)
class TimingChange:
    """One quantity of one variant on both sides, in seconds.

    interval: the ratio new ÷ old with 99 % confidence; `None` with too few processes
    threshold: the least relative change that would have counted
    significant: exact p < 0.01 and a shift beyond the threshold
    decides: may cause a replacement; host time and first calls never do
    """

    variant: str
    quantity: str
    old: Estimate
    new: Estimate
    interval: tuple[float, float] | None
    threshold: float
    significant: bool
    decides: bool

    @property
    def ratio(self) -> float:
        return self.new.median / self.old.median

    @property
    def slower(self) -> bool:
        return self.ratio > 1

    @property
    def key(self) -> tuple[str, str, str]:
        return (self.variant, self.quantity, "slower" if self.slower else "faster")


@dataclass(frozen=True)
class ProbeFlip:
    """One probe that came out otherwise for one choice.

    probe: as the new run has it; old, new: an outcome of `run.Tried`
    """

    probe: ProbeFacts
    choice: str
    old: str
    new: str

    @property
    def worse(self) -> bool:
        """It gives a wrong result now and did not before."""
        return self.new == "reproduces"

    @property
    def trap(self) -> bool:
        return self.probe.trap

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.probe.probe.id, self.choice, self.old, self.new)


@dataclass(frozen=True)
class RunDiff:
    """Two runs compared. Variants that only one side has are listed apart and compared with nothing."""

    old: Side
    new: Side
    environment: tuple[EnvironmentChange, ...]
    verdicts: tuple[VerdictChange, ...]
    structure: tuple[StructureChange, ...]
    timings: tuple[TimingChange, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    conditions: tuple[ConditionChange, ...] = ()
    probes: tuple[ProbeFlip, ...] = ()

    @property
    def new_baseline(self) -> bool:
        return any(change.baseline for change in self.environment)

    @property
    def flipped(self) -> tuple[VerdictChange, ...]:
        return tuple(change for change in self.verdicts if change.flipped)

    @property
    def significant(self) -> tuple[TimingChange, ...]:
        return tuple(change for change in self.timings if change.significant)

    @property
    def decisive(self) -> tuple[TimingChange, ...]:
        """The significant timings that may cause a replacement."""
        return tuple(change for change in self.significant if change.decides)

    @property
    def unchanged(self) -> bool:
        """Nothing that a reviewer must look at: no probe, no structure, no deciding timing, no variant more or less."""
        return not (self.probes or self.structure or self.decisive or self.added or self.removed)
