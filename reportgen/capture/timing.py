"""How one forward is timed: graph replays, filled queues and plain clocks.

Two benches with the same questions, one for a GPU and one for a CPU. A *block* is a callable that
runs once and gives seconds per forward. The arithmetic of how much work a block holds is pure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median
from typing import Any

Block = Callable[[], float]
Call = Callable[[int], Any]
"""Runs one forward; the number says whose turn it is, so that input sets rotate."""

ENOUGH_FORWARDS, ENOUGH_SECONDS = 20, 0.020
AIM_SECONDS = 0.006
HOST_BLOCK_SECONDS = 0.01
MOST_FORWARDS = 1000
MOST_LAUNCHES, LAUNCHES_PER_FORWARD = 500, 25
"""Deeper queues make the host wait for the GPU, and host time would be GPU time. The most wasteful
forward, SDPA math, launches 20 or 21 kernels. (Counting a forward's ops first would cost each
process 1.7 s: torch's dispatch modes import its compiler.)"""
MOST_QUEUED = MOST_LAUNCHES // LAUNCHES_PER_FORWARD
LEAST_CALLS = 10
AGREEMENT = 0.01
STEADY = 0.005
"""Rounds of one process that agree within this share decide its median: the simulation of the rule (`numbers.power`) takes 0.5 % as
the least noise that a process has, and a further round could move the median by half of that at most."""
LEAST_ROUNDS = 2
AT_REST = 3


def forwards_per_graph(seconds: float, sets: int = 1) -> int:
    """N of a graph whose forward takes about `seconds`: 20 forwards or 20 ms of work, whichever is less.

    Quick forwards get up to 6 ms of work, so that the replay's own start does not show. N is a
    multiple of `sets`, so that each input set is used equally often.
    """
    least = min(ENOUGH_FORWARDS, ceil(ENOUGH_SECONDS / seconds))
    wanted = max(least, min(ceil(round(AIM_SECONDS / seconds, 3)), MOST_FORWARDS))
    return ceil(wanted / sets) * sets


def calls_per_block(seconds: float) -> int:
    """Calls in one block of host time, whose GPU time is `seconds` each.

    At most 500 launches, and not much more than 10 ms of work to wait for afterwards: many short
    blocks tell more than a few long ones. At least ten calls, unless those were more than 100 ms of work.
    """
    least = max(1, min(LEAST_CALLS, int(10 * HOST_BLOCK_SECONDS / seconds)))
    return max(least, min(MOST_QUEUED, int(HOST_BLOCK_SECONDS / seconds)))


def repeats(seconds: float, budget: float = 0.015, most: int = 5) -> int:
    """How often a block of this length is repeated within one round, so that short ones are less noisy."""
    return max(1, min(most, int(budget / seconds))) if seconds > 0 else most


def settled(values: list[float], agreement: float = AGREEMENT) -> bool:
    """True if the last three running medians (of three values each) agree within `agreement`."""
    if len(values) < 5:
        return False
    medians = [median(values[end - 3 : end]) for end in range(len(values) - 2, len(values) + 1)]
    return max(medians) <= min(medians) * (1 + agreement)


def at_rest(values: Sequence[float]) -> bool:
    """True if the last three values agree within `STEADY`: earlier than `settled`, for what is held against a later round all the same.

    >>> at_rest([9.0, 100.0, 100.4, 100.2]), at_rest([100.0, 100.6, 100.2]), at_rest([100.0, 100.0])
    (True, False, False)
    """
    last = values[-AT_REST:]
    return len(last) == AT_REST and max(last) <= min(last) * (1 + STEADY)


def settle(block: Block, most_seconds: float, clock: Callable[[], float] = time.perf_counter) -> bool:
    """Repeats a block until it has settled, for `most_seconds` at most; tells whether it has."""
    return settled(warmed(block, most_seconds, settled, clock))


def warmed(block: Block, most_seconds: float, enough: Callable[[list[float]], bool], clock: Callable[[], float] = time.perf_counter) -> list[float]:
    """The values of a block that is repeated until they are enough, for `most_seconds` at most."""
    began, values = clock(), []
    while True:
        values.append(block())
        if enough(values) or clock() - began >= most_seconds:
            return values


def steady(rounds: Iterable[Sequence[float]]) -> bool:
    """True if there are two rounds or more, and in each row the medians of all rounds agree. rounds: per variant and quantity, one median per round.

    >>> steady([[100.0, 100.4], [7.0, 7.01]]), steady([[100.0, 100.6]]), steady([[100.0]])
    (True, False, False)
    """
    return all(len(medians) >= LEAST_ROUNDS and max(medians) <= min(medians) * (1 + STEADY) for medians in rounds)


@dataclass
class Prepared:
    """A variant ready to be timed.

    blocks: quantity → block; warm: the block that shows when the device has settled
    timer, note: how GPU time is taken, and why not by a graph
    forwards: per block, by quantity
    handed_over: whether replays were queued in time
    """

    blocks: dict[str, Block]
    warm: Block
    timer: str | None = None
    note: str | None = None
    forwards: dict[str, int] = field(default_factory=dict)
    handed_over: HandedOver = field(default_factory=lambda: HandedOver())

    def said(self) -> str | None:
        """What a reader must know of how GPU time was taken, after all blocks have run."""
        return self.note or self.handed_over.note()


@dataclass
class HandedOver:
    """Replays of a graph, and those that the host handed over after the GPU had become free: their time has that gap in it.

    level: which of `HAND_OVER_SECONDS` the GPU is kept busy for; it rises for good where one was too short
    """

    replays: int = 0
    late: int = 0
    level: int = 0

    def note(self) -> str | None:
        if not self.late:
            return None
        return f"{self.late} of {self.replays} replays reached the GPU after it had become free, so the time until the host handed them over is in them"


class CpuBench:
    """Plain clocks: on a CPU a call returns when the work is done."""

    timer = "wall"
    one_clock = True
    """Wall time is host time, so it is taken once."""
    block_seconds = 0.01

    def synchronize(self) -> None:
        return None

    def warm_up(self, dtype: Any, memory_bytes: int) -> list[str]:
        """One small matmul: thread pool and BLAS. Returns what was warmed."""
        import torch

        a = torch.ones(64, 64, dtype=dtype)
        torch.mm(a, a)
        return ["threads", "blas"]

    def prepare(self, call: Call, sets: int | None, brief: bool = False) -> Prepared:
        """brief: wall time alone."""
        began = time.perf_counter()
        call(0)
        count = max(1, min(50, ceil(self.block_seconds / (time.perf_counter() - began))))
        block = timed_loop(call, count)
        if brief:
            return Prepared({"wall_time": block}, warm=block, forwards={"wall_time": count})
        return Prepared({"host_time": block}, warm=block, forwards={"wall_time": count, "host_time": count})

    def chain(self, step: Callable[[Any], Any], first: Any, layers: int, fill: int = 24) -> Block:
        """Seconds for `layers` forwards, each fed with the one before; `fill` is the GPU's."""
        def block() -> float:
            began = time.perf_counter()
            through(step, first, layers)
            return time.perf_counter() - began
        return block


def timed_loop(call: Call, count: int) -> Block:
    def block() -> float:
        began = time.perf_counter()
        for turn in range(count):
            call(turn)
        return (time.perf_counter() - began) / count
    return block


def through(step: Callable[[Any], Any], value: Any, layers: int) -> Any:
    for _ in range(layers):
        value = step(value)
    return value
