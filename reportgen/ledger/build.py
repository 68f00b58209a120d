"""A trace → its ledger."""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

from ..hardware.kernel_names import decode
from ..trace.whole import WORK_NAMES, Lane, WholeTrace, Work
from . import calls as find_calls
from . import causes, cures, devices, drags, false_zeros, gaps, integrity, prices, sites
from .model import CallSite, GpuTime, Ledger, Recorded, Rest, Totals


def build(trace: WholeTrace, runs: Path | None = None) -> Ledger:
    """The ledger of a trace; a pure function of it and of what is recorded below `runs` (`docs/runs`) of a device of the same name."""
    found = find_calls.find(trace)
    totals = _totals(trace)
    gpus = devices.find(trace)
    host = not len(trace.activities)
    grouped = sites.group(trace, found, totals.span if host else totals.gpu.seconds)
    device = gpus[0].name if len(gpus) == 1 else None
    queue = drags.Queue(trace)
    known = tuple(_with_reasons(trace, site, queue) for site in grouped)
    recorded_prices = prices.read(runs, device) if runs is not None and any(site.reasons for site in known) else None
    explained = tuple(cures.explained(site, recorded_prices, totals.gpu.seconds) for site in known)
    taken = {one for call in found for one in call.activities} | {one for site in explained for drag in site.drags for one in drag.activities}
    return Ledger(trace.file, gpus, recorded(trace), integrity.check(trace, found), totals, explained, _rest(trace, taken),
                  gaps.stretches(trace, found), false_zeros.find(trace), host)


def _with_reasons(trace: WholeTrace, site: CallSite, queue: drags.Queue) -> CallSite:
    site = replace(site, drags=drags.find(trace, site, queue))
    return replace(site, reasons=causes.find(trace, site))


def recorded(trace: WholeTrace) -> Recorded:
    lanes = set().union(*(set(thread.lane) for thread in trace.threads)) if trace.threads else set()
    older = any(raw.stack for thread in trace.threads for raw in thread.args.values())
    return Recorded(gpu=bool(len(trace.activities)), ops=Lane.OP in lanes, shapes=trace.shapes, strides=trace.strides, values=trace.values,
                    stacks=Lane.PYTHON in lanes or older, modules=Lane.MODULE in lanes)


def _totals(trace: WholeTrace) -> Totals:
    activities = trace.activities
    kinds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0])
    for work, duration in zip(activities.work, activities.duration):
        entry = kinds[WORK_NAMES[Work(work)]]
        entry[0] += duration
        entry[1] += 1
    times = {kind: GpuTime(seconds * 1e-6, int(count)) for kind, (seconds, count) in kinds.items()}
    begin = trace.begin
    ends = [_end(lane.start, lane.duration, begin) for lane in trace.threads] + [_end(activities.start, activities.duration, begin)]
    return Totals(sum(times.values(), GpuTime()), _busy(trace) * 1e-6, max(ends, default=0.0) * 1e-6, times)


def _end(starts: array[float], durations: array[float], begin: float) -> float:
    return max((start - begin + duration for start, duration in zip(starts, durations)), default=0.0)


def _busy(trace: WholeTrace) -> float:
    """Microseconds in which a device worked, added over devices."""
    reached: dict[int, float] = {}
    busy = 0.0
    activities = trace.activities
    origin = activities.start[0] if len(activities) else 0.0
    for device, start, duration in zip(activities.device, activities.start, activities.duration):
        begin = start - origin
        end = begin + duration
        last = reached.get(device, begin)
        if end > last:
            busy += end - max(begin, last)
            reached[device] = end
        else:
            reached.setdefault(device, last)
    return busy


def _rest(trace: WholeTrace, taken: set[int]) -> Rest:
    """What is neither attention nor dragged along by it."""
    activities = trace.activities
    times: dict[int, list[float]] = defaultdict(lambda: [0.0, 0])
    other = GpuTime()
    for place in range(len(activities)):
        if place in taken:
            continue
        if activities.work[place] == Work.KERNEL:
            entry = times[activities.name[place]]
            entry[0] += activities.duration[place]
            entry[1] += 1
        else:
            other += GpuTime(activities.duration[place] * 1e-6, 1)
    kernels = {name: GpuTime(seconds * 1e-6, int(count)) for name, (seconds, count) in times.items()}
    nameless = {name: time for name, time in kernels.items() if not decode(trace.names[name]).known}
    largest = max(nameless, key=lambda name: nameless[name].seconds, default=None)
    return Rest(sum(kernels.values(), other), sum(nameless.values(), GpuTime()), None if largest is None else trace.names[largest])
