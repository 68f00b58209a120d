"""Calls → call sites: by source line where stacks were recorded, else by module, op path or kernel."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from ..trace.whole import Lane, WholeTrace
from . import named
from .model import Call, CallSite, Direction, GpuTime, KernelTime, Kind, Located, Place, Shape, Where

_MODULE = re.compile(r"nn\.Module: (.+?)(?:_\d+)?$")
_TORCH = re.compile(r"(?:.*/)?torch/")
_ELSEWHERE = re.compile(r"(?:threading|contextlib|functools|runpy|importlib/_bootstrap)\b.*\.py\(|<(?:built-in|string|frozen|eval_with_key)|.*(?:torchinductor|torch_compile_debug)")


def group(trace: WholeTrace, calls: Iterable[Call], total: float) -> tuple[CallSite, ...]:
    """The sites, the greatest GPU time first. total: seconds that shares are of."""
    found: dict[tuple[object, ...], list[Call]] = defaultdict(list)
    wheres: dict[tuple[object, ...], Where] = {}
    for call in calls:
        where = locate(trace, call)
        key = (call.kind, call.backend, call.op if call.kind is not Kind.BY_HAND else "", call.alone, where)
        found[key].append(call)
        wheres[key] = where
    sites = [_site(trace, wheres[key], members, total) for key, members in found.items()]
    return tuple(sorted(sites, key=lambda site: -site.time.seconds))


def locate(trace: WholeTrace, call: Call) -> Where:
    """Where a call comes from. A backward pass without its forward has autograd's stack around it, which says nothing."""
    place = call.place
    if place is None:
        return Where(Located.KERNEL, kernel=_kernel(trace, call))
    frames = _around(trace, call)
    line = next((name for lane, name in frames if lane == Lane.PYTHON and not _TORCH.match(name) and not _ELSEWHERE.match(name)), None)
    module = next((found[1] for lane, name in frames if lane == Lane.MODULE and (found := _MODULE.match(name))), None)
    raw = trace.threads[place.thread].args.get(place.event)
    if raw is not None and line is None and raw.stack:
        line = next((frame for frame in raw.stack.split(";") if frame and not _TORCH.match(frame)), None)
    if raw is not None and module is None and raw.modules:
        module = raw.modules.split(".")[-1]
    path = trace.path(place.thread, place.event)
    kernel = _kernel(trace, call) if call.kind is Kind.KERNEL else None
    located = Located.SOURCE if line else Located.MODULE if module else Located.OPS if path else Located.KERNEL
    return Where(located, line, module, () if located is Located.SOURCE else path, kernel)


def _around(trace: WholeTrace, call: Call) -> list[tuple[int, str]]:
    """The events around all parts of a call, innermost first."""
    assert call.place is not None
    thread = trace.threads[call.place.thread]
    around = list(thread.around(call.place.event))
    for part in call.parts[1:]:
        if part.thread == call.place.thread:
            shared = set(thread.around(part.event))
            around = [event for event in around if event in shared]
    return [(thread.lane[event], trace.names[thread.name[event]]) for event in around]


def _kernel(trace: WholeTrace, call: Call) -> str | None:
    return trace.names[trace.activities.name[call.activities[0]]] if call.activities else None


def _site(trace: WholeTrace, where: Where, calls: Sequence[Call], total: float) -> CallSite:
    forward = sum((call.forward for call in calls), GpuTime())
    backward = sum((call.backward for call in calls), GpuTime())
    time = forward.seconds + backward.seconds
    return CallSite(where, calls[0].kind, calls[0].backend, calls[0].op, tuple(calls), forward, backward, time / total if total else 0.0,
                    _shapes(calls), _kernels(trace, calls))


def _shapes(calls: Sequence[Call]) -> tuple[Shape, ...]:
    found: dict[int, list[Call]] = defaultdict(list)
    for call in calls:
        found[id(call.arguments)].append(call)
    shapes = [Shape(members[0].arguments, len(members), sum((call.forward + call.backward for call in members), GpuTime())) for members in found.values()]
    return tuple(sorted(shapes, key=lambda shape: -shape.time.seconds))


def _kernels(trace: WholeTrace, calls: Sequence[Call]) -> tuple[KernelTime, ...]:
    """By name and pass: a call's first activities are those of its forward."""
    found: dict[tuple[int, Direction], list[float]] = {}
    activities = trace.activities
    for call in calls:
        for number, one in enumerate(call.activities):
            key = (activities.name[one], Direction.FORWARD if number < call.forward.activities else Direction.BACKWARD)
            entry = found.setdefault(key, [0.0, 0])
            entry[0] += activities.duration[one]
            entry[1] += 1
    kernels = [KernelTime(trace.names[name], named.family(trace.names[name]), way, GpuTime(seconds * 1e-6, int(count))) for (name, way), (seconds, count) in found.items()]
    return tuple(sorted(kernels, key=lambda one: -one.time.seconds))


def places(calls: Iterable[Call]) -> set[Place]:
    """The ops that are calls, or parts of one."""
    return {place for call in calls for place in (call.parts or (call.place,)) if place is not None}
