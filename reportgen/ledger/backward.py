"""Backward passes and the forward calls that they belong to, by autograd's sequence number and the thread that the forward ran on.

Autograd gives each node the next number of its thread. An op writes the number that comes next when it begins; of several ops with one
number the last one made the node. The node's backward writes the same number and the number of the forward's thread.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..trace.whole import Thread, WholeTrace
from .model import Direction, Place

if TYPE_CHECKING:
    from .calls import Open, Owners


def pair(trace: WholeTrace, found: Sequence[Open], owners: Owners, back: Sequence[Place]) -> None:
    """Adds to `owners` each backward range that belongs to a call.

    Args:
        back: backward ops of attention, which pair by their order where one node holds several calls (compiled code).
    """
    nodes = [(index, event, number) for index, thread in enumerate(trace.threads) for event, number in thread.forward_thread.items() if number]
    if not nodes or not found:
        return
    makers = [_makers(thread) for thread in trace.threads]
    threads = _threads(trace, nodes, makers)
    for index, event, number in nodes:
        thread = trace.threads[index]
        home = threads.get(number)
        maker = None if home is None else makers[home].get(thread.sequence[event])
        if home is None or maker is None or trace.threads[home].start[maker] > thread.start[event]:
            continue
        call = _call_around(trace.threads[home], maker, owners[home])
        if call is not None:
            owners[index].setdefault(event, (call, Direction.BACKWARD))
        else:
            _several(trace, Place(home, maker), Place(index, event), owners, back)


def _makers(thread: Thread) -> dict[int, int]:
    """Sequence number → the last forward op that has it."""
    made: dict[int, int] = {}
    for event, number in thread.sequence.items():
        if event not in thread.forward_thread and made.get(number, -1) < event:
            made[number] = event
    return made


def _threads(trace: WholeTrace, nodes: Sequence[tuple[int, int, int]], makers: Sequence[dict[int, int]]) -> dict[int, int]:
    """Autograd's number of a thread → its place: the one that made the most nodes of that number."""
    held = [index for index, made in enumerate(makers) if made]
    votes: dict[int, Counter[int]] = defaultdict(Counter)
    for index, event, number in nodes:
        sequence = trace.threads[index].sequence[event]
        for home in held:
            if sequence in makers[home]:
                votes[number][home] += 1
    return {number: counted.most_common(1)[0][0] for number, counted in votes.items()}


def _call_around(thread: Thread, event: int, owned: dict[int, tuple[int, Direction]]) -> int | None:
    while event >= 0:
        if event in owned:
            return owned[event][0] if owned[event][1] is Direction.FORWARD else None
        event = thread.parent[event]
    return None


def _several(trace: WholeTrace, made: Place, node: Place, owners: Owners, back: Sequence[Place]) -> None:
    """A node whose forward holds calls (compiled code, a function of autograd's own): the last call's backward comes first."""
    forward, backward = trace.threads[made.thread], trace.threads[node.thread]
    first, behind = node.event, backward.behind(node.event)
    passes = [place.event for place in back if place.thread == node.thread and first <= place.event < behind]
    if not passes:
        return
    end = forward.behind(made.event)
    calls = sorted({owned[0]: event for event, owned in owners[made.thread].items() if made.event <= event < end and owned[1] is Direction.FORWARD}.items(), key=lambda one: one[1])
    if len(calls) == len(passes):
        for (call, _), event in zip(reversed(calls), passes):
            owners[node.thread].setdefault(event, (call, Direction.BACKWARD))
