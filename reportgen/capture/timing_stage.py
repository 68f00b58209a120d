"""The timing processes one after another: how many, with what, and what becomes of one that dies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from time import perf_counter
from typing import Any

from ..errors import CaptureFailed
from ..saying.units import Seconds
from . import operands, patience, processes, rounds
from .assemble import Timed
from .faults import Cause, ChildFailed
from .journal import Journal
from .neighbours import Watch

FASTER = "a smaller --sequence or --batch, or fewer --variants, are quicker"


@dataclass(frozen=True)
class Shortened:
    """How a capture was cut short. full_seconds: what the whole protocol would have taken; asked, left: what was and is done."""

    full_seconds: float
    asked: patience.Extent
    left: patience.Extent

    @property
    def left_out(self) -> tuple[str, ...]:
        """What was not done, in words."""
        gone = {"forward and backward": self.asked.training and not self.left.training, "long traces": self.left.trace != self.asked.trace}
        return tuple(words for words, is_gone in gone.items() if is_gone)


class TimingStage:
    """Runs the processes. A variant that fails in one is left out of the rest; one whose process dies is tried once more.

    watch: looks after each process for who else was at work
    budget: seconds that the whole capture may take, or `None` for as long as it takes
    extent: how much is done; smaller than what was asked for where that would take too long
    """

    def __init__(self, journal: Journal, watch: Watch, asked: patience.Extent, budget: float | None) -> None:
        self.journal, self.watch, self.asked, self.extent, self.budget = journal, watch, asked, asked, budget
        self.timed = Timed()
        self.shortened: Shortened | None = None
        self.no_graphs: str | None = None
        self._gpu = False
        self._calls: dict[str, float] = {}
        self._again: set[str] = set()
        self._suspect: str | None = None

    def run(self, plan: rounds.Plan) -> Timed:
        self._gpu = operands.is_gpu(plan.device)
        number, chains, chain_seconds = 0, plan.chains, plan.chain_seconds
        while number < (self.extent.processes if plan.variants else 0):
            with self.journal.stage("timing", f"timing, process {number + 1} of {self.extent.processes}"):
                began = perf_counter()
                result = self._one(replace(plan, process=number, chains=chains, chain_seconds=chain_seconds))
                self.timed.processes.append(result)
                self.watch.look(f"process {number + 1}", result["neighbours"])
            if number == 0:
                self._weigh(perf_counter() - began)
            chains = chains and "reason" not in (result["chains"] or {})
            chain_seconds = 3 * plan.chain_seconds  # what the first process took shall not be missing in one that is a little slower
            number += 1
        return self.timed

    def _one(self, plan: rounds.Plan) -> dict[str, Any]:
        while True:
            alive = tuple(name for name in plan.variants if name not in self.timed.failures)
            asked = replace(plan, variants=alive, no_graphs=self.no_graphs)
            try:
                result = processes.run(rounds.measure, (asked,), at=self.journal.progress.at, result=self._called, patience=self._silence())
            except ChildFailed as failure:
                self._failed(failure, alive)
                continue
            self.timed.failures.update(result["failures"])
            for phase, seconds in result["phases"].items():
                self.journal.add(f"timing: {phase}", seconds)
            return result

    def _silence(self) -> float:
        """Seconds without a sign of life after which a process is given up: on a CPU one call that takes the whole budget is too slow."""
        return processes.PATIENCE if self._gpu else patience.FORCED_SILENCE if self.budget is None else self.budget

    def _failed(self, failure: ChildFailed, alive: tuple[str, ...]) -> None:
        """Decides whether the same is tried again, or without graphs, or without the variant."""
        name = failure.subject
        if failure.cause is Cause.SILENT and name in alive and not self._gpu and not self.timed.processes:
            raise CaptureFailed(f"{name}, {failure.phase}: one call took more than {Seconds(self._silence())} here, so a whole capture would take far longer",
                                cure=f"FORCE=1 (--force) takes the time; {FASTER}") from None
        if failure.cause is Cause.GRAPHS and self.no_graphs is None:
            self.no_graphs, self._suspect = f"capturing one left the device unusable ({failure.reason.rstrip('.')})", name
            self.journal.progress.note(f"note: {failure.reason}; GPU time is taken by events from here on, and not by CUDA graphs")
            return
        if failure.cause.may_pass and name not in self._again:
            self._again.add(name)
            self.journal.progress.note(f"note: {name}, {failure.phase}: {failure.reason}; this process is tried once more")
            return
        if name not in alive:
            raise CaptureFailed(f"a timing process failed before any variant ran: {failure.reason}",
                                cure="`make doctor` says what it finds; the former run is untouched") from None
        if name == self._suspect:
            self.no_graphs = self._suspect = None  # without graphs it went wrong as well
        self.timed.failures[name] = {"status": "failed", "reason": f"{failure.reason} (while: {failure.phase})"}

    def _called(self, key: tuple[str, str], seconds: float) -> None:
        """The first calls of a variant are over: the earliest that is known of how long all will take."""
        if self._gpu or self.timed.processes:
            return  # there a call returns before its work is done; and after the first process more is known
        self._calls[key[1]] = seconds
        budget = inf if self.budget is None else self.budget
        choice = patience.choose(self._calls, self.asked, budget)
        if not choice.fits(budget):
            raise CaptureFailed(_too_long(self._calls, choice), cure=f"FORCE=1 (--force) takes the time; {FASTER}")
        self._expect(patience.process_seconds(self._calls, choice.extent.rounds), choice.extent)

    def _weigh(self, one_process: float) -> None:
        """After the first process the whole time is known; where it is too long, less is done from here on."""
        choice = patience.choose(self._calls, self.asked, inf if self.budget is None else self.budget, one_process)
        if choice.extent != self.asked:
            self.extent, self.shortened = choice.extent, Shortened(choice.full_seconds, self.asked, choice.extent)
            self.journal.progress.note(f"note: the whole would take about {Seconds(choice.full_seconds)} here, so it is cut short to about "
                                       f"{Seconds(choice.seconds)}: {listed_cuts(self.shortened)}. FORCE=1 (--force) takes the time")
        self._expect(one_process, self.extent)

    def _expect(self, one_process: float, extent: patience.Extent) -> None:
        self.journal.progress.expect("timing", one_process, extent.processes - len(self.timed.processes))
        if self._gpu:
            for kind in ("evidence", "counters"):
                self.journal.progress.at_least(kind, patience.GPU_SECONDS[kind] * one_process / patience.GPU_SECONDS["timing"])
        elif self._calls:
            self.journal.progress.at_least("evidence", patience.evidence_seconds(self._calls, extent))


def listed_cuts(shortened: Shortened) -> str:
    """`3 of 7 processes, no forward and backward, no long traces`."""
    asked, left = shortened.asked, shortened.left
    fewer = [f"{left.processes} of {asked.processes} processes"] if left.processes < asked.processes else []
    return ", ".join([*fewer, *(f"no {what}" for what in shortened.left_out)])


def _too_long(calls: dict[str, float], choice: patience.Choice) -> str:
    slowest = max(calls, key=lambda name: calls[name])
    return (f"one forward of {slowest} takes about {Seconds(calls[slowest])} here, so a whole capture takes more than {Seconds(choice.full_seconds)}, "
            f"and the shortest one more than {Seconds(choice.shortest_seconds)}")
