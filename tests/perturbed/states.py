"""Edits of run.json that change what became of a variant: refused, failed, wrong, not asked for, not timed."""

from __future__ import annotations

from typing import Any

from .recorded import COMPILED, Traces

NO_KERNEL = "No available kernel. Aborting execution."
OUT_OF_MEMORY = "CUDA out of memory. (while: preparing)"
NOT_ASKED = "not asked for in this run"
QUEUE_RAN_DRY = "no CUDA graph: operation not permitted when stream is capturing; the queue ran dry, so events measure launching as well"
NO_GRAPH = "no CUDA graph: operation not permitted when stream is capturing"
_BY_VARIANT = ("forwards_per_graph", "forwards_per_wall_block", "calls_per_host_block", "settled")


def _without_samples(run: dict[str, Any], traces: Traces, name: str, status: str, reason: str) -> dict[str, Any]:
    entry = run["variants"][name]
    entry.update(status=status, reason=reason, samples={}, timer=None, timer_note=None, trace=None)
    traces.pop(name, None)
    protocol = run["protocol"]
    for part in _BY_VARIANT:
        protocol[part].pop(name, None)
    protocol["first_call_order"] = [[each for each in order if each != name] for order in protocol["first_call_order"]]
    run["clocks"]["samples"] = [sample for sample in run["clocks"]["samples"] if sample["variant"] != name]
    if name in ("naive", "naive_inplace"):
        run["probes"]["saving_accumulates"] = {"reason": "chains of forwards could not be timed"}
    return entry


def not_run(run: dict[str, Any], traces: Traces, *names: str, reason: str = NO_KERNEL, status: str = "unavailable") -> None:
    """Variants that torch refused (or that were not tried): no numbers of any kind."""
    for name in names:
        entry = _without_samples(run, traces, name, status, reason)
        entry.update(peak_memory_bytes=None, relative_error=None, allowed_error=None, masked_row=None, training=None)
        if run["counters"]:
            run["counters"]["variants"].pop(name, None)


def failed(run: dict[str, Any], traces: Traces, *names: str, reason: str = OUT_OF_MEMORY) -> None:
    """Variants that raised something else, running out of memory for example."""
    not_run(run, traces, *names, reason=reason, status="failed")


def not_asked(run: dict[str, Any], traces: Traces, *names: str) -> None:
    """Variants that `--variants` left out."""
    not_run(run, traces, *names, reason=NOT_ASKED, status="not-tried")


def wrong(run: dict[str, Any], traces: Traces, name: str, error: float | None, dropped: bool = False) -> None:
    """A variant that ran and gave a wrong result; error `None`: its output was not finite.

    Its samples and its trace are recorded like any other's. dropped: they are not, as older programs did it; training,
    memory, the masked row and the counters were taken all the same.
    """
    allowed = run["variants"][name]["allowed_error"]
    found = "the output is not finite" if error is None else f"relative error {error:.2g}"
    reason = f"wrong result: {found}, allowed {allowed:.2g}"
    entry = _without_samples(run, traces, name, "wrong", reason) if dropped else run["variants"][name]
    entry.update(status="wrong", reason=reason, relative_error=error)


def untimed(run: dict[str, Any], *names: str, note: str = QUEUE_RAN_DRY) -> None:
    """Variants whose forward no graph captured and whose queue ran dry: wall and host time are all there is."""
    for name in names:
        entry = run["variants"][name]
        for quantity in ("gpu_time", "gpu_time_cold"):
            entry["samples"].pop(quantity, None)
        entry.update(timer=None, timer_note=note)
        run["protocol"]["forwards_per_graph"].pop(name, None)
        run["clocks"]["samples"] = [sample for sample in run["clocks"]["samples"] if sample["variant"] != name]
    _timers(run)


def queued(run: dict[str, Any], *names: str) -> None:
    """Variants timed by events around a queue, because no graph could be captured."""
    for name in names:
        run["variants"][name].update(timer="queued-events", timer_note=NO_GRAPH)
    _timers(run)


def _timers(run: dict[str, Any]) -> None:
    run["protocol"]["timer"] = sorted({entry["timer"] for name, entry in run["variants"].items() if entry["timer"] and name != COMPILED})


def lose_trace(run: dict[str, Any], traces: Traces, *names: str, reason: str = "torch wrote a trace that is not JSON.") -> None:
    """Variants that ran and of which no trace could be taken."""
    for name in names:
        run["variants"][name]["trace"] = None
        del traces[name]
    run["probes"]["traces_missing"] = dict.fromkeys(names, reason)


def no_counters(run: dict[str, Any], reason: str) -> None:
    run.update(counters=None, counters_reason=reason)
