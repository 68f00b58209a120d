"""What a reader must know of a trace before trusting a number of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..trace.whole import WORK_NAMES, WholeTrace, Work
from .model import Call, Integrity

TOLERANCE = 1.5
"""Microseconds: older profilers write whole ones, begin and length each rounded."""


def check(trace: WholeTrace, calls: Sequence[Call]) -> Integrity:
    activities, threads, names = trace.activities, trace.threads, trace.names
    unlinked: Counter[int] = Counter()
    apis: Counter[int] = Counter()
    reached: dict[tuple[int, int], float] = {}
    lost, early, overlapping = 0.0, 0, 0
    graphs: set[tuple[int, int]] = set()
    graph_activities = 0
    graph_names = {place for place, name in enumerate(names) if "GraphLaunch" in name}
    for place, (index, event, start, duration) in enumerate(zip(activities.thread, activities.event, activities.start, activities.duration)):
        if index < 0:
            unlinked[activities.work[place]] += 1
            lost += duration
        else:
            api = threads[index].name[event]
            apis[api] += 1
            early += start + TOLERANCE < threads[index].start[event]
            if api in graph_names:
                graphs.add((index, event))
                graph_activities += 1
        stream = (activities.device[place], activities.stream[place])
        overlapping += start + TOLERANCE < reached.get(stream, 0.0)
        reached[stream] = max(reached.get(stream, 0.0), start + duration)
    return Integrity(
        unlinked={WORK_NAMES[Work(work)]: count for work, count in unlinked.items()}, unlinked_seconds=lost * 1e-6,
        apis={names[api]: count for api, count in apis.most_common()}, graph_launches=len(graphs), graph_activities=graph_activities,
        unrecorded=dict(trace.unrecorded), duplicates=trace.duplicates, ambiguous=trace.ambiguous, odd=trace.odd, early=early, overlapping=overlapping,
        cut=trace.cut, damaged=trace.damaged, unpaired=sum(call.alone for call in calls))
