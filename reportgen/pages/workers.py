"""Several pieces of work at a time, in processes of their own where there are cores for them; else one after another, with the same results."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

from ..company import parents
from ..company.signals import ENDING

T = TypeVar("T")
R = TypeVar("R")
FEWEST = 2
"""Pieces for which a process is worth its start."""


class Start(Protocol):
    """Begins a piece of work; what it returns gives the result, or raises what the work raised."""

    def __call__(self, work: Callable[[T], R], item: T) -> Callable[[], R]: ...


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def at_work(pieces: int) -> Iterator[Start]:
    """Processes for so many pieces of work. None of them outlives the block, or this process, however either ends."""
    count = min(pieces, cores())
    if pieces < FEWEST or count < 2 or not _can_copy():
        yield lambda work, item: partial(work, item)
        return
    before = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, multiprocessing.get_context("fork"), _begin, (os.getpid(),))
    try:
        yield lambda work, item: partial(_result, pool.submit(work, item), work, item)
    except BaseException:
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _result(future: Future[R], work: Callable[[T], R], item: T) -> R:
    """What a process made of the item; where the process itself is gone, this one makes it."""
    try:
        return future.result()
    except BrokenProcessPool:
        return work(item)


def _can_copy() -> bool:
    """A copy of this process is there at once; beside other threads it would copy their locks as well, and elsewhere than on Linux it is not safe."""
    return sys.platform == "linux" and threading.active_count() == 1


def _begin(parent: int) -> None:
    """Ctrl-C is this one's parent's to answer; without it there is nothing to do."""
    for number in ENDING:
        signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)
    parents.killed_with_parent()
    if os.getppid() != parent:
        os._exit(1)
