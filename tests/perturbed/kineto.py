"""Edits of Kineto documents: longer, fewer, renamed or differently launched activities, other CPU ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Event = dict[str, Any]
Document = dict[str, Any]
FIELD = "est. achieved occupancy %"
FORWARD = "attention_forward"
_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_CALLS = ("cuda_runtime", "cuda_driver")


def events(trace: Document, *categories: str) -> list[Event]:
    return [event for event in trace["traceEvents"] if event.get("cat") in categories]


def activities(trace: Document) -> list[Event]:
    return events(trace, *_GPU)


def kernels(trace: Document) -> list[Event]:
    return events(trace, "kernel")


def under(trace: Document, op: str) -> Callable[[Event], bool]:
    """Whether an activity was launched inside an op of this name."""
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in events(trace, "cpu_op") if event["name"] == op]
    launched = {event["args"].get("correlation"): event["ts"] for event in events(trace, *_CALLS)}

    def inside(event: Event) -> bool:
        at = launched.get(event["args"]["correlation"])
        return at is not None and any(begin <= at <= end for begin, end in spans)

    return inside


def stretch(trace: Document, factor: float) -> None:
    """Every activity takes `factor` as long, and starts as much later after the first one of its forward."""
    begins = sorted(event["ts"] for event in events(trace, "user_annotation") if event["name"] == FORWARD)
    first: dict[int, float] = {}
    for event in sorted(activities(trace), key=lambda event: event["ts"]):
        step = sum(begin <= event["ts"] for begin in begins)
        start = first.setdefault(step, event["ts"])
        event["ts"] = start + (event["ts"] - start) * factor
        event["dur"] *= factor


def drop(trace: Document, which: Callable[[Event], bool]) -> int:
    """Takes out activities with the host calls that launched them; returns how many."""
    gone = {event["args"]["correlation"] for event in activities(trace) if which(event)}
    trace["traceEvents"] = [event for event in trace["traceEvents"] if not (event.get("cat") in (*_GPU, *_CALLS) and event["args"].get("correlation") in gone)]
    return len(gone)


def without_gpu(trace: Document) -> None:
    """As where CUPTI cannot be had: host calls are there, and nothing of what they queued."""
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") not in (*_GPU, "gpu_user_annotation")]


def on_a_cpu(trace: Document) -> None:
    """As without CUDA: no activities, no host calls, no device."""
    without_gpu(trace)
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") not in (*_CALLS, "ac2g")]
    trace["deviceProperties"] = []


def change(which: Iterable[Event], **fields: Any) -> None:
    """Other top-level fields: `name`, `dur`."""
    for event in which:
        event.update(fields)


def argue(which: Iterable[Event], **fields: Any) -> None:
    """Other arguments, with blanks for underscores: `argue(kernels, shared_memory=0)`."""
    for event in which:
        event["args"].update({name.replace("_", " "): value for name, value in fields.items()})


def reads(which: Iterable[Event], percent: float) -> None:
    """What the profiler's occupancy field says."""
    for event in which:
        event["args"][FIELD] = percent


def launched_by(trace: Document, which: Iterable[Event], api: str) -> None:
    """Another host call queued these activities."""
    wanted = {event["args"]["correlation"] for event in which}
    for event in events(trace, *_CALLS):
        if event["args"].get("correlation") in wanted and "Launch" in event["name"]:
            event.update(name=api, cat="cuda_runtime" if api.startswith("cuda") else "cuda_driver")


def rename_op(trace: Document, old: str, new: str) -> None:
    change((event for event in events(trace, "cpu_op") if event["name"] == old), name=new)


def drop_op(trace: Document, *names: str) -> None:
    """Takes out CPU ops of these names and leaves what they launched."""
    trace["traceEvents"] = [event for event in trace["traceEvents"] if not (event.get("cat") == "cpu_op" and event["name"] in names)]


def cut(trace: Document, names: Iterable[str], outside: str | None = None) -> None:
    """Takes out whole ops of these names: what is inside them, and what they launched. `outside`: not those inside this op."""
    ops = events(trace, "cpu_op")
    kept = [(op["ts"], op["ts"] + op["dur"]) for op in ops if op["name"] == outside]
    spans = [(op["ts"], op["ts"] + op["dur"]) for op in ops if op["name"] in tuple(names) and not any(begin <= op["ts"] < end for begin, end in kept)]

    def within(event: Event) -> bool:
        return any(begin <= event["ts"] <= end for begin, end in spans)

    gone = {event["args"].get("correlation") for event in events(trace, *_CALLS) if within(event)}
    drop(trace, lambda event: event["args"]["correlation"] in gone)
    trace["traceEvents"] = [event for event in trace["traceEvents"] if not (event.get("cat") == "cpu_op" and within(event))]


def lose(trace: Document, which: Callable[[Event], bool]) -> None:
    """Takes out activities and leaves the host calls that launched them: the profiler dropped the records."""
    trace["traceEvents"] = [event for event in trace["traceEvents"] if not (event.get("cat") in _GPU and which(event))]


def repeat(trace: Document, which: Callable[[Event], bool], **fields: Any) -> int:
    """Each such activity is followed by another one, launched right after it; fields: what the second has otherwise.

    Returns how many were added.
    """
    calls = {event["args"].get("correlation"): event for event in events(trace, *_CALLS)}
    highest = max(calls)
    added: list[Event] = []
    for number, event in enumerate([event for event in activities(trace) if which(event)], start=1):
        correlation, call = highest + number, calls[event["args"]["correlation"]]
        args = {**event["args"], "correlation": correlation}
        added.append({**event, "ts": event["ts"] + event["dur"] + 0.1, "args": args, **fields})
        added.append({**call, "ts": call["ts"] + call["dur"] + 0.001, "dur": 0.001, "args": {**call["args"], "correlation": correlation}})
    trace["traceEvents"] += added
    return len(added) // 2
