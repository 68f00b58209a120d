"""How long a capture takes here, judged by the first calls, and what is left out where that is too long. Pure: no clock.

The estimates count calls. They are made to tell seconds from minutes and minutes from hours, not to be exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil

CPU_SECONDS = 120.0
"""A capture on a CPU that would take longer is cut short, or wants to be asked for (`--force`)."""
FORCED_SILENCE = 6 * 3600.0
"""Seconds that one call may last on a CPU where the time was asked for."""
GPU_SECONDS = {"timing": 3.5, "evidence": 25.0, "counters": 12.0}
"""What a stage takes on a fast GPU at the article's size; only the progress line uses them. On a CPU nothing is known before the first calls."""
KNOWN_SIZE = 2.0
"""Up to so many times the article's scores the seconds above are about right."""
PROCESS_SECONDS = 10.0
"""No further round of a timing process is begun after so much time."""
HOST_SECONDS = 1.5
"""After so much time the blocks of host time are as few as the rounds: what they wait for is the GPU's time of long forwards."""
CHAIN_SECONDS = 1.5
"""Chains of forwards that would take longer in the first process are not taken in any."""
START_SECONDS, EVIDENCE_START_SECONDS = 0.6, 2.5
"""What a timing process, and the one for traces and checks, take before and beside all forwards."""
NEW_SHAPE = 0.5625
"""Work of the first call at another shape: three quarters of the sequence, squared."""
BACKWARD = 3.0
"""One forward and backward, in forwards."""
TRAINING_CALLS = 16
"""Timed, warmed up, and once more under a mask of its own."""
PROBE_CALLS = 8


@dataclass(frozen=True)
class TraceSteps:
    """Calls before the profiler starts, and its steps. Of the active ones the reader sets the first aside."""

    warm_calls: int = 3
    wait: int = 1
    warm_up: int = 1
    active: int = 6

    @property
    def calls(self) -> int:
        return self.warm_calls + self.wait + self.warm_up + self.active


LONG_TRACE = TraceSteps()
CPU_TRACE = TraceSteps(warm_calls=1, wait=0)
"""A CPU's forwards need no more to be warm: they have run in that process before."""
SHORT_TRACE = TraceSteps(warm_calls=1, wait=0, warm_up=1, active=3)


@dataclass(frozen=True)
class Extent:
    """How much of the protocol is carried out.

    processes: fresh timing processes; rounds: how often each measures every quantity at most
    training: forward and backward as well
    """

    processes: int
    rounds: int = 3
    training: bool = True
    trace: TraceSteps = LONG_TRACE


@dataclass(frozen=True)
class Choice:
    """What is carried out, and the seconds that it, the whole and the shortest protocol would take."""

    extent: Extent
    seconds: float
    full_seconds: float
    shortest_seconds: float

    def fits(self, budget: float) -> bool:
        return self.seconds <= budget


def process_seconds(calls: Mapping[str, float], rounds: int) -> float:
    """Seconds of one timing process on a CPU. calls: variant → seconds of one forward."""
    least = sum((1 + NEW_SHAPE + 2) * one + max(0.1, one) + max(0.015, one) for one in calls.values())
    more = sum((rounds - 1) * max(0.015, one) + (4 * rounds - 1) * max(0.01, one) for one in calls.values())
    return START_SECONDS + least + min(more, max(0.0, PROCESS_SECONDS - least))


def evidence_seconds(calls: Mapping[str, float], extent: Extent) -> float:
    """Seconds of traces, accuracy, a masked row, forward and backward, and probes."""
    checks = 2 + extent.trace.calls * 1.2
    training = TRAINING_CALLS * BACKWARD if extent.training else 0.0
    return EVIDENCE_START_SECONDS + sum((checks + training) * one for one in calls.values()) + PROBE_CALLS * max(calls.values(), default=0.0)


def seconds(calls: Mapping[str, float], extent: Extent, one_process: float | None = None) -> float:
    """Seconds of a whole capture on a CPU. one_process: what the first timing process took, once that is known."""
    each = one_process if one_process is not None else process_seconds(calls, extent.rounds)
    return extent.processes * each + evidence_seconds(calls, extent)


def choose(calls: Mapping[str, float], asked: Extent, budget: float, one_process: float | None = None) -> Choice:
    """The most of what was asked for that fits into `budget` seconds; where nothing does, the shortest there is.

    What decides no claim goes first, the seven processes last: with fewer, no comparison is decided.
    """
    ladder = list(_ladder(asked))
    found = [(step, seconds(calls, step, one_process)) for step in ladder]
    extent, needed = next((pair for pair in found if pair[1] <= budget), found[-1])
    return Choice(extent, needed, found[0][1], found[-1][1])


def _ladder(asked: Extent) -> Iterator[Extent]:
    yield asked
    shorter = replace(asked, training=False)
    yield shorter
    shorter = replace(shorter, trace=SHORT_TRACE)
    yield shorter
    for processes in range(asked.processes - 1, 0, -1):
        yield replace(shorter, processes=processes)


def chain_turns(forward_seconds: float, per_turn: int, once: int, most: int, most_seconds: float = CHAIN_SECONDS) -> int:
    """How often a block of chains may be repeated; 0 where not even one fits into `most_seconds`.

    Args:
        per_turn: forwards of all chains together; once: forwards that are run to prepare them.
    """
    left = most_seconds - once * forward_seconds
    return max(0, min(most, int(left / (per_turn * forward_seconds)))) if forward_seconds > 0 else most


def chain_fill(forward_seconds: float, most: int = 24) -> int:
    """How many forwards a block of a short chain holds: 20 ms of work, so that the block's own start does not show."""
    return max(1, min(most, ceil(0.02 / forward_seconds))) if forward_seconds > 0 else most
