"""What the profiler lost: which forwards are whole, and why none is where none is.

The profiler drops GPU records, those of the first iterations most often (pytorch#192021). A forward
that lacks one shows fewer kernels than ran, so it is counted nowhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..saying.units import plural
from .shapes import Forward, Loss, Trace, TraceLoss


def with_orphans(forwards: Sequence[Forward], attributed: set[int], recorded: Iterable[int]) -> list[Forward]:
    """The forwards, each knowing how many GPU records lie between its launches and belong to no launch of a forward.

    Correlations count the host's calls in order, so such a record belongs to the forward around it.

    Args:
        attributed: correlations of the launches of all forwards that left a record; recorded: those of every GPU record.
    """
    strays = sorted(one for one in recorded if one not in attributed)
    return [replace(forward, orphans=_between(strays, [launch.correlation for launch in forward.launches])) for forward in forwards]


def _between(strays: list[int], own: list[int]) -> int:
    return bisect_left(strays, max(own)) - bisect_left(strays, min(own)) if own else 0


def sift(forwards: Sequence[Forward], has_gpu_lane: bool) -> tuple[tuple[Forward, ...], bool, TraceLoss | None]:
    """The whole forwards, whether their memsets are known, and the loss where no forward is whole.

    A memset is the one call that may leave no record although nothing was lost: where no forward has
    all of them, the forwards that lack nothing else are whole, and memsets are unknown.
    """
    if not has_gpu_lane:
        if any(forward.launches for forward in forwards):
            return (), False, _loss(Loss.NO_LANE, forwards)
        return tuple(forwards), True, None
    seeming = [forward for forward in forwards if forward.launches and not forward.unrecorded and not forward.orphans]
    complete = tuple(forward for forward in seeming if not _lacks_launches(forward, forwards))
    if complete:
        return complete, True, None
    if seeming:
        return (), False, _loss(Loss.UNEQUAL, forwards)
    but_for_memsets = tuple(forward for forward in forwards if forward.activities and not forward.orphans
                            and all(launch.sets_memory for launch in forward.unrecorded))
    if but_for_memsets:
        return but_for_memsets, False, None
    return (), False, _loss(Loss.RECORDS if any(forward.unrecorded for forward in forwards) else Loss.CALLS, forwards)


def _lacks_launches(forward: Forward, forwards: Sequence[Forward]) -> bool:
    """Whether a launch was lost together with its record: fewer than in another forward, and in most forwards other ones.

    A record without a launch stands for one.
    """
    names = [launch.api for launch in forward.launches]
    alike = sum([launch.api for launch in other.launches] == names and not other.orphans for other in forwards)
    return 2 * alike < len(forwards) and any(len(other.launches) + other.orphans > len(names) for other in forwards)


def _loss(cause: Loss, forwards: Sequence[Forward]) -> TraceLoss:
    launches = sum(len(forward.launches) for forward in forwards)
    return TraceLoss(cause, len(forwards), launches, launches - sum(len(forward.unrecorded) for forward in forwards))


def share_kept(trace: Trace) -> float:
    """The part of the launches of all kept forwards that left a record: which of two broken traces is the better one."""
    launches = [launch for forward in trace.forwards for launch in forward.launches]
    lost = sum(len(forward.unrecorded) for forward in trace.forwards)
    return 1 - lost / len(launches) if launches else 0.0


def in_words(loss: TraceLoss) -> str:
    """What the profiler lost, as a clause: `the profiler kept GPU records of 5 of 25 launches, …`."""
    if loss.cause is Loss.NO_LANE:
        return "the profiler kept no GPU record of it"
    if loss.cause is Loss.CALLS:
        return "the profiler kept GPU records of it, but not the calls that launched them"
    if loss.cause is Loss.UNEQUAL:
        return f"its {plural(loss.forwards, 'forward')} have different launches, and none of which the profiler kept all has as many as another"
    return (f"the profiler kept GPU records of {loss.recorded} of {plural(loss.launches, 'launch', 'launches')}, "
            f"and all of them for none of {plural(loss.forwards, 'forward')}")
